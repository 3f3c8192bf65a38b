"""Reductions of a scenario, each of which yields smaller ones; a search keeps those that reach its goal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
from typing import Any, Final

from scenarios.suite.documents import Document, consistent, time_text

LISTS: Final = (("clients",), ("events",), ("application", "subtopologies"), ("cluster", "topics"))
"""Lists of which entries can be removed."""

_OPTIONAL: Final = (
    ("description",),
    ("price",),
    ("traffic",),
    ("alongside",),
    ("hosts",),
    ("cluster", "configs"),
    ("application", "starts"),
    ("application", "times"),
    ("application", "group_configs"),
)
_CLIENT_OPTIONAL: Final = ("restore", "tags", "starts", "records_per_s")
_DURATIONS: Final = (60_000, 300_000, 900_000, 1_800_000)


def fewer_racks(document: Document) -> Iterator[Document]:
    """Yield the scenario with fewer racks and brokers."""
    brokers = value_at(document, ("cluster", "brokers"))
    if not isinstance(brokers, dict) or not isinstance(brokers.get("racks"), list):
        return
    racks = brokers["racks"]
    for count in range(1, len(racks)):
        kept = racks[:count]
        candidate = with_value(document, ("cluster", "brokers", "racks"), kept)
        for client in candidate["clients"]:
            if client.get("rack") in racks[count:]:
                client["rack"] = kept[racks.index(client["rack"]) % count]
        yield candidate


def lower_numbers(document: Document) -> Iterator[Document]:
    """Yield the scenario with one number lowered."""
    for path in _numbers(document):
        value = value_at(document, path)
        lowest = 0 if path[-1] == "num.standby.replicas" else 1
        for lower in dict.fromkeys((lowest, value // 2, value - 1)):
            if lowest <= lower < value:
                yield consistent(with_value(document, path, lower))


def _numbers(document: Document) -> Iterator[tuple[Any, ...]]:
    for number, topic in enumerate(value_at(document, ("cluster", "topics")) or []):
        if isinstance(topic.get("partitions"), int):
            yield ("cluster", "topics", number, "partitions")
    for number, client in enumerate(document["clients"]):
        for key in ("count", "threads"):
            if isinstance(client.get(key), int):
                yield ("clients", number, key)
    for path in (
        ("cluster", "brokers", "count"),
        ("cluster", "configs", "default.replication.factor"),
        ("application", "configs", "num.standby.replicas"),
        ("application", "configs", "max.warmup.replicas"),
    ):
        if isinstance(value_at(document, path), int):
            yield path


def without_optional_keys(document: Document) -> Iterator[Document]:
    """Yield the scenario without one setting that has a default."""
    configs = value_at(document, ("application", "configs"))
    paths: list[tuple[Any, ...]] = [path for path in _OPTIONAL if value_at(document, path) is not None]
    paths += [("application", "configs", key) for key in configs or {}]
    paths += [("clients", n, key) for n, c in enumerate(document["clients"]) for key in _CLIENT_OPTIONAL if key in c]
    subtopologies = value_at(document, ("application", "subtopologies")) or []
    paths += [("application", "subtopologies", n, "stores") for n, s in enumerate(subtopologies) if "stores" in s]
    for path in paths:
        yield _without(document, path)
    if configs == {}:
        yield _without(document, ("application", "configs"))


def shorter_durations(document: Document) -> Iterator[Document]:
    """Yield the scenario with shorter durations."""
    for duration_ms in _DURATIONS:
        text = time_text(duration_ms)
        if document.get("duration") == text:
            return
        yield {**document, "duration": text}


def value_at(document: Any, path: Iterable[Any]) -> Any:
    """Return the value at a path; None if there is none."""
    for step in path:
        if isinstance(document, dict):
            document = document.get(step)
        elif isinstance(document, list) and isinstance(step, int) and step < len(document):
            document = document[step]
        else:
            return None
    return document


def with_value(document: Document, path: tuple[Any, ...], value: Any) -> Document:
    """Return a copy with another value at a path."""
    copy = deepcopy(document)
    value_at(copy, path[:-1])[path[-1]] = value
    return copy


def _without(document: Document, path: tuple[Any, ...]) -> Document:
    """Return a copy without the value at a path."""
    copy = deepcopy(document)
    del value_at(copy, path[:-1])[path[-1]]
    return copy
