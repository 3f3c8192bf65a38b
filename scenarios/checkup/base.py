"""The scenario of an application or a consumer group without its own events, from which situations are made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from scenarios.language.overrides import apply_overrides
from scenarios.language.workload_entries import list_clients
from scenarios.language.yaml_reader import read_yaml
from scenarios.load import Scenario

Document = dict[str, Any]
"""A scenario as data, as YAML is read."""

_BESIDE_A_GROUP: Final = ("application", "clients", "assignors", "alongside", "subject")
"""Keys of what runs beside a consumer group: it shares no bandwidth with the group, so it has no influence."""

_OWN_COURSE: Final = ("assignors", "description", "duration", "events", "expect", "problem", "seeds")
"""Keys that say what happens in a scenario, or what its author expects."""


def base_document(scenario: Scenario, *, is_running: bool = False) -> Document:
    """Return a scenario without its events, assignors and expectations, with its clients one by one.

    `scenario`: the scenario; clients that are not up at its start are left out. `is_running` says whether to keep the
    current assignment of a running application; otherwise all tasks are where the assignor puts them, and all state is
    in place. Returns the document; it shares nothing with the scenario.
    """
    document = _whole_document(scenario)
    for key in _OWN_COURSE:
        document.pop(key, None)
    document["name"] = scenario.name
    list_clients(document)
    plain = [entry for entry in document["clients"] if "from" not in entry]
    has_pods = len(plain) < len(document["clients"])
    document["clients"] = [client for entry in plain for client in _clients(entry)]
    if has_pods:
        document["clients"] += _pods(scenario, plain)
    if not is_running:
        for key in ("starts", "next_rebalance"):
            document["application"].pop(key, None)
        for client in document["clients"]:
            client.pop("tasks", None)
    return document


def group_document(scenario: Scenario, *, is_running: bool = False) -> Document:
    """Return a scenario about a consumer group alone, without its events and expectations, with its clients one by one.

    `scenario`: the scenario; clients that are not up at its start are left out, and so is what runs beside the group.
    `is_running` says whether to keep the current assignment of a running group; otherwise members join at the start.
    Returns the document, whose only entry of `consumers` is the group; it shares nothing with the scenario.
    """
    document = _whole_document(scenario)
    for key in (*_OWN_COURSE, *_BESIDE_A_GROUP):
        document.pop(key, None)
    entry = _group_entry(document, scenario)
    entry["clients"] = [client for listed in entry["clients"] for client in _clients(listed)]
    if not is_running:
        entry.pop("starts", None)
        for client in entry["clients"]:
            client.pop("partitions", None)
    return {**document, "name": scenario.name, "consumers": [entry]}


def _whole_document(scenario: Scenario) -> Document:
    """Return a scenario as data, with its overrides."""
    document: Document = read_yaml(scenario.text).value
    apply_overrides(document, scenario.overrides)
    return document


def _group_entry(document: Document, scenario: Scenario) -> Document:
    """Return the entry of the consumer group that a scenario is about."""
    assert scenario.group is not None
    entry: Document = next(entry for entry in document["consumers"] if entry["group"] == scenario.group.group)
    return entry


def deployment(scenario: Scenario) -> Document | None:
    """Return how the scenario deploys: its first rolling update or restart of clients, without its time and configs.

    Events of what runs beside the subject of the scenario do not count. Returns the event, by its kind; None if the
    scenario has none.
    """
    document = _whole_document(scenario)
    others = set(_other_clients(document, scenario))
    for event in document.get("events") or ():
        for kind in ("rolling_update", "rolling_bounce"):
            if not isinstance(event.get(kind), dict) or others.intersection(_named(event[kind])):
                continue
            if kind == "rolling_bounce" or "kind" in event[kind]:
                about = {key: value for key, value in event[kind].items() if key not in ("configs", "client_rack")}
                return {kind: about}
    return None


def renamed_clients(scenario: Scenario) -> list[str]:
    """Return the dynamic members that are pods of a Deployment: a rollout gives them new names."""
    return [client.name for client in scenario.blueprint.clients if not client.keeps_name and not client.is_static]


def _other_clients(document: Document, scenario: Scenario) -> Iterator[str]:
    """Yield the names of clients, and of entries of clients, that are not of the subject of a scenario."""
    entries = [entry for group in document.get("consumers") or () for entry in group["clients"]]
    if scenario.group is not None:
        own = _group_entry(document, scenario)["clients"]
        entries = [entry for entry in entries if not any(entry is one for one in own)]
        entries += [entry for entry in document.get("clients") or () if "name" in entry]
    for entry in entries:
        yield entry["name"]
        yield from (client["name"] for client in _clients({**entry, "starts": True}))


def _named(event: Document) -> list[str]:
    """Return the clients that an event names."""
    named = event.get("clients") or []
    return [named] if isinstance(named, str) else list(named)


def _clients(entry: Document) -> Iterator[Document]:
    """Yield the clients of an entry that are up at the start, by name."""
    if entry.get("starts", True) is False:
        return
    if entry.get("count") is None:
        yield dict(entry)
        return
    shared = {key: value for key, value in entry.items() if key not in ("count", "racks", "hosts")}
    for number in range(int(entry["count"])):
        client = {**shared, "name": f"{entry['name']}-{number}"}
        for key, values in (("rack", entry.get("racks")), ("host", entry.get("hosts"))):
            if values:
                client[key] = values[number % len(values)]
        yield client


def _pods(scenario: Scenario, plain: Sequence[Document]) -> Iterator[Document]:
    """Yield the pods of manifests that are up at the start, by name, without their autoscaler."""
    others = {str(client["name"]) for entry in plain for client in _clients({**entry, "starts": True})}
    for plan in scenario.blueprint.clients:
        if plan.starts and plan.name not in others:
            known = {"rack": plan.rack, "records_per_s": plan.records_per_s, "host": plan.host}
            yield {
                "name": plan.name,
                "threads": plan.threads,
                "tags": dict(plan.tags),
                "restore": plan.restore_bytes_per_s,
                "static_membership": plan.is_static,
                **({} if plan.rack is None else {"client_rack": plan.announces_rack}),
                **{key: value for key, value in known.items() if value is not None},
            }
