"""Random changes of scenario documents: other applications, clusters, clients and events, of a limited size.

Guarantees: a function of the documents and the random numbers; the documents stay as they are. Most results are valid
scenarios. No result has more than `MAX_TASKS` tasks, `MAX_CLIENTS` clients and `MAX_EVENTS` events, unless the given
document has.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any, Final

import numpy as np

from scenarios.language.units import parse_duration_ms
from scenarios.suite.documents import START_MS, Document, consistent, time_text

MAX_TASKS: Final = 48
MAX_CLIENTS: Final = 10
MAX_EVENTS: Final = 4

_MAX_PARTITIONS: Final = 12
_MAX_SUBTOPOLOGIES: Final = 4
_MAX_RACKS: Final = 5
_MAX_CHANGES: Final = 3
_SETTLING_MS: Final = 2_700_000
_PROBES: Final = (60_000, 120_000)
_RATES: Final = ("50 kB/s", "200 kB/s", "1 MB/s", "4 MB/s", "20 MB/s")
_SIZES: Final = ("40 MB", "600 MB", "3 GB")
_STRATEGIES: Final = ("none", "min_traffic", "balance_subtopology")
_RECOVERY_LAGS: Final = (0, 10_000, 1_000_000)
_RESTORE: Final = "80 MB/s"


def mutated(document: Document, rng: np.random.Generator, other: Document | None = None) -> Document:
    """Return a scenario that differs in one to three random ways; events of the other one may replace its own."""
    changed = deepcopy(document)
    if other is not None and rng.random() < 0.2:
        changed["events"] = deepcopy(other.get("events", []))
    for _ in range(int(rng.integers(1, _MAX_CHANGES + 1))):
        _pick(rng, _MUTATIONS)(changed, rng)
    changed = consistent(changed)
    changed["duration"] = time_text(_end_ms(changed["events"]) + _SETTLING_MS)
    return changed


def _pick(rng: np.random.Generator, values: Any) -> Any:
    return values[int(rng.integers(len(values)))]


def _end_ms(events: list[Document]) -> int:
    return max((parse_duration_ms(event["at"]) for event in events), default=0)


def _configs(document: Document) -> Document:
    configs: Document = document["application"].setdefault("configs", {})
    return configs


def _racks(document: Document) -> list[str]:
    racks: list[str] = document["cluster"]["brokers"]["racks"]
    return racks


def _tasks_without(document: Document, topic: Document | None = None) -> int:
    return sum(one["partitions"] for one in document["cluster"]["topics"] if one is not topic)


def _add_client(document: Document, rng: np.random.Generator) -> None:
    clients = document["clients"]
    if len(clients) >= MAX_CLIENTS:
        return
    number = 1 + max(int(client["name"][1:]) for client in clients)
    client = {**deepcopy(_pick(rng, clients)), "name": f"c{number}", "rack": _pick(rng, _racks(document))}
    client.pop("process_id", None)
    clients.append(client)


def _remove_client(document: Document, rng: np.random.Generator) -> None:
    clients = document["clients"]
    removed = _pick(rng, clients)
    if any(client.get("starts", True) for client in clients if client is not removed):
        clients.remove(removed)


def _change_threads(document: Document, rng: np.random.Generator) -> None:
    _pick(rng, document["clients"])["threads"] = int(rng.integers(1, 7))


def _change_rack(document: Document, rng: np.random.Generator) -> None:
    _pick(rng, document["clients"])["rack"] = _pick(rng, _racks(document))


def _start_or_not(document: Document, rng: np.random.Generator) -> None:
    client = _pick(rng, document["clients"])
    if not client.get("starts", True):
        del client["starts"]
    elif sum(one.get("starts", True) for one in document["clients"]) > 1:
        client["starts"] = False


def _change_partitions(document: Document, rng: np.random.Generator) -> None:
    topic = _pick(rng, document["cluster"]["topics"])
    room = MAX_TASKS - _tasks_without(document, topic)
    topic["partitions"] = int(rng.integers(1, max(1, min(_MAX_PARTITIONS, room)) + 1))


def _add_subtopology(document: Document, rng: np.random.Generator) -> None:
    topics, subtopologies = document["cluster"]["topics"], document["application"]["subtopologies"]
    room = MAX_TASKS - _tasks_without(document)
    if room < 1 or len(subtopologies) >= _MAX_SUBTOPOLOGIES:
        return
    number = 1 + max(int(topic["name"][2:]) for topic in topics)
    partitions = int(rng.integers(1, min(_MAX_PARTITIONS, room) + 1))
    topics.append({"name": f"in{number}", "partitions": partitions, "bytes_per_s": _pick(rng, _RATES)})
    subtopologies.append({"sources": [f"in{number}"]})
    if rng.random() < 0.6:
        subtopologies[-1]["stores"] = [_store(f"s{number}", rng)]


def _store(name: str, rng: np.random.Generator) -> Document:
    return {"name": name, "size": _pick(rng, _SIZES), "bytes_per_s": _pick(rng, _RATES)}


def _remove_subtopology(document: Document, rng: np.random.Generator) -> None:
    subtopologies = document["application"]["subtopologies"]
    if len(subtopologies) > 1:
        subtopologies.remove(_pick(rng, subtopologies))


def _change_store(document: Document, rng: np.random.Generator) -> None:
    subtopology = _pick(rng, document["application"]["subtopologies"])
    if subtopology.pop("stores", None) is None or rng.random() < 0.5:
        subtopology["stores"] = [_store(f"s{subtopology['sources'][0][2:]}", rng)]


def _change_rate(document: Document, rng: np.random.Generator) -> None:
    _pick(rng, document["cluster"]["topics"])["bytes_per_s"] = _pick(rng, _RATES)


def _change_standbys(document: Document, rng: np.random.Generator) -> None:
    _configs(document)["num.standby.replicas"] = int(rng.integers(0, 4))


def _change_warmups(document: Document, rng: np.random.Generator) -> None:
    _configs(document)["max.warmup.replicas"] = int(rng.integers(1, 9))
    _configs(document)["probing.rebalance.interval.ms"] = _pick(rng, _PROBES)


def _change_recovery_lag(document: Document, rng: np.random.Generator) -> None:
    _configs(document)["acceptable.recovery.lag"] = _pick(rng, _RECOVERY_LAGS)


def _change_strategy(document: Document, rng: np.random.Generator) -> None:
    _configs(document)["rack.aware.assignment.strategy"] = _pick(rng, _STRATEGIES)


def _change_tags(document: Document, rng: np.random.Generator) -> None:
    if _configs(document).pop("rack.aware.assignment.tags", None) is not None:
        for client in document["clients"]:
            client.pop("tags", None)
        return
    _configs(document)["rack.aware.assignment.tags"] = ["zone"]
    for client in document["clients"]:
        client["tags"] = {"zone": client["rack"]}


def _change_racks(document: Document, rng: np.random.Generator) -> None:
    count = int(rng.integers(1, _MAX_RACKS + 1))
    racks = [f"r{number}" for number in range(1, count + 1)]
    document["cluster"]["brokers"] = {"count": max(3, count), "racks": racks}
    for number, client in enumerate(document["clients"]):
        if client["rack"] not in racks:
            client["rack"] = racks[number % count]
    document["events"] = [
        event for event in document["events"] if event.get("rack_outage", {}).get("rack", racks[0]) in racks
    ]


def _change_replication(document: Document, rng: np.random.Generator) -> None:
    document["cluster"].setdefault("configs", {})["default.replication.factor"] = int(rng.integers(1, 4))


def _change_start(document: Document, rng: np.random.Generator) -> None:
    document["application"]["starts"] = "cold" if document["application"].get("starts") == "warm" else "warm"


def _remove_event(document: Document, rng: np.random.Generator) -> None:
    if document["events"]:
        document["events"].remove(_pick(rng, document["events"]))


def _move_event(document: Document, rng: np.random.Generator) -> None:
    if document["events"]:
        _pick(rng, document["events"])["at"] = time_text(60_000 * int(rng.integers(1, 31)))
        document["events"].sort(key=lambda event: parse_duration_ms(event["at"]))


def _add_event(document: Document, rng: np.random.Generator) -> None:
    if len(document["events"]) >= MAX_EVENTS:
        return
    event = _pick(rng, (_join, _leave, _crash, _roll, _rack_outage))(document, rng)
    if event is not None:
        start = time_text(START_MS * int(rng.integers(1, 6)))
        document["events"].append({"at": start, **event})
        document["events"].sort(key=lambda event: parse_duration_ms(event["at"]))


def _some(names: list[str], rng: np.random.Generator) -> list[str]:
    count = int(rng.integers(1, len(names) + 1))
    return sorted(names[index] for index in rng.permutation(len(names))[:count].tolist())


def _names(document: Document, *, started: bool) -> list[str]:
    return [client["name"] for client in document["clients"] if client.get("starts", True) is started]


def _join(document: Document, rng: np.random.Generator) -> Document | None:
    spares = _names(document, started=False)
    return {"join": {"clients": _some(spares, rng), "every": _pick(rng, ("0s", "1m"))}} if spares else None


def _leave(document: Document, rng: np.random.Generator) -> Document | None:
    names = _names(document, started=True)
    if len(names) < 2:
        return None
    return {"leave": {"clients": _some(names[1:], rng), "leaves_group": bool(rng.integers(2))}}


def _crash(document: Document, rng: np.random.Generator) -> Document:
    names = _names(document, started=True)
    down, disk = _pick(rng, ("30s", "5m", "15m")), _pick(rng, ("kept", "lost"))
    return {"crash": {"clients": _some(names, rng), "down": down, "disk": disk}}


def _roll(document: Document, rng: np.random.Generator) -> Document:
    clients = _names(document, started=True)
    return {
        "rolling_bounce": {"clients": clients, "down": _pick(rng, ("10s", "1m")), "pause": _pick(rng, ("30s", "2m"))}
    }


def _rack_outage(document: Document, rng: np.random.Generator) -> Document:
    return {"rack_outage": {"rack": _pick(rng, _racks(document)), "down": _pick(rng, ("2m", "15m"))}}


_MUTATIONS: Final[tuple[Callable[[Document, np.random.Generator], None], ...]] = (
    _add_client,
    _remove_client,
    _change_threads,
    _change_rack,
    _start_or_not,
    _change_partitions,
    _add_subtopology,
    _remove_subtopology,
    _change_store,
    _change_rate,
    _change_standbys,
    _change_warmups,
    _change_recovery_lag,
    _change_strategy,
    _change_tags,
    _change_racks,
    _change_replication,
    _change_start,
    _add_event,
    _add_event,
    _remove_event,
    _move_event,
)
