"""Random scenario documents, and the families of the suite: each varies one property, or one kind of event.

A document is a small application on a small cluster: large enough for every rule of an assignor, small enough for
hundreds of runs. Everything that refers to clients names them one by one, so that a document can be shrunk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from io import StringIO
from itertools import pairwise
from typing import Any, Final

import numpy as np

from assignors.model.sequence import MembershipSequence

Document = dict[str, Any]
"""A scenario as data, as YAML is read."""

START_MS: Final = 300_000
"""Time of the first event."""

_SETTLING_MS: Final = 1_800_000
"""Time from the last event to the end of the run."""

_RATES: Final = ("200 kB/s", "1 MB/s", "4 MB/s")
SIZES: Final = ("40 MB", "600 MB", "3 GB")
"""Sizes of stores."""

RESTORE: Final = "80 MB/s"
"""Restore rate of each client."""

_TIMES: Final = ("at", "down", "every", "pause")


@dataclass(slots=True)
class Shape:
    """The random decisions of a document that families fix.

    Attributes:
        rng: draws all others.
        partitions: of each subtopology.
        threads: of each client.
        clients: number of clients at the start.
        spares: number of clients that are not up at the start.
        tags: whether clients have the tag `zone`.
        rates: of the source topics.
    """

    rng: np.random.Generator
    racks: int
    partitions: list[int]
    threads: list[int]
    clients: int
    spares: int
    standbys: int
    configs: dict[str, Any] = field(default_factory=dict)
    tags: bool = False
    starts: str = "warm"
    rates: list[str] = field(default_factory=list)

    @classmethod
    def draw(cls, rng: np.random.Generator) -> Shape:
        """Return a shape without any peculiarity: three racks, 1 to 3 subtopologies, 3 to 6 clients."""
        partitions = int(rng.integers(3, 9))
        count, clients, spares = int(rng.integers(1, 4)), int(rng.integers(3, 7)), 2
        return cls(
            rng=rng,
            racks=3,
            partitions=[partitions] * count,
            threads=[int(rng.integers(1, 3))] * (clients + spares),
            clients=clients,
            spares=spares,
            standbys=int(rng.integers(0, 2)),
            rates=[str(rng.choice(_RATES))] * count,
        )

    def pick(self, *values: Any) -> Any:
        """Draw one of some values."""
        return values[int(self.rng.integers(len(values)))]

    @property
    def client_names(self) -> list[str]:
        """The clients that are up at the start."""
        return [f"c{number}" for number in range(self.clients)]

    @property
    def spare_names(self) -> list[str]:
        """The other clients."""
        return [f"c{number}" for number in range(self.clients, self.clients + self.spares)]

    def some_clients(self, maximum: int) -> list[str]:
        """Draw 1 to `maximum` clients that are up at the start, but never all."""
        count = int(self.rng.integers(1, max(2, min(maximum + 1, self.clients))))
        chosen = self.rng.permutation(self.clients)[:count]
        return [f"c{number}" for number in sorted(chosen.tolist())]


def document(name: str, description: str, shape: Shape, events: Sequence[Document], end_ms: int = START_MS) -> Document:
    """Return the scenario of a shape, without assignors and seeds; the last event is over at `end_ms`."""
    racks = [f"r{number}" for number in range(1, shape.racks + 1)]
    brokers = max(3, shape.racks)
    return {
        "name": name,
        "description": description,
        "cluster": {
            "brokers": {"count": brokers, "racks": racks},
            "configs": {"default.replication.factor": int(shape.rng.integers(1, 4))},
            "topics": [
                {"name": f"in{number}", "partitions": count, "bytes_per_s": shape.rates[number]}
                for number, count in enumerate(shape.partitions)
            ],
        },
        "application": {
            "id": "app",
            "starts": shape.starts,
            "configs": {
                "num.standby.replicas": shape.standbys,
                "max.warmup.replicas": shape.pick(2, 4, 8),
                "probing.rebalance.interval.ms": shape.pick(60_000, 120_000),
                **shape.configs,
            },
            "subtopologies": [_subtopology(shape, number) for number in range(len(shape.partitions))],
        },
        "clients": [_client(shape, number, racks) for number in range(shape.clients + shape.spares)],
        "events": [_with_units(event) for event in events],
        "duration": time_text(end_ms + _SETTLING_MS),
    }


def sequence_document(name: str, sequence: MembershipSequence) -> Document:
    """Return the scenario of a sequence: its processes leave and join every five minutes, which is time to settle.

    Rebalances without a change are left out. Without assignors and seeds.
    """
    names = [f"c{number}" for number in range(len(sequence.processes))]
    events: list[Document] = []
    for number, (before, after) in enumerate(pairwise(map(set, sequence.rounds)), start=1):
        changes = {"leave": before - after, "join": after - before}
        events += [
            {"at": time_text(number * START_MS), kind: {"clients": [names[place] for place in sorted(places)]}}
            for kind, places in changes.items()
            if places
        ]
    return {
        "name": name,
        "cluster": {
            "brokers": {"count": 1, "racks": ["r1"]},
            "topics": [
                {"name": f"in{part}", "partitions": count, "bytes_per_s": "1 kB/s"}
                for part, (count, _) in enumerate(sequence.subtopologies)
            ],
        },
        "application": {
            "id": "app",
            "starts": "warm",
            "configs": {"num.standby.replicas": sequence.standbys},
            "subtopologies": [
                {"sources": [f"in{part}"]}
                | ({"stores": [{"name": f"s{part}", "size": "1 MB", "bytes_per_s": "1 kB/s"}]} if has_state else {})
                for part, (_, has_state) in enumerate(sequence.subtopologies)
            ],
        },
        "clients": [
            {"name": names[place], "process_id": process, "threads": threads}
            | ({} if place in sequence.rounds[0] else {"starts": False})
            for place, (process, threads) in enumerate(sequence.processes)
        ],
        "events": events,
        "duration": time_text((len(sequence.rounds) + 1) * START_MS),
    }


def time_text(time_ms: int) -> str:
    """Return a time in the largest unit in which it is a whole number, as in `5m`.

    Examples:
        >>> time_text(300_000), time_text(90_000), time_text(0)
        ('5m', '90s', '0s')
    """
    return f"{time_ms // 60_000}m" if time_ms and time_ms % 60_000 == 0 else f"{time_ms // 1_000}s"


def _with_units(event: Document) -> Document:
    """Return an event with units in its times."""
    return {
        key: _with_units(value) if isinstance(value, dict) else time_text(value) if key in _TIMES else value
        for key, value in event.items()
    }


def _subtopology(shape: Shape, number: int) -> Document:
    subtopology: Document = {"sources": [f"in{number}"]}
    if number == 0 or shape.rng.random() < 0.6:
        store = {"name": f"s{number}", "size": shape.pick(*SIZES), "bytes_per_s": shape.pick(*_RATES)}
        subtopology["stores"] = [store]
    return subtopology


def _client(shape: Shape, number: int, racks: Sequence[str]) -> Document:
    rack = racks[number % len(racks)]
    client: Document = {"name": f"c{number}", "rack": rack, "threads": shape.threads[number], "restore": RESTORE}
    if shape.tags:
        client["tags"] = {"zone": rack}
    if number >= shape.clients:
        client["starts"] = False
    return client


def document_text(content: Document, comment: str = "") -> str:
    """Return a document as YAML, after lines of a comment, which are given without `#`."""
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.default_flow_style = None
    yaml.width = 110
    stream = StringIO()
    yaml.dump(content, stream)
    head = "".join(f"# {line}".rstrip() + "\n" for line in comment.splitlines())
    return head + stream.getvalue()


def consistent(document: Document) -> Document:
    """Return a document without references to clients and topics that it no longer has; those of numbers stay."""
    names = {client.get("name") for client in document["clients"]}
    generated = any("count" in client for client in document["clients"])
    events = document.get("events")
    if events and not generated:
        document = {**document, "events": [event for event in map(_only(names), events) if event is not None]}
    subtopologies = (document.get("application") or {}).get("subtopologies")
    if subtopologies:
        sources = {source for subtopology in subtopologies for source in subtopology.get("sources", ())}
        cluster = document.get("cluster") or {}
        topics = [topic for topic in cluster.get("topics") or [] if topic.get("name") in sources]
        document = {**document, "cluster": {**cluster, "topics": topics}}
    return document


def _only(names: set[Any]) -> Callable[[Document], Document | None]:
    """Return a function that removes unknown clients from an event, and events without clients."""

    def restrict(event: Document) -> Document | None:
        restricted = dict(event)
        for key, value in event.items():
            if isinstance(value, dict) and isinstance(value.get("clients"), list):
                known = [name for name in value["clients"] if name in names]
                if not known:
                    return None
                restricted[key] = {**value, "clients": known}
        return restricted

    return restrict


@dataclass(frozen=True, slots=True)
class SuiteFamily:
    """A family of random scenarios.

    Attributes:
        name: name in reports.
        description: what its scenarios have in common.
        draw: changes a shape, and returns the events and the time at which the last one is over.
        duration: duration of the scenarios; None for until half an hour after the last event.
    """

    name: str
    description: str
    draw: Callable[[Shape], tuple[list[Document], int]]
    duration: str | None = None

    def document(self, rng: np.random.Generator, number: int) -> Document:
        """Return a random scenario of the family."""
        shape = Shape.draw(rng)
        events, end_ms = self.draw(shape)
        content = document(f"{self.name}-{number}", self.description, shape, events, end_ms)
        return content if self.duration is None else {**content, "duration": self.duration}


def _join_and_leave(shape: Shape) -> tuple[list[Document], int]:
    joins = {"at": START_MS, "join": {"clients": shape.spare_names[:1]}}
    return [joins, {"at": 4 * START_MS, "leave": {"clients": shape.some_clients(1)}}], 4 * START_MS


def _one_event(kind: str, about: Document, end_ms: int = START_MS) -> tuple[list[Document], int]:
    return [{"at": START_MS, kind: about}], end_ms


def _skewed(shape: Shape) -> tuple[list[Document], int]:
    count = int(shape.rng.integers(2, 5))
    shape.partitions = [int(shape.rng.integers(1, 13)) for _ in range(count)]
    shape.rates = [shape.pick("50 kB/s", "500 kB/s", "5 MB/s", "20 MB/s") for _ in range(count)]
    return _join_and_leave(shape)


def _threads(shape: Shape) -> tuple[list[Document], int]:
    shape.threads = [int(shape.rng.integers(1, 7)) for _ in shape.threads]
    return _join_and_leave(shape)


def _standbys(shape: Shape) -> tuple[list[Document], int]:
    shape.standbys = int(shape.rng.integers(0, 3))
    return _one_event("crash", {"clients": shape.some_clients(1), "down": 600_000}, 3 * START_MS)


def _tags(shape: Shape) -> tuple[list[Document], int]:
    shape.tags, shape.standbys = True, int(shape.rng.integers(1, 3))
    shape.configs["rack.aware.assignment.tags"] = ["zone"]
    return _join_and_leave(shape)


def _racks(shape: Shape) -> tuple[list[Document], int]:
    shape.racks = int(shape.rng.integers(1, 6))
    shape.configs["rack.aware.assignment.strategy"] = shape.pick("min_traffic", "balance_subtopology")
    return _join_and_leave(shape)


def _cold(shape: Shape) -> tuple[list[Document], int]:
    shape.starts = "cold"
    return [], 0


def _join(shape: Shape) -> tuple[list[Document], int]:
    return _one_event("join", {"clients": shape.spare_names, "every": shape.pick(0, 60_000)})


def _leave(shape: Shape) -> tuple[list[Document], int]:
    left = {"clients": shape.some_clients(2), "every": shape.pick(0, 120_000), "leaves_group": shape.pick(True, False)}
    return _one_event("leave", left)


def _crash(shape: Shape) -> tuple[list[Document], int]:
    crash = {"clients": shape.some_clients(2), "down": shape.pick(30_000, 900_000), "disk": shape.pick("kept", "lost")}
    return _one_event("crash", crash, 4 * START_MS)


def _roll(shape: Shape) -> tuple[list[Document], int]:
    roll = {"clients": shape.client_names, "down": shape.pick(10_000, 60_000), "pause": shape.pick(30_000, 120_000)}
    return _one_event("rolling_bounce", roll, 4 * START_MS)


def _scale(shape: Shape) -> tuple[list[Document], int]:
    scale_in = {"clients": shape.spare_names, "every": shape.pick(0, 60_000)}
    out = {"at": START_MS, "scale_out": {"clients": shape.spare_names}}
    return [out, {"at": 5 * START_MS, "scale_in": scale_in}], 5 * START_MS


def _outage(shape: Shape) -> tuple[list[Document], int]:
    shape.clients, shape.standbys = max(4, shape.clients), int(shape.rng.integers(0, 3))
    shape.threads = [shape.threads[0]] * (shape.clients + shape.spares)
    outage = {"rack": f"r{int(shape.rng.integers(1, 4))}", "down": shape.pick(120_000, 900_000)}
    return _one_event("rack_outage", outage, 4 * START_MS)


def _placements(shape: Shape) -> tuple[list[Document], int]:
    shape.standbys = int(shape.rng.integers(0, 3))
    shape.threads = [int(shape.rng.integers(1, 4)) for _ in shape.threads]
    return [{"at": 60_000, "join": {"clients": shape.spare_names[:1]}}], START_MS


FAMILIES: Final = (
    SuiteFamily("uniform", "Subtopologies of equal size; a client joins, another leaves.", _join_and_leave),
    SuiteFamily("skewed", "Subtopologies of very different sizes and rates; a client joins, another leaves.", _skewed),
    SuiteFamily("threads", "Clients with 1 to 6 threads; a client joins, another leaves.", _threads),
    SuiteFamily("standbys", "0 to 2 standbys; a client crashes and returns.", _standbys),
    SuiteFamily("tags", "Standbys spread over client tags; a client joins, another leaves.", _tags),
    SuiteFamily("racks", "1 to 5 racks and rack-aware assignment; a client joins, another leaves.", _racks),
    SuiteFamily("cold", "All state has to be restored at the start.", _cold),
    SuiteFamily("join", "Clients join, at once or one after another.", _join),
    SuiteFamily("leave", "Clients close, at once or one after another.", _leave),
    SuiteFamily("crash", "Clients crash and return, with or without their disks.", _crash),
    SuiteFamily("roll", "All clients restart one after another.", _roll),
    SuiteFamily("scale", "The group is scaled out, and later in.", _scale),
    SuiteFamily("outage", "A rack fails with its brokers and clients.", _outage),
)
"""The families whose scenarios are simulated with one seed each."""

PLACEMENTS: Final = SuiteFamily(
    "placements", "Small groups with many replica placements and process ids; a client joins.", _placements, "2m"
)
"""The family whose scenarios are simulated with many seeds each, for rare mistakes."""
