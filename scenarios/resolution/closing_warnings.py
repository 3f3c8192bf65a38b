"""Warnings about how clients close: too slowly, or as their release, protocol or platform does not support."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from scenarios.language.closing_entries import ClosingEvent, PodClosingEvent
from scenarios.language.errors import format_list
from scenarios.language.fields import valid_entries
from scenarios.language.paths import ScenarioPath
from scenarios.language.pod_entries import RollingUpdateEvent, SpotInterruptionEvent
from scenarios.language.releases import (
    NEWEST,
    can_remain_in_streams_group,
    has_leave_group_config,
    parse_release,
)
from scenarios.language.schema import ScenarioDocument
from scenarios.language.units import format_duration
from scenarios.language.validation import SourceMap
from scenarios.resolution.assignors import AssignorSpec
from scenarios.resolution.clients import ResolvedClients
from scenarios.resolution.subtopology_drafts import APPLICATION
from simulator.world.closing import Closing
from simulator.world.world import GroupProtocol

_CONFIG: Final = "internal.leave.group.on.close"
_MAX_LISTED: Final = 4


def warn_about_closing(
    document: ScenarioDocument, clients: ResolvedClients, assignors: Sequence[AssignorSpec], source_map: SourceMap
) -> None:
    """Add a warning for each event whose clients cannot close as it says.

    Args:
        document: the parsed scenario, which is valid.
        clients: the resolved clients.
        assignors: the assignors to compare, whose group protocols may differ.
        source_map: collects the warnings.
    """
    own = GroupProtocol(document.application.configs.group_protocol)
    protocols = {spec.protocol or own for spec in assignors} or {own}
    for path, event in _closing_events(document):
        for key, message in (
            *_warn_about_grace(event),
            *_warn_about_membership(event, path, document, clients, protocols, source_map),
            *_warn_about_static_members(event, path, clients, source_map),
        ):
            source_map.add_warning((*path, key), message)
    configs = document.application.configs
    if configs.leave_group_on_close and not has_leave_group_config(_release(document)):
        release = document.application.kafka or f"{NEWEST} by default"
        message = (
            f"does not exist from Kafka 4.2 on (application.kafka: {release}), so clients remain in the group; set "
            "leaves_group: true of events, or application.kafka to the release of the clients"
        )
        source_map.add_warning((*APPLICATION, "configs", _CONFIG), message)


def _closing_events(document: ScenarioDocument) -> Iterator[tuple[ScenarioPath, ClosingEvent | PodClosingEvent]]:
    for i, entry in valid_entries(document.events):
        for kind in type(entry).model_fields:
            event = getattr(entry, kind)
            if isinstance(event, ClosingEvent | PodClosingEvent):
                yield ("events", i, kind), event


def _warn_about_grace(event: ClosingEvent | PodClosingEvent) -> Iterator[tuple[str, str]]:
    """Warn about clients that are killed while they close."""
    closing, key = event.closing(), "grace"
    if isinstance(event, SpotInterruptionEvent):
        if not event.reacts:
            stated = [name for name in ("leaves_group", "pre_stop", "close", "grace") if name in event.model_fields_set]
            yield from ((name, "has no effect with reacts: false: the clients are killed") for name in stated)
            return
        if closing.grace_ms is None or event.notice < closing.grace_ms:
            key = "notice"
            closing = Closing(closing.leaves_group, closing.close_ms, closing.pre_stop_ms, event.notice)
    if closing.is_killed:
        needed_ms = closing.pre_stop_ms + closing.close_ms
        parts = "pre_stop and close take" if closing.pre_stop_ms else "close takes"
        consequence = "lose unflushed state and do not leave the group; set at least"
        yield (
            key if key in event.model_fields_set else "close",
            f"{parts} {format_duration(needed_ms)}, more than {key} ({format_duration(closing.grace_ms or 0)}): "
            f"clients are killed, {consequence} {key}: {format_duration(needed_ms)}",
        )


def _warn_about_membership(
    event: ClosingEvent | PodClosingEvent,
    path: ScenarioPath,
    document: ScenarioDocument,
    clients: ResolvedClients,
    protocols: set[GroupProtocol],
    source_map: SourceMap,
) -> Iterator[tuple[str, str]]:
    """Warn about `leaves_group` where the protocol or the release decides otherwise; see `leave_on_close`."""
    can_remain = can_remain_in_streams_group(_release(document))
    if event.leaves_group is False and GroupProtocol.STREAMS in protocols and not can_remain:
        rule = "has no effect with group.protocol: streams before Kafka 4.4: dynamic members always leave on close"
        yield "leaves_group", f"{rule} (application.kafka: {document.application.kafka or f'{NEWEST} by default'})"
    release, has_config = document.application.kafka, document.application.configs.leave_group_on_close
    if (
        GroupProtocol.CLASSIC not in protocols
        or event.leaves_group in (None, has_config)
        or not has_leave_group_config(_release(document))
        or not any(
            not plan.is_static for plan in clients.plans if plan.name in _names(event, path, clients, source_map)
        )
    ):
        return
    if event.leaves_group:
        rule = (
            f"CloseOptions.leaveGroup(true) removes static members only; dynamic ones leave only with {_CONFIG}: true"
        )
    else:
        rule = f"dynamic members leave because of {_CONFIG}: true, and CloseOptions cannot keep them"
    yield "leaves_group", f"before Kafka 4.2 (application.kafka: {release}), {rule}"


def _warn_about_static_members(
    event: ClosingEvent | PodClosingEvent, path: ScenarioPath, clients: ResolvedClients, source_map: SourceMap
) -> Iterator[tuple[str, str]]:
    """Warn about static members whose successors do not keep their names on a real platform."""
    names = _names(event, path, clients, source_map)
    static = [plan.name for plan in clients.plans if plan.is_static and plan.name in names]
    if not static:
        return
    listed = format_list("static members", static, max_names=_MAX_LISTED)
    if getattr(event, "replacements", None) is not None:
        if not event.leaves_group:
            rule = "replacements have other names, so the group waits for the session timeouts of their predecessors"
            yield "replacements", f"{listed}; {rule}; set leaves_group: true"
    elif isinstance(event, RollingUpdateEvent) and event.kind == "deployment":
        rule = (
            "a Deployment gives new pods new names, but here they keep them; list replacements, or use a stateful_set"
        )
        yield "kind", f"{listed}; {rule}"


def _names(
    event: ClosingEvent | PodClosingEvent, path: ScenarioPath, clients: ResolvedClients, source_map: SourceMap
) -> frozenset[str]:
    """Return the clients that an event stops."""
    rack = getattr(event, "rack", None)
    if rack is not None:
        return frozenset(plan.name for plan in clients.plans if plan.rack == rack)
    return frozenset(clients.find(getattr(event, "clients", None) or (), (*path, "clients"), source_map))


def _release(document: ScenarioDocument) -> tuple[int, int, int]:
    return parse_release(document.application.kafka or NEWEST)
