"""What an imported scenario has to say besides, once it is known what is going to happen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tools.fidelity.applications import COMMON, TestedApplication
from tools.kafka_cluster.applications import RACK_TAG, Host

Document = dict[str, Any]
"""A scenario as plain values."""

EVENT_AT_MS = 10_000
"""When what is going to happen does, in the scenario's time; before, the group rests."""
DOWN_MS = 60_000
"""How long a host is away in the simulation: long enough for the others to settle."""
LONG_MS = 600_000
"""Enough for everything that a step may set off in the simulation."""


def with_newcomer(imported: Document, application: TestedApplication, host: Host) -> Document:
    """A host that was never there joins."""
    newcomer = {
        "name": host.name,
        "process_id": host.process_id(application.id),
        "rack": host.rack,
        "tags": {RACK_TAG: host.rack},
        "threads": {**COMMON, **application.configs}["num.stream.threads"],
        "starts": False,
    }
    document = _with_events(imported, [{"at": EVENT_AT_MS, "join": {"clients": host.name}}])
    return {**document, "clients": [*imported["clients"], newcomer]}


def with_absence(imported: Document, application: TestedApplication, host: Host, event: str) -> Document:
    """A host goes and comes back, by an event of the scenario's: `rolling_bounce` or `crash`."""
    away: Document = {"clients": _names(imported, application, [host]), "down": DOWN_MS}
    if event == "rolling_bounce":
        # The host closes with LEAVE_GROUP, whatever the configs say.
        away["leaves_group"] = True
    return _with_events(imported, [{"at": EVENT_AT_MS, event: away}])


def with_blackout(imported: Document, application: TestedApplication, hosts: Sequence[Host]) -> Document:
    """All hosts die at once; before they come back together, configs change."""
    away = {"clients": _names(imported, application, hosts), "down": DOWN_MS}
    events: list[Document] = [{"at": EVENT_AT_MS, "crash": away}]
    if application.later:
        events.append({"at": EVENT_AT_MS + DOWN_MS // 2, "config_change": {"configs": dict(application.later)}})
    return _with_events(imported, events)


def with_members(document: Document, assignor: str, members: Mapping[str, str]) -> Document:
    """It is known what the members of a streams group call themselves, and in which order its coordinator has them.

    Args:
        members: by member id the process id, in that order.
    """
    told = {"assignor": assignor, "label": assignor, "parameters": {"members": dict(members)}}
    return {**document, "assignors": [told]}


def _with_events(imported: Document, events: Sequence[Document]) -> Document:
    return {**imported, "events": list(events), "duration": 2 * LONG_MS}


def _names(imported: Document, application: TestedApplication, hosts: Sequence[Host]) -> list[str]:
    """What the imported scenario calls hosts."""
    named = {client["process_id"]: client["name"] for client in imported["clients"]}
    return [named[host.process_id(application.id)] for host in hosts]
