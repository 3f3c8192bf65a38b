"""The model of a classic group's coordinator with simple members, event by event: the log of a history.

Members do as in `bridge/src/replay`. The leader deals the tasks out in turn, in the order of the members' names. A task
that another member has is withheld until that has revoked it; both rejoin (KIP-429). The metadata of a member differ
each time it joins, as those of Kafka Streams do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeVar

from simulator.group.classic_coordinator import Answer, ClassicCoordinator, ClassicMember, Error
from tests.group_histories.virtual_clock import VirtualClock


def log_of_classic_model(history: Mapping[str, Any], of_kafka: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the log of a history; if the leader leaves, the next one is that of Kafka's log."""
    return _Group(history, of_kafka).run()


@dataclass(eq=False)
class _Member:
    name: str
    instance: str | None
    id: str = ""
    generation: int = -1
    is_up: bool = True
    owned: frozenset[str] = frozenset()
    beats: int = 0
    joins: int = 0
    is_rejoining: bool = False
    is_computing: bool = False
    is_joining: bool = False
    knows_id: bool = False
    has_to_rejoin: bool = False
    started_ms: int | None = None
    assigned_until_ms: int | None = None


M, T = TypeVar("M"), TypeVar("T")
"""What identifies a member, and a task."""


def leader_of_kafka(
    history: Mapping[str, Any], of_kafka: list[dict[str, Any]], generation: int, names: Mapping[M, str]
) -> M:
    """Return the member among some that leads a generation in Kafka's log, or the static one that it replaces.

    If both are missing, return a member that will be gone or absent by then, which Kafka must have chosen.
    """
    members = list(names)
    entry = next((entry for entry in of_kafka if entry["k"] == "generation" and entry["g"] == generation), None)
    if entry is None:
        return members[0]
    static = {client["name"] for client in history["clients"] if client.get("static")}
    by_name = {name: member for member, name in names.items()}
    if entry["leader"] in by_name:
        return by_name[entry["leader"]]
    client, _, thread = entry["leader"].split("/")
    replaced = [by_name[name] for name in by_name if name.split("/")[::2] == [client, thread] and client in static]
    before = [other for other in of_kafka if other["t"] <= entry["t"]]
    returned = {(other["t"], *other["m"].split("/")[::2]) for other in before if other["k"] == "joined"}
    removed = {
        other["m"]
        for other in before
        if other["k"] == "removed" and (other["t"], *other["m"].split("/")[::2]) not in returned
    }
    last = {event["client"]: event for event in history["events"] if event["at"] <= entry["t"] and "client" in event}
    present = [name.split("/")[::2] for name in entry["members"]]
    absent = {
        name
        for name in by_name
        if name.split("/")[0] in static
        and last[name.split("/")[0]]["kind"] != "start"
        and (name in entry["members"] or name.split("/")[::2] not in present)
    }
    missing = sorted(absent - removed, key=lambda name: last[name.split("/")[0]]["at"])
    gone = [by_name[name] for name in (*(name for name in by_name if name in removed), *missing)]
    return next(iter([*replaced, *gone, *members]))


def dealt_out(tasks: Sequence[T], names: Iterable[str]) -> dict[str, list[T]]:
    """Return the tasks of each member, dealt out in turn in the order of the members' names."""
    ordered = sorted(names)
    return {name: list(tasks[number :: len(ordered)]) for number, name in enumerate(ordered)}


def tasks_until(history: Mapping[str, Any], at_ms: int) -> list[tuple[int, int]]:
    """Return the subtopology, by its place, and the partition of each task that there is at a time."""
    counts = {part["id"]: part["partitions"] for part in history["subtopologies"]}
    events = [event for event in history["events"] if event["kind"] == "partitions" and event["at"] <= at_ms]
    counts |= {event["subtopology"]: event["partitions"] for event in events}
    return [(place, partition) for place, count in enumerate(counts.values()) for partition in range(count)]


