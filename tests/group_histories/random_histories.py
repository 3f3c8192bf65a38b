"""Random histories of streams groups."""

from __future__ import annotations

import random
import uuid
from typing import Any

RELEASES = ("4.1", "4.2", "4.3", "4.4")
"""The releases with streams groups; static members exist from 4.4 on."""
CLASSIC_RELEASES = ("3.9", "4.0", "4.3", "4.4")
"""The releases whose classic groups are compared."""

_STEP_MS = 200
"""What heartbeat intervals, and the times until a member polls, are multiples of in a simulated history.

A member that starts in a millisecond of the step stays in it, so members that start in different ones never send
heartbeats in the same millisecond, whose order would be arbitrary. The many members of a large group need a longer one.
"""
_STEP_OF_LARGE_MS, _LARGE = 1_000, 0.03
"""The step of groups of up to 20 clients of up to three threads, and their share."""
_REJOINS_MS, _THREAD_STARTS_MS, _MAX_THREADS = (0, 200, 800), (13, 103), 4
_LONGEST_SESSION_MS, _LONGEST_HEARTBEAT_INTERVAL_MS = 45_000, 5_000
_STANDBYS = ("num_standby_replicas", (0, 1, 2))
_GROUP_CONFIGS = {
    "4.1": (
        _STANDBYS,
        ("session_timeout_ms", (8_000, 10_000, 20_000, 45_000)),
        ("heartbeat_interval_ms", (1_000, 2_000, 5_000, 7_000)),
    ),
    "4.2": (("initial_rebalance_delay_ms", (0, 3_000, 12_000)),),
    "4.3": (("assignment_interval_ms", (0, 1_000, 7_000, 15_000)),),
    "4.4": (("num_warmup_replicas", (0, 2)), ("rack_aware_assignment_tags", ("zone", "zone,disk"))),
}
"""The dynamic configs of a streams group, with values, by the first release that has them."""
_GAPS_MS = (0, 1, 5, 10, 100, 500, 1_000, 2_000, 5_000, 5_000, 10_000, 30_000, 60_000)


def random_history(release: str, seed: int, *, is_simulated: bool = False) -> dict[str, Any]:
    """Return a history of up to ten events close together or far apart, after the first clients have started.

    Args:
        release: the minor release.
        seed: the seed.
        is_simulated: whether to draw only what a simulation expresses (`simulated_group`), with few events in the same
            millisecond, whose order is arbitrary.
    """
    return _Drawing(release, seed, is_simulated).history()


def random_classic_history(release: str, seed: int, *, is_simulated: bool = False) -> dict[str, Any]:
    """Return a history of a classic group, whose clients start, leave, close and are killed.

    Args:
        release: the minor release.
        seed: the seed.
        is_simulated: whether no time is such that an event may happen in the millisecond of a heartbeat, or of the end
            of a computation, whose order is arbitrary.
    """
    drawing = _Drawing(release, seed, is_simulated=True, is_classic=True)
    history = drawing.history()
    if is_simulated:
        config, step_ms = history["config"], drawing.step_ms
        for key in ("leader_compute_ms", "max_poll_interval_ms", "initial_rebalance_delay_ms"):
            config[key] = round(config[key], -3) or config[key] // step_ms * step_ms
    return history


