"""Random scenario documents, from which the families of the suite are built.

A document is a small application on a small cluster: large enough for every rule of an assignor, small enough for
hundreds of runs. Everything that refers to clients names them one by one, so that a document can be shrunk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from io import StringIO
from typing import Any, Final

import numpy as np

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
        partitions: partitions of each subtopology.
        threads: threads of each client.
        clients: number of clients at the start.
        spares: number of clients that are not up at the start.
        standbys: `num.standby.replicas`.
        configs: further configs of the application.
        tags: whether clients have the tag `zone`.
        starts: state at the start.
        rates: rates of the source topics.
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
    """Return the scenario of a shape.

    `description`: what it shows; `shape`: the application, the cluster and the clients; `events`: what happens;
    `end_ms`: when the last event is over. Returns the document, without assignors and seeds.
    """
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
    """Return a document as YAML.

    `comment`: lines to put before it, without `#`.
    """
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