class _Group:
    def __init__(self, history: Mapping[str, Any], of_kafka: list[dict[str, Any]]) -> None:
        self.history, self.config, self.of_kafka = history, history["config"], of_kafka
        self.coordinator: ClassicCoordinator[str] = ClassicCoordinator(
            self.config["initial_rebalance_delay_ms"], self.choose
        )
        self.clock = VirtualClock(self.end)
        self.ids = count()
        self.log: list[dict[str, Any]] = []
        self.details = {client["name"]: client for client in history["clients"]}
        self.clients: dict[str, list[_Member]] = {}
        self.starts: dict[str, int] = dict.fromkeys(self.details, 0)
        self.of_id: dict[str, _Member] = {}
        self.present: set[str] = set()
        self.max_age_ms = self.config.get("metadata_max_age_ms", 300_000)
        self.added: list[int] = []

    def choose(self, members: Collection[str]) -> str:
        """Return the leader of Kafka's next generation."""
        names = {id_: self.of_id[id_].name for id_ in members}
        return leader_of_kafka(self.history, self.of_kafka, self.coordinator.generation + 1, names)

    def run(self) -> list[dict[str, Any]]:
        for event in self.history["events"]:
            self.clock.at(event["at"], lambda event=event: self.happen(event))  # type: ignore[misc]
        self.clock.run(self.history["duration_ms"])
        return self.log

    def happen(self, event: Mapping[str, Any]) -> None:
        if event["kind"] == "partitions":
            self.added.append(self.clock.now_ms)
            return
        client, kind = event["client"], event["kind"]
        is_static = self.details[client].get("static", False)
        if kind == "start":
            self.starts[client] += 1
            self.clients[client] = []
            for thread in range(self.details[client]["threads"]):
                instance = f"{client}-{thread}" if is_static else None
                member = _Member(f"{client}/{self.starts[client]}/{thread}", instance)
                self.clients[client].append(member)
                self.clock.later(thread * self.config["thread_start_ms"], lambda member=member: self.join(member))  # type: ignore[misc]
            return
        for member in self.clients.pop(client):
            self.stop(member, leaves=kind == "leave" or (kind == "close" and not is_static))

    def stop(self, member: _Member, *, leaves: bool) -> None:
        member.is_up = False
        if leaves and member.knows_id:
            self.coordinator.leave(member.id, self.clock.now_ms)
            self.flush()

    def join(self, member: _Member) -> None:
        if not member.is_up:
            return
        member.beats += 1
        member.joins += 1
        member.is_rejoining, member.is_joining = False, True
        if member.started_ms is None:
            member.started_ms = self.clock.now_ms
            self.await_refresh(member)
        if not member.id:
            member.id = f"{member.name}#{next(self.ids)}"
            self.of_id[member.id] = member
            if member.instance is None:
                self.coordinator.request_id(member.id, self.config["session_timeout_ms"], self.clock.now_ms)
                self.flush()
                self.clock.at(self.clock.now_ms, lambda: self.join_with_id(member))
                return
        new = ClassicMember(
            (member.name, member.owned, member.joins),
            member.instance,
            self.config["session_timeout_ms"],
            self.config.get("max_poll_interval_ms", 300_000),
        )
        self.coordinator.join(member.id, new, self.clock.now_ms)
        self.flush()

    def join_with_id(self, member: _Member) -> None:
        if member.is_up:
            member.knows_id = True
            self.join(member)

    def flush(self) -> None:
        """Start the coordinator's timers, deliver its answers, and log which members it has lost and got."""
        self.clock.start(self.coordinator.timers)
        self.coordinator.timers.clear()
        answers, self.coordinator.answers = self.coordinator.answers, []
        for answer in answers:
            self.clock.at(self.clock.now_ms, lambda answer=answer: self.receive(answer))  # type: ignore[misc]
        members = {self.of_id[id_].name for id_ in self.coordinator.members}
        for kind, names in (("removed", self.present - members), ("joined", members - self.present)):
            self.log += [{"t": self.clock.now_ms, "k": kind, "m": name} for name in sorted(names)]
        self.present = members

    def end(self, key: tuple[str, Any]) -> None:
        kind, member = key
        if kind == "session":
            self.coordinator.expire(member, self.clock.now_ms)
        elif kind == "join":
            self.coordinator.end_join(self.clock.now_ms)
        else:
            self.coordinator.end_sync(self.clock.now_ms)
        self.flush()

    def receive(self, answer: Answer) -> None:
        member = self.of_id[str(answer.member)]
        if answer.is_join:
            self.receive_join(member, answer)
        elif member.is_up:
            self.receive_sync(member, answer)

    def receive_join(self, member: _Member, answer: Answer) -> None:
        if answer.error is Error.NONE and answer.leads and not answer.skips_assignment:
            names = sorted(self.of_id[id_].name for id_ in answer.members)
            entry = {"t": self.clock.now_ms, "k": "generation", "g": answer.generation, "leader": member.name}
            self.log.append(entry | {"members": names})
        if not member.is_up:
            return
        member.is_joining = False
        if answer.error is not Error.NONE:
            self.reset(member, answer.error)
            return
        member.assigned_until_ms = self.refreshed_at(member) if answer.leads else None
        member.generation, member.knows_id = answer.generation, True
        self.beat(member)
        if not answer.leads or answer.skips_assignment:
            self.sync(member, None, answer.generation)
            return
        assignments = self.assignments(answer.members, self.refreshed_at(member))
        member.is_computing, member.has_to_rejoin = True, False
        self.clock.later(
            self.config.get("leader_compute_ms", 0), lambda: self.finish(member, assignments, answer.generation)
        )

    def finish(self, member: _Member, assignments: Any, generation: int) -> None:
        """Let the leader send the assignments; it neither polls nor joins before."""
        member.is_computing = False
        if member.is_up and generation == member.generation:
            self.sync(member, assignments, generation)
            if member.has_to_rejoin:
                self.rejoin(member)
        elif member.is_up:
            self.rejoin(member)

    def await_refresh(self, member: _Member) -> None:
        """Let a member refresh its metadata; a leader rejoins if it sees partitions that it has not assigned."""
        self.clock.at(self.clock.now_ms + self.max_age_ms, lambda: self.refresh(member))

    def refresh(self, member: _Member) -> None:
        if not member.is_up:
            return
        self.await_refresh(member)
        until_ms = member.assigned_until_ms
        if until_ms is None or not any(at_ms > until_ms for at_ms in self.added):
            return
        if member.is_computing:
            member.has_to_rejoin = True
        elif not (member.is_joining or member.is_rejoining):
            self.join(member)

    def refreshed_at(self, member: _Member) -> int:
        """Return when a member has refreshed its metadata last; it reads them when it starts."""
        assert member.started_ms is not None
        return self.clock.now_ms - (self.clock.now_ms - member.started_ms) % self.max_age_ms

    def assignments(self, metadata: Mapping[str, Any], until_ms: int) -> dict[str, tuple[frozenset[str], bool]]:
        """Return the tasks of each member now, and whether it waits for others."""
        joined = {self.of_id[id_].name: id_ for id_ in metadata}
        owned: dict[str, frozenset[str]] = {name: metadata[id_][1] for name, id_ in joined.items()}
        assignments = {}
        parts = [part["id"] for part in self.history["subtopologies"]]
        known = [f"{parts[place]}_{partition}" for place, partition in tasks_until(self.history, until_ms)]
        for name, tasks in dealt_out(known, joined).items():
            free = {task for task in tasks if not any(task in has for other, has in owned.items() if other != name)}
            assignments[joined[name]] = frozenset(free), len(free) < len(tasks)
        return assignments

    def sync(self, member: _Member, assignments: Any, generation: int) -> None:
        if member.is_up and generation == member.generation:
            self.coordinator.sync(member.id, generation, self.clock.now_ms, assignments)
            self.flush()

    def receive_sync(self, member: _Member, answer: Answer) -> None:
        if answer.error is Error.REBALANCE_IN_PROGRESS:
            self.rejoin(member)
            return
        if answer.error is not Error.NONE:
            self.reset(member, answer.error)
            return
        self.log.append({"t": self.clock.now_ms, "k": "assigned", "m": member.name, "g": member.generation})
        tasks, waits = answer.assignment or (frozenset(), False)  # type: ignore[misc]
        is_over = answer.assignment is None or (not waits and tasks >= member.owned)
        member.owned = tasks
        if not is_over:
            self.rejoin(member)

    def reset(self, member: _Member, error: Error) -> None:
        member.generation = -1
        if error is Error.UNKNOWN_MEMBER_ID:
            member.id, member.knows_id = "", False
        if error is Error.FENCED_INSTANCE_ID:
            member.is_up = False
            return
        member.owned = frozenset()
        self.rejoin(member)

    def rejoin(self, member: _Member) -> None:
        if not (member.is_rejoining or member.is_computing):
            member.is_rejoining, joins = True, member.joins
            self.clock.at(
                self.clock.now_ms + self.config["rejoin_ms"],
                lambda: self.join(member) if member.joins == joins else None,
            )

    def beat(self, member: _Member) -> None:
        member.beats += 1
        started = member.beats

        def send() -> None:
            if member.is_up and member.beats == started:
                error = self.coordinator.heartbeat(member.id, member.generation, self.clock.now_ms)
                self.flush()
                if error in (Error.NONE, Error.REBALANCE_IN_PROGRESS):
                    self.beat(member)
                if error is Error.REBALANCE_IN_PROGRESS:
                    self.rejoin(member)
                elif error is not Error.NONE:
                    self.reset(member, error)

        self.clock.at(self.clock.now_ms + self.config["heartbeat_interval_ms"], send)