class _Drawing:
    def __init__(self, release: str, seed: int, is_simulated: bool, is_classic: bool = False) -> None:
        self.random = random.Random(f"classic {release}/{seed}" if is_classic else f"{release}/{seed}")
        self.is_simulated, self.is_classic = is_simulated, is_classic
        self.name, self.release = f"{release}-{seed}", release
        self.is_large = self.random.random() < _LARGE
        is_static = (release == "4.4" or is_classic) and self.random.random() < 0.4
        self.clients = {
            f"c{number}": {
                "threads": self.random.choice((1, 2, 3) if self.is_large else (1, 1, 1, 2, 3)),
                "static": is_static and self.random.random() < 0.8,
            }
            for number in range(
                self.random.randint(7, 20) if self.is_large else self.random.choice((2, 2, 3, 3, 4, 5, 6))
            )
        }
        self.step_ms = _STEP_OF_LARGE_MS if self.is_large else _STEP_MS
        plain = is_simulated or is_classic
        self.has_topologies = not plain and self.random.random() < 0.15
        self.has_attributes = not plain and self.random.random() < 0.3
        self.reports_offsets = not plain and self.random.random() < 0.3
        self.events: list[dict[str, Any]] = []
        self.processes: dict[str, str] = {}
        self.up: set[str] = set()
        self.silent_ms = -_LONGEST_SESSION_MS
        self.subtopologies: list[dict[str, Any]] = []
        self.partitions: dict[str, int] = {}
        self.at_ms = 100
        self.thread_start_ms = self.random.choice(_THREAD_STARTS_MS if is_simulated else (0, 10, 100))
        self.places = self.places_now()

    def history(self) -> dict[str, Any]:
        choice = self.random.choice
        self.subtopologies = [
            {"id": str(number), "partitions": choice((1, 2, 3, 4, 6, 8)), "stateful": self.random.random() < 0.6}
            for number in range(choice((1, 1, 2, 3)))
        ]
        if self.has_topologies:
            self.subtopologies += [{"id": "later", "partitions": 3, "stateful": choice((True, False)), "since": 1}]
        config = {
            "session_timeout_ms": choice((10_000, 45_000, 45_000)),
            "heartbeat_interval_ms": choice((1_000, 3_000, 5_000, 5_000)),
            "initial_rebalance_delay_ms": choice((0, 500, 3_000, 3_000, 3_000, 12_000)),
            "assignment_interval_ms": choice((0, 1_000, 1_000, 7_000, 15_000)),
            "num_standby_replicas": choice((0, 0, 1, 1, 2)),
            "rejoin_ms": choice(self.rejoins_ms()),
            "thread_start_ms": self.thread_start_ms,
            "max_poll_interval_ms": choice((300_000, 300_000, 20_000)),
            "client_timer": "restarted" if self.is_simulated else choice(("restarted", "restarted", "fixed")),
        }
        fewest = len(self.clients) // 2 if self.is_large else 1
        if self.reports_offsets:
            config["reports_offsets"] = True
        for name in list(self.clients)[: self.random.randint(fewest, len(self.clients))]:
            self.start(name)
            self.wait(choice((0, 10, 100, 1_000, 4_000)), 0)
        for _ in range(self.random.randint(1, 10)):
            self.wait(choice(_GAPS_MS), 3)
            self.draw_event()
        if self.is_classic:
            config |= {
                "leader_compute_ms": choice((0, 0, 499, 4_003)),
                "metadata_max_age_ms": choice((3_701, 10_303, 60_007, 300_000)),
                "max_poll_interval_ms": choice((300_000, 300_000, 20_011, 8_009)),
            }
        return {
            "id": self.name,
            "release": self.release,
            **({"protocol": "classic"} if self.is_classic else {}),
            "config": config,
            "subtopologies": self.subtopologies,
            "clients": [{"name": name, **client} for name, client in self.clients.items()],
            "events": self.events,
            "duration_ms": self.at_ms + choice((20_000, 90_000)),
        }

    def wait(self, gap_ms: int, most_more_ms: int) -> None:
        """Let time pass; in a simulated history, all events and members have their own millisecond of a step."""
        if not self.is_simulated:
            self.at_ms += gap_ms + self.random.randint(0, most_more_ms)
            return
        self.at_ms += gap_ms + self.random.randint(1, 487)
        while self.places & self.places_now():
            self.at_ms += 1
        self.places |= self.places_now()

    def places_now(self) -> set[int]:
        """Return the milliseconds of the step in which the threads of a client that starts now start."""
        return {(self.at_ms + thread * self.thread_start_ms) % self.step_ms for thread in range(_MAX_THREADS)}

    def rejoins_ms(self) -> tuple[int, ...]:
        """Return times until a member polls."""
        if not self.is_simulated:
            return 0, 0, 30, 700
        return tuple(time_ms for time_ms in _REJOINS_MS if time_ms % self.step_ms == 0)

    def draw_event(self) -> None:
        up, down = sorted(self.up), [name for name in self.clients if name not in self.up]
        kind = self.random.random()
        duplicated = [name for name in up if self.clients[name]["static"]]
        if kind < 0.36 and down:
            self.start(self.random.choice(down))
        elif kind < 0.4 and duplicated and not self.is_simulated:
            del self.processes[name := self.random.choice(duplicated)]
            self.start(name)
        elif kind < 0.85 and up:
            name = self.random.choice(up)
            self.add("leave" if kind < 0.55 else "close" if kind < 0.7 else "kill", client=name)
            if kind >= 0.55:
                self.silent_ms = self.at_ms
            self.up.discard(name)
            if self.random.random() < 0.3:  # Without its disk, it is another process.
                del self.processes[name]
            is_back = 0.55 <= kind < 0.7 and self.clients[name]["static"] and not self.is_classic
            if is_back and self.random.random() < 0.6:
                self.wait(self.random.choice((1, 100, 1_000)), 3)
                self.start(name)
        elif self.is_classic:
            if kind > 0.85:
                self.add_partitions()
        elif kind < 0.87:
            self.move()
        elif kind < 0.9 and up and not self.is_simulated:
            self.add("pause", client=self.random.choice(up), for_ms=self.random.choice((2_000, 12_000, 60_000)))
        elif kind < 0.93 and up:
            self.add("threads", client=self.random.choice(up), threads=self.random.randint(1, _MAX_THREADS))
        elif kind < 0.975 and not (self.is_simulated and self.release < "4.3"):
            self.configure()
        else:
            self.add_partitions()

    def move(self) -> None:
        """Let another broker coordinate the group.

        There, the sessions of members that are down, or that are killed before their next heartbeat, end in one
        millisecond, in the order of a hash table of their ids, which a simulation does not have.
        """
        if not self.is_simulated:
            self.add("move")
        elif self.silent_ms < self.at_ms - _LONGEST_SESSION_MS:
            self.add("move")
            self.at_ms += _LONGEST_HEARTBEAT_INTERVAL_MS

    def configure(self) -> None:
        """Set or remove a dynamic config of the group; a scenario can set only that of standbys."""
        name, values = _STANDBYS
        if not self.is_simulated:
            known = [config for since, configs in _GROUP_CONFIGS.items() if since <= self.release for config in configs]
            name, values = self.random.choice(known)
            values = (*values, None)
        self.add(name, value=self.random.choice(values))

    def add_partitions(self) -> None:
        """Add partitions to a source topic; without those of its changelog, the group assigns nothing any more.

        A simulation expresses only those of subtopologies without state.
        """
        parts = [part for part in self.subtopologies if not (self.is_simulated and part["stateful"])]
        if not parts:
            return
        part = self.random.choice(parts)
        self.partitions[part["id"]] = self.partitions.get(part["id"], part["partitions"]) + self.random.randint(1, 3)
        changelog = part["stateful"] and self.random.random() < 0.5
        self.add("partitions", subtopology=part["id"], partitions=self.partitions[part["id"]], changelog=changelog)

    def start(self, name: str) -> None:
        new = str(uuid.UUID(int=self.random.getrandbits(128), version=4))
        details: dict[str, Any] = {}
        if self.has_topologies:
            details["topology_epoch"] = self.random.choice((0, 0, 1))
        if self.has_attributes:
            details["rack"] = self.random.choice((None, "a", "a", "b"))
            details["tags"] = self.random.choice(({}, {"zone": "x"}, {"zone": "x", "disk": "y"}))
        self.add("start", client=name, process_id=self.processes.setdefault(name, new), **details)
        self.up.add(name)

    def add(self, kind: str, **details: Any) -> None:
        self.events.append({"at": self.at_ms, "kind": kind, **details})
