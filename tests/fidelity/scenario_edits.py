"""Edits of an imported scenario: the events of a step, and what is known after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.fidelity.applications import CloseMode, TestedApplication
from tests.kafka_cluster.applications import RACK_TAG, Host

Document = dict[str, Any]
"""A scenario as plain values."""

EVENT_AT_MS = 10_000
"""Simulated time of the event; the group is stable before."""
DOWN_MS = 240_000
"""Simulated downtime of a host: long enough for the others to become stable, after probing rebalances, too."""
AFTER_JOIN_MS = EVENT_AT_MS + DOWN_MS
"""Simulated time of an event that follows the join of a host: long enough for the group to become stable."""
STEP_DURATION_MS = 600_000
"""Simulated time after an event: long enough for all its consequences."""


@dataclass(frozen=True, slots=True)
class Restart:
    """An observed restart of a host.

    Attributes:
        host: The host.
        at_ms: When it closed, relative to the first of several restarts.
        down_ms: Time until it joined again.
    """

    host: Host
    at_ms: int
    down_ms: int


def with_new_host(imported: Document, application: TestedApplication, host: Host) -> Document:
    """Return the scenario in which a new host joins."""
    client = {
        "name": host.name,
        "process_id": host.process_id(application.id),
        "rack": host.rack,
        "tags": {RACK_TAG: host.rack},
        "threads": application.all_configs()["num.stream.threads"],
        "starts": False,
    }
    if application.is_static:
        client["static_membership"] = True
    if "restore" in imported["clients"][0]:
        client["restore"] = imported["clients"][0]["restore"]
    document = _with_events(imported, [{"at": EVENT_AT_MS, "join": {"clients": host.name}}])
    return {**document, "clients": [*imported["clients"], client]}


def with_absence(
    imported: Document, application: TestedApplication, host: Host, event: str, at_ms: int = EVENT_AT_MS
) -> Document:
    """Return the scenario in which a host stops and returns, by event `rolling_bounce` or `crash`."""
    absence: Document = {"clients": _client_names(imported, application, [host]), "down": DOWN_MS}
    if event == "rolling_bounce":
        absence |= _closing(application)
    return _with_events(imported, [{"at": at_ms, event: absence}])


def with_departure(imported: Document, application: TestedApplication, host: Host) -> Document:
    """Return the scenario in which a host leaves for good."""
    leave = {"clients": _client_names(imported, application, [host]), **_closing(application)}
    return _with_events(imported, [{"at": EVENT_AT_MS, "leave": leave}])


def with_restarts(imported: Document, application: TestedApplication, restarts: Sequence[Restart]) -> Document:
    """Return the scenario in which hosts restart one after another, each when and for as long as observed."""
    events = [
        {
            "at": EVENT_AT_MS + restart.at_ms,
            "rolling_bounce": {
                "clients": _client_names(imported, application, [restart.host]),
                "down": restart.down_ms,
                **_closing(application),
            },
        }
        for restart in restarts
    ]
    return _with_events(imported, events)


def with_blackout(imported: Document, application: TestedApplication, delays_ms: Mapping[Host, int]) -> Document:
    """Return the scenario in which all hosts crash, configs change, and all hosts return.

    Args:
        imported: A scenario.
        application: Its application.
        delays_ms: How long after the first host each one joined again, as observed.
    """
    events: list[Document] = []
    for host, delay_ms in delays_ms.items():
        absence = {"clients": _client_names(imported, application, [host]), "down": DOWN_MS + delay_ms}
        events.append({"at": EVENT_AT_MS, "crash": absence})
    if application.configs_after_blackout:
        configs = dict(application.configs_after_blackout)
        events.append({"at": EVENT_AT_MS + DOWN_MS // 2, "config_change": {"configs": configs}})
    return _with_events(imported, events)


def with_opened_stores(imported: Document, lags_by_process: Mapping[str, Mapping[str, int]]) -> Document:
    """Return the scenario with what was on disk when the stores of assigned tasks were opened.

    Args:
        imported: A scenario.
        lags_by_process: By process id and task, how many records it is behind; without empty stores.
    """
    return {**imported, "clients": [_with_opened(client, lags_by_process) for client in imported["clients"]]}


def _with_opened(client: Document, lags_by_process: Mapping[str, Mapping[str, int]]) -> Document:
    tasks: Document = client.get("tasks", {})
    assigned = [*_flat(tasks.get("active", [])), *_flat(tasks.get("standby", []))]
    # The lag may have been reported after the log was written.
    opened = {
        task: max(lag, tasks.get("lags", {}).get(task, 0))
        for task, lag in lags_by_process.get(client["process_id"], {}).items()
        if task in assigned
    }
    return {**client, "tasks": {**tasks, "lags_when_opened": opened}} if opened else client


def _flat(tasks: Sequence[str | Sequence[str]]) -> list[str]:
    return [task for entry in tasks for task in ([entry] if isinstance(entry, str) else entry)]


def with_members(document: Document, assignor: str, members: Mapping[str, str]) -> Document:
    """Return the scenario with the members of a streams group, which decide ties.

    Args:
        document: A scenario.
        assignor: The only assignor of the result.
        members: Process id by member id, in the order in which the coordinator lists the members.
    """
    entry = {"assignor": assignor, "label": assignor, "parameters": {"members": dict(members)}}
    return {**document, "assignors": [entry]}


def _closing(application: TestedApplication) -> Document:
    """Return how an application closes; by default, its configs decide."""
    return {"leaves_group": True} if application.closing is CloseMode.LEAVE else {}


def _with_events(imported: Document, events: Sequence[Document]) -> Document:
    return {**imported, "events": [*imported.get("events", ()), *events], "duration": 2 * STEP_DURATION_MS}


def _client_names(imported: Document, application: TestedApplication, hosts: Sequence[Host]) -> list[str]:
    """Return the names of hosts in the imported scenario."""
    name_of = {client["process_id"]: client["name"] for client in imported["clients"]}
    return [name_of[host.process_id(application.id)] for host in hosts]
