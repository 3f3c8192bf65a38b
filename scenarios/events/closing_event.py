"""Events in which clients close, and warnings about clients that cannot close as an event says."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from pydantic import Field

from scenarios.events.scenario_event import ScenarioEvent
from scenarios.language.application_entries import ApplicationSection, CloseTime, LeavesGroup
from scenarios.language.errors import format_list
from scenarios.language.fields import Duration
from scenarios.language.releases import NEWEST, can_remain_in_streams_group, has_leave_group_config, parse_release
from scenarios.language.units import format_duration
from scenarios.references import ResolvedClients
from scenarios.sampling.blueprint import ClientBlueprint
from simulator.world.group_configs import GroupProtocol
from simulator.world.pod_events import Closing

LEAVE_ON_CLOSE: Final = "internal.leave.group.on.close"
_MAX_LISTED: Final = 4


class StoppingEvent(ScenarioEvent):
    """An event in which clients are asked to stop. Subclasses have the fields of `closing`, and `leaves_group`."""

    @abstractmethod
    def closing(self) -> Closing:
        """Return how clients are stopped."""

    def closing_warnings(
        self, application: ApplicationSection, clients: ResolvedClients, protocols: Collection[GroupProtocol]
    ) -> Iterator[tuple[str, str]]:
        stopped = self.stopped_clients(clients)
        static = [plan.name for plan in stopped if plan.is_static]
        yield from self.grace_warnings()
        yield from _membership_warnings(self.closing().leaves_group, stopped, application, protocols)
        if static:
            listed = format_list("static members", static, max_names=_MAX_LISTED)
            yield from ((key, f"{listed}; {message}") for key, message in self.static_member_warnings())

    def stopped_clients(self, clients: ResolvedClients) -> list[ClientBlueprint]:
        """Return the clients that the event stops."""
        names = {name for listed in self.listed_clients for name in clients.groups[listed]}
        return [plan for plan in clients.plans if plan.name in names]

    def grace_warnings(self) -> Iterator[tuple[str, str]]:
        """Warn about clients that are killed while they close."""
        yield from self.kill_warnings(self.closing(), "grace")

    def static_member_warnings(self) -> Iterator[tuple[str, str]]:
        """Warn about static members whose successors do not keep their names on a real platform."""
        if getattr(self, "replacements", None) is not None and not self.closing().leaves_group:
            rule = "replacements have other names, so the group waits for the session timeouts of their predecessors"
            yield "replacements", f"{rule}; set leaves_group: true"

    def kill_warnings(self, closing: Closing, key: str) -> Iterator[tuple[str, str]]:
        """Warn if the grace period, which is the value of the key, is too short."""
        if closing.is_killed:
            needed_ms = closing.pre_stop_ms + closing.close_ms
            parts = "pre_stop and close take" if closing.pre_stop_ms else "close takes"
            consequence = "lose unflushed state and do not leave the group; set at least"
            yield (
                key if key in self.model_fields_set else "close",
                f"{parts} {format_duration(needed_ms)}, more than {key} ({format_duration(closing.grace_ms or 0)}): "
                f"clients are killed, {consequence} {key}: {format_duration(needed_ms)}",
            )


def _membership_warnings(
    leaves_group: bool | None,
    stopped: Sequence[ClientBlueprint],
    application: ApplicationSection,
    protocols: Collection[GroupProtocol],
) -> Iterator[tuple[str, str]]:
    """Warn about `leaves_group` where the protocol or the release decides otherwise; see `leave_on_close`."""
    release = parse_release(application.kafka or NEWEST)
    can_remain = can_remain_in_streams_group(release)
    if leaves_group is False and GroupProtocol.STREAMS in protocols and not can_remain:
        rule = "has no effect with group.protocol: streams before Kafka 4.4: dynamic members always leave on close"
        yield "leaves_group", f"{rule} (application.kafka: {application.kafka or f'{NEWEST} by default'})"
    if (
        GroupProtocol.CLASSIC not in protocols
        or leaves_group in (None, application.configs.leave_group_on_close)
        or not has_leave_group_config(release)
        or all(plan.is_static for plan in stopped)
    ):
        return
    if leaves_group:
        rule = (
            f"CloseOptions.leaveGroup(true) removes static members only; dynamic ones leave only with {LEAVE_ON_CLOSE}:"
            " true"
        )
    else:
        rule = f"dynamic members leave because of {LEAVE_ON_CLOSE}: true, and CloseOptions cannot keep them"
    yield "leaves_group", f"before Kafka 4.2 (application.kafka: {application.kafka}), {rule}"


class ClosingEvent(StoppingEvent):
    """An event in which clients close."""

    leaves_group: LeavesGroup = None
    close: CloseTime = 0
    grace: Duration | None = Field(
        default=None,
        description="Time from the request to stop until SIGKILL; a client that is still closing then loses unflushed "
        "state and does not leave the group. By default clients are never killed.",
    )

    def closing(self) -> Closing:
        return Closing(self.leaves_group, self.close, grace_ms=self.grace)
