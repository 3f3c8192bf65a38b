"""The families of random scenarios: each varies one property of an application, or one kind of event."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from scenarios.suite.documents import START_MS, Document, Shape, document

Draw = Callable[[np.random.Generator, str, str], Document]
"""Draws a document from random numbers, a name and a description."""


@dataclass(frozen=True, slots=True)
class SuiteFamily:
    """A family of random scenarios.

    Attributes:
        name: name in reports.
        description: what its scenarios have in common.
        draw: draws a scenario.
    """

    name: str
    description: str
    draw: Draw

    def document(self, rng: np.random.Generator, number: int) -> Document:
        """Return a random scenario of the family."""
        return self.draw(rng, f"{self.name}-{number}", self.description)


def _join_and_leave(shape: Shape) -> list[Document]:
    joins = {"at": START_MS, "join": {"clients": shape.spare_names[:1]}}
    return [joins, {"at": 4 * START_MS, "leave": {"clients": shape.some_clients(1)}}]


def _uniform(rng: np.random.Generator, name: str, text: str) -> Document:
    shape = Shape.draw(rng)
    return document(name, text, shape, _join_and_leave(shape), 4 * START_MS)


def _skewed(rng: np.random.Generator, name: str, text: str) -> Document:
    shape = Shape.draw(rng)
    count = int(rng.integers(2, 5))
    shape.partitions = [int(rng.integers(1, 13)) for _ in range(count)]
    shape.rates = [shape.pick("50 kB/s", "500 kB/s", "5 MB/s", "20 MB/s") for _ in range(count)]
    return document(name, text, shape, _join_and_leave(shape), 4 * START_MS)


def _threads(rng: np.random.Generator, name: str, text: str) -> Document:
    shape = Shape.draw(rng)
    shape.threads = [int(rng.integers(1, 7)) for _ in shape.threads]
    return document(name, text, shape, _join_and_leave(shape), 4 * START_MS)


def _standbys(rng: np.random.Generator, name: str, text: str) -> Document:
    shape = Shape.draw(rng)
    shape.standbys = int(rng.integers(0, 3))
    events = [{"at": START_MS, "crash": {"clients": shape.some_clients(1), "down": 600_000}}]
    return document(name, text, shape, events, 3 * START_MS)


def _tags(rng: np.random.Generator, name: str, text: str) -> Document:
    shape = Shape.draw(rng)
    shape.tags, shape.standbys = True, int(rng.integers(1, 3))
    shape.configs["rack.aware.assignment.tags"] = ["zone"]
    return document(name, text, shape, _join_and_leave(shape), 4 * START_MS)


def _racks(rng: np.random.Generator, name: str, text: str) -> Document:
    shape = Shape.draw(rng)
    shape.racks = int(rng.integers(1, 6))
    shape.configs["rack.aware.assignment.strategy"] = shape.pick("min_traffic", "balance_subtopology")
    return document(name, text, shape, _join_and_leave(shape), 4 * START_MS)


def _cold(rng: np.random.Generator, name: str, text: str) -> Document:
    shape = Shape.draw(rng)
    shape.starts = "cold"
    return document(name, text, shape, [], 0)


def _join(rng: np.random.Generator, name: str, text: str) -> Document:
    shape = Shape.draw(rng)
    every = shape.pick(0, 60_000)
    events = [{"at": START_MS, "join": {"clients": shape.spare_names, "every": every}}]
    return document(name, text, shape, events)


def _leave(rng: np.random.Generator, name: str, text: str) -> Document:
    shape = Shape.draw(rng)
    left = {"clients": shape.some_clients(2), "every": shape.pick(0, 120_000), "leaves_group": shape.pick(True, False)}
    return document(name, text, shape, [{"at": START_MS, "leave": left}])


def _crash(rng: np.random.Generator, name: str, text: str) -> Document:
    shape = Shape.draw(rng)
    crash = {"clients": shape.some_clients(2), "down": shape.pick(30_000, 900_000), "disk": shape.pick("kept", "lost")}
    return document(name, text, shape, [{"at": START_MS, "crash": crash}], 4 * START_MS)


def _roll(rng: np.random.Generator, name: str, text: str) -> Document:
    shape = Shape.draw(rng)
    roll = {"clients": shape.client_names, "down": shape.pick(10_000, 60_000), "pause": shape.pick(30_000, 120_000)}
    return document(name, text, shape, [{"at": START_MS, "rolling_bounce": roll}], 4 * START_MS)


def _scale(rng: np.random.Generator, name: str, text: str) -> Document:
    shape = Shape.draw(rng)
    events = [
        {"at": START_MS, "scale_out": {"clients": shape.spare_names}},
        {"at": 5 * START_MS, "scale_in": {"clients": shape.spare_names, "every": shape.pick(0, 60_000)}},
    ]
    return document(name, text, shape, events, 5 * START_MS)


def _outage(rng: np.random.Generator, name: str, text: str) -> Document:
    shape = Shape.draw(rng)
    shape.clients, shape.standbys = max(4, shape.clients), int(rng.integers(0, 3))
    shape.threads = [shape.threads[0]] * (shape.clients + shape.spares)
    outage = {"rack": f"r{int(rng.integers(1, 4))}", "down": shape.pick(120_000, 900_000)}
    return document(name, text, shape, [{"at": START_MS, "rack_outage": outage}], 4 * START_MS)


def _placements(rng: np.random.Generator, name: str, text: str) -> Document:
    shape = Shape.draw(rng)
    shape.standbys = int(rng.integers(0, 3))
    shape.threads = [int(rng.integers(1, 4)) for _ in shape.threads]
    content = document(name, text, shape, [{"at": 60_000, "join": {"clients": shape.spare_names[:1]}}])
    return {**content, "duration": "2m"}


FAMILIES: Final = (
    SuiteFamily("uniform", "Subtopologies of equal size; a client joins, another leaves.", _uniform),
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
    "placements", "Small groups with many replica placements and process ids; a client joins.", _placements
)
"""The family whose scenarios are simulated with many seeds each, for rare mistakes."""
