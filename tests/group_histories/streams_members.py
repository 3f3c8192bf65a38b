"""The model of a streams group's coordinator with simple members, event by event: the log of a history.

Members do as in `bridge/src/replay`: they send heartbeats at the interval that the last answer states, and `rejoin_ms`
after they are given other tasks, they have those and report it. A refused static member joins when a member is removed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

from assignors.java.hash_order import TimelineOrder
from simulator.group.streams_coordinator import (
    NO_TASKS,
    Configs,
    CoordinatedMember,
    Event,
    LaterTopologyError,
    Rules,
    StreamsCoordinator,
    Tasks,
    UnreleasedInstanceError,
)
from tests.group_histories.virtual_clock import VirtualClock


def log_of_model(history: Mapping[str, Any], of_kafka: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the log of a history; the targets are those of Kafka's log, so that ties of the assignor hide nothing."""
    return _Group(history, of_kafka).run()


_CONFIGS = {"initial_rebalance_delay_ms": "initial_delay_ms"}
"""The names of configs of histories that the coordinator names in another way."""


@dataclass(eq=False)
class _Member:
    name: str
    thread: int
    started: Mapping[str, Any]
    instance: str | None
    owned: Tasks = NO_TASKS
    target: Tasks = NO_TASKS
    is_up: bool = True
    has_joined: bool = False
    is_polling: bool = False
    paused_until_ms: int = 0
    timer: int = 0
    interval_ms: int = 0
    attempts: int = 0

    @property
    def id(self) -> str:
        """Another one after each refusal, since that ends the thread, and the platform restarts its process."""
        return f"{self.name}+{self.attempts}" if self.attempts else self.name


