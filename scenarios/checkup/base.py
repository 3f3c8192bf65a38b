"""The scenario of an application without its own events, from which the situations of a checkup are made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from scenarios.language.overrides import apply_overrides
from scenarios.language.yaml_reader import read_yaml
from scenarios.load import Scenario

Document = dict[str, Any]
"""A scenario as data, as YAML is read."""

_OWN_COURSE: Final = ("assignors", "description", "duration", "events", "expect", "problem", "seeds")
"""Keys that say what happens in a scenario, or what its author expects."""


def base_document(scenario: Scenario, *, is_running: bool = False) -> Document:
    """Return a scenario without its events, assignors and expectations, with its clients one by one.

    Args:
        scenario: the scenario; clients that are not up at its start are left out.
        is_running: whether to keep the current assignment of a running application; otherwise all tasks are where
            the assignor puts them, and all state is in place.

    Returns:
        The document; it shares nothing with the scenario.
    """
    document: Document = read_yaml(scenario.text).value
    apply_overrides(document, scenario.overrides)
    for key in _OWN_COURSE:
        document.pop(key, None)
    document["name"] = scenario.name
    document["clients"] = [client for entry in document["clients"] for client in _clients(entry)]
    if not is_running:
        for key in ("starts", "next_rebalance"):
            document["application"].pop(key, None)
        for client in document["clients"]:
            client.pop("tasks", None)
    return document


def deployment(scenario: Scenario) -> Document | None:
    """Return how the scenario deploys: its first rolling update or restart of clients, without its time and configs.

    Returns:
        The event, by its kind; None if the scenario has none.
    """
    document: Document = read_yaml(scenario.text).value
    apply_overrides(document, scenario.overrides)
    for event in document.get("events") or ():
        for kind in ("rolling_update", "rolling_bounce"):
            if isinstance(event.get(kind), dict):
                about = {key: value for key, value in event[kind].items() if key not in ("configs", "client_rack")}
                return {kind: about}
    return None


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