class _Group:
    def __init__(self, history: Mapping[str, Any], of_kafka: list[dict[str, Any]]) -> None:
        self.history, self.config = history, history["config"]
        self.targets = {
            entry["ge"]: {name: _tasks(record) for name, record in entry["members"].items()}
            for entry in of_kafka
            if entry["k"] == "target"
        }
        major, minor = map(int, history["release"].split(".")[:2])
        self.coordinator = StreamsCoordinator(
            Rules.of((major, minor)),
            self.target,
            self.configs(),
        )
        self.clock = VirtualClock(self.end)
        self.log: list[dict[str, Any]] = []
        self.cause = ""
        self.details = {client["name"]: client for client in history["clients"]}
        self.clients: dict[str, dict[int, _Member]] = {}
        self.starts: dict[str, int] = dict.fromkeys(self.details, 0)
        self.refused: list[_Member] = []
        self.in_map = TimelineOrder()

    def configs(self) -> Configs:
        """Return the configs of the brokers."""
        return Configs(
            self.config["initial_rebalance_delay_ms"],
            self.config["assignment_interval_ms"],
            self.config["session_timeout_ms"],
            self.config["num_standby_replicas"],
            self.config["heartbeat_interval_ms"],
        )

    def target(self, members: Mapping[Any, CoordinatedMember]) -> Mapping[Any, Tasks]:
        targets = self.targets.get(self.coordinator.epoch, {})
        return {member: targets.get(_name(member), NO_TASKS) for member in members}

    def run(self) -> list[dict[str, Any]]:
        for event in self.history["events"]:
            self.clock.at(event["at"], lambda event=event: self.happen(event))
        self.clock.run(self.history["duration_ms"])
        return self.log

    def happen(self, event: Mapping[str, Any]) -> None:
        match event:
            case {"kind": "start", "client": client}:
                self.starts[client] += 1
                self.clients[client] = {}
                for thread in range(self.details[client]["threads"]):
                    self.start(client, thread, event, thread)
            case {"kind": "kill", "client": client}:
                for member in self.clients.pop(client).values():
                    member.is_up = False
            case {"kind": "leave" | "close" as kind, "client": client}:
                for member in self.clients.pop(client).values():
                    self.leave(member, closes=kind == "close" and member.instance is not None)
            case {"kind": "threads", "client": client, "threads": number}:
                self.set_threads(client, number)
            case {"kind": kind, "value": value}:
                self.coordinator.configure(**{_CONFIGS.get(kind, kind): value})
            case {"kind": "pause", "client": client, "for_ms": for_ms}:
                for member in self.clients[client].values():
                    member.paused_until_ms = self.clock.now_ms + for_ms
            case {"kind": "move"}:
                self.coordinator.reload(self.coordinator.rules, self.configs(), self.clock.now_ms)
                place = {(name,): number for number, name in enumerate(self.in_map)}
                self.coordinator.timers.sort(key=lambda timer: place.get(timer.key[1:], -1))
                self.flush()
            case {"kind": "partitions", "subtopology": id_}:
                since = {part["id"]: part.get("since", 0) for part in self.history["subtopologies"]}[id_]
                if since <= (self.coordinator.topology_epoch or 0):
                    self.coordinator.note_partitions()
            case _:
                raise ValueError(f"unknown event {event}")

    def start(self, client: str, thread: int, started: Mapping[str, Any], number: int) -> None:
        instance = f"{client}-{thread}" if self.details[client].get("static") else None
        member = _Member(f"{client}/{self.starts[client]}/{thread}", thread, started, instance)
        member.interval_ms = self.config["heartbeat_interval_ms"]
        self.clients[client][thread] = member
        self.clock.later(number * self.config["thread_start_ms"], lambda: self.join(member))

    def set_threads(self, client: str, number: int) -> None:
        threads = self.clients[client]
        started = next(iter(threads.values())).started
        while len(threads) > number:
            oldest = next(iter(threads.values()))
            del threads[oldest.thread]
            self.leave(oldest, closes=False)
        for added in range(number - len(threads)):
            self.starts[client] += 1
            self.start(client, next(thread for thread in count() if thread not in threads), started, added)

    def join(self, member: _Member) -> None:
        if not member.is_up:
            return
        try:
            tasks = self.announce(member)
        except UnreleasedInstanceError:
            member.attempts += 1
            self.refused.append(member)
            return
        except LaterTopologyError:
            member.is_up = False
            self.log.append({"t": self.clock.now_ms, "k": "refused", "m": member.name})
            return
        is_new, member.has_joined = not member.has_joined, True
        self.flush(member if is_new else None)
        self.receive(member, tasks)
        if is_new:
            self.repeat(member)

    def announce(self, member: _Member) -> Tasks:
        self.cause = f"heartbeat:{member.name}"
        timeout_ms = self.config.get("max_poll_interval_ms", 300_000)
        new = CoordinatedMember(
            member.started["process_id"],
            member.started.get("tags", {}),
            member.instance,
            timeout_ms,
            rack=member.started.get("rack"),
            topology_epoch=member.started.get("topology_epoch", 0),
        )
        return self.coordinator.join(member.id, new, self.clock.now_ms)

    def repeat(self, member: _Member) -> None:
        member.timer += 1
        started = member.timer

        def beat() -> None:
            if member.is_up and member.timer == started:
                if self.clock.now_ms >= member.paused_until_ms:
                    self.beat(member, None)
                self.repeat(member)

        self.clock.at(self.clock.now_ms + member.interval_ms, beat)

    def beat(self, member: _Member, owned: Tasks | None) -> None:
        self.cause = f"heartbeat:{member.name}"
        if member.id in self.coordinator.members:
            tasks = self.coordinator.heartbeat(member.id, owned, self.clock.now_ms)
            self.flush()
            self.receive(member, tasks)
            return
        member.target = NO_TASKS
        self.hold(member, NO_TASKS)
        if self.coordinator.has_instance(member.instance):  # Another member has replaced it.
            self.coordinator.fence(member.id, member.instance)
            member.is_up = False
        else:
            self.join(member)

    def receive(self, member: _Member, tasks: Tasks | None) -> None:
        if member.interval_ms != self.coordinator.configs.heartbeat_interval_ms:
            member.interval_ms = self.coordinator.configs.heartbeat_interval_ms
            self.repeat(member)
        if tasks is None:
            return
        member.target = tasks
        if tasks != member.owned and not member.is_polling:
            member.is_polling = True
            self.clock.later(self.config["rejoin_ms"], lambda: self.poll(member))

    def poll(self, member: _Member) -> None:
        if self.clock.now_ms < member.paused_until_ms:
            self.clock.at(member.paused_until_ms, lambda: self.poll(member))
            return
        member.is_polling = False
        if member.is_up and member.target != member.owned:
            self.hold(member, member.target)
            if self.config.get("client_timer") == "restarted":
                self.repeat(member)
            self.beat(member, member.owned)

    def hold(self, member: _Member, tasks: Tasks) -> None:
        if member.owned != tasks:
            member.owned = tasks
            self.log.append({"t": self.clock.now_ms, "k": "tasks", "m": member.name, **_record(tasks)})

    def leave(self, member: _Member, *, closes: bool) -> None:
        member.is_up = False
        if member.has_joined and member.id in self.coordinator.members:
            self.cause = f"leave:{member.name}"
            if closes:
                self.coordinator.close(member.id)
            else:
                self.coordinator.remove(member.id)
            self.flush()

    def end(self, key: tuple[str, Any]) -> None:
        """Let a timer end."""
        kind, member = key
        if kind == "initial":
            self.cause = "timer:initial-rebalance-timeout-group"
            self.coordinator.end_initial_delay(self.clock.now_ms)
        else:
            self.cause = f"timer:{kind}-timeout-group-{_name(member)}"
            (self.coordinator.remove if kind == "session" else self.coordinator.end_rebalance)(member)
        self.flush()

    def flush(self, joined: _Member | None = None) -> None:
        """Start the coordinator's timers, and log what it has written; a member has joined after it replaced one."""
        for gone in [name for name in self.in_map if name not in self.coordinator.members]:
            self.in_map.remove(gone)
        for name in [*self.coordinator.members] * 2:  # Kafka puts a member a second time, which may enlarge the map.
            self.in_map.add(name)
        self.clock.start(self.coordinator.timers)
        self.coordinator.timers.clear()
        events, self.coordinator.events = self.coordinator.events, []
        if joined is not None:
            events.insert(bool(events) and events[0].kind == "removed", Event("joined", joined.name))
        entries = [self.entry(event) for event in events]
        if joined is not None and joined.started.get("topology_epoch", 0) < (self.coordinator.topology_epoch or 0):
            next(entry for entry in entries if entry["k"] == "joined")["stale"] = True
        self.log += entries
        if any(event.kind == "removed" for event in events):
            refused, self.refused = self.refused, []
            for member in refused:
                self.join(member)

    def entry(self, event: Event) -> dict[str, Any]:
        entry: dict[str, Any] = {"t": self.clock.now_ms, "k": event.kind}
        if event.kind in ("joined", "removed"):
            entry["m"] = _name(str(event.member))
        if event.kind == "removed":
            entry["by"] = self.cause.partition(":")[0]
        if event.kind in ("epoch", "target"):
            entry |= {"ge": event.epoch, "by": self.cause}
        if event.kind == "target":
            entry["members"] = {_name(name): _record(tasks) for name, tasks in self.coordinator.targets.items()}
        return entry


def _name(member: str) -> str:
    return member.partition("+")[0]


def _tasks(record: Mapping[str, list[str]]) -> Tasks:
    return Tasks(*(frozenset(record[role]) for role in "asw"))


def _record(tasks: Tasks) -> dict[str, list[str]]:
    return {role: sorted(names) for role, names in zip("asw", tasks, strict=True)}  # type: ignore[type-var]
