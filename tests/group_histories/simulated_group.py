"""The simulation of a streams group in a history: its log in the format of Kafka's.

The simulated coordinator is given Kafka's targets, so that ties of the assignor hide nothing. What a simulation cannot
express is not simulated: clients that pause, static members that start twice, added partitions, heartbeats at fixed
phases, and threads that start in the same millisecond.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from typing import Any
from unittest.mock import patch

from assignors.model.configs import AssignmentConfigs
from assignors.model.ids import ProcessId
from assignors.tasks.streams_group_sticky import StreamsGroupSticky
from simulator.group.group_events import Member
from simulator.group.streams_coordinator import (
    NO_TASKS,
    CoordinatedMember,
    Event,
    Rules,
    StreamsCoordinator,
    Tasks,
)
from simulator.processes import conversion, simulation, streams_protocol, waiting_joins
from simulator.processes.streams_protocol import StreamsProtocol
from simulator.world.changes import ClientDown, ClientUp, ConfigsSet, ThreadsSet, TimedChange
from simulator.world.client_times import ClientTimes
from simulator.world.disturbances import Disk, StreamThreads
from simulator.world.world import (
    Application,
    Broker,
    Client,
    Cluster,
    GroupConfigs,
    GroupProtocol,
    Start,
    Store,
    Subtopology,
    Topic,
    World,
)

Log = list[dict[str, Any]]


def log_of_simulation(history: Mapping[str, Any], of_kafka: Log) -> Log:
    """Return the log of a history that the simulation expresses."""
    group = _Recorder(history, of_kafka)
    with (
        patch.object(simulation, "timeline", lambda _: list(_changes(history))),
        patch.object(conversion, "StreamsProtocol", group.protocol),
        patch.object(streams_protocol, "StreamsCoordinator", group.coordinator),
        patch.object(waiting_joins, "THREAD_START_MS", history["config"]["thread_start_ms"]),
    ):
        trace = simulation.simulate(_world(history), StreamsGroupSticky())
    assert trace.failure is None, trace.failure
    return group.log


def release_of(history: Mapping[str, Any]) -> tuple[int, int]:
    """Return the minor release of a history's brokers."""
    major, minor = history["release"].split(".")[:2]
    return int(major), int(minor)


def _world(history: Mapping[str, Any]) -> World:
    config = history["config"]
    topics, subtopologies = [], []
    for number, part in enumerate(history["subtopologies"]):
        source, changelog = f"source-{number}", f"app-store-{number}-changelog"
        for name in (source, changelog):
            count = part["partitions"]
            topics.append(Topic(name, ((0,),) * count, (0,) * count, (0,) * count, (0,) * count))
        subtopologies.append(Subtopology(number, (source,), (Store(f"store-{number}", changelog),)))
    configs = GroupConfigs(
        protocol=GroupProtocol.STREAMS,
        session_timeout_ms=config["session_timeout_ms"],
        streams_heartbeat_interval_ms=config["heartbeat_interval_ms"],
        streams_assignment_interval_ms=config["assignment_interval_ms"],
        initial_rebalance_delay_ms=config["initial_rebalance_delay_ms"],
        max_poll_interval_ms=config["max_poll_interval_ms"],
        broker_release=release_of(history),
        task_offset_interval_ms=None,
    )
    return World(
        name=history["id"],
        cluster=Cluster((Broker(0, "az"),), {topic.name: topic for topic in topics}),
        application=Application(
            "app",
            tuple(subtopologies),
            AssignmentConfigs(num_standby_replicas=config["num_standby_replicas"]),
            configs,
            times=ClientTimes(rejoin_ms=config["rejoin_ms"]),
        ),
        clients=tuple(
            Client(
                client["name"],
                ProcessId.of(uuid.UUID(int=number)),
                "az",
                client["threads"],
                restore_bytes_per_s=1_000_000,
                starts=False,
                is_static=client.get("static", False),
            )
            for number, client in enumerate(history["clients"])
        ),
        disturbances=tuple(
            StreamThreads(event["at"], (event["client"],), event["threads"])
            for event in history["events"]
            if event["kind"] == "threads"
        ),
        duration_ms=history["duration_ms"] + 1,
        start=Start.COLD,
    )


def _changes(history: Mapping[str, Any]) -> Iterator[TimedChange]:
    static = {client["name"] for client in history["clients"] if client.get("static")}
    events = history["events"]
    processes: dict[str, str] = {}
    for number, event in enumerate(events):
        name = event.get("client")
        change: Any
        match event["kind"]:
            case "start":
                processes[name] = event["process_id"]
                change = ClientUp(name)
            case "threads":
                change = ThreadsSet(name, event["threads"], leaves_group=True)
            case "num_standby_replicas":
                change = ConfigsSet(AssignmentConfigs(num_standby_replicas=event["value"]))
            case "leave" | "close" | "kill" as kind:
                later = (e["process_id"] for e in events[number:] if e["kind"] == "start" and e["client"] == name)
                disk = Disk.KEPT if next(later, processes[name]) == processes[name] else Disk.LOST
                leaves = kind == "leave" or (kind == "close" and name not in static)
                change = ClientDown(name, leaves, disk, crashes=kind == "kill")
        yield TimedChange(event["at"], change, number)


class _Recorder:
    """Logs what a simulated coordinator and its members do."""

    def __init__(self, history: Mapping[str, Any], of_kafka: Log) -> None:
        self.log: Log = []
        self.cause = ""
        self.removed_by = ""
        self.joined: set[Member] = set()
        self.release = release_of(history)
        self.num_partitions = [part["partitions"] for part in history["subtopologies"]]
        self.first = [sum(self.num_partitions[:number]) for number in range(len(self.num_partitions))]
        self.targets = {entry["ge"]: entry["members"] for entry in of_kafka if entry["k"] == "target"}
        self.protocol = self._protocol()
        self.coordinator = self._coordinator()
        self.now_ms = lambda: 0

    def name(self, member: Member) -> str:
        return f"{member.client}/{member.start}/{member.thread}"

    def record(self, tasks: Tasks) -> dict[str, list[str]]:
        return {role: sorted(map(self._task, rows)) for role, rows in zip("asw", tasks, strict=True)}

    def _task(self, row: Any) -> str:
        part = max(number for number, first in enumerate(self.first) if first <= row)
        return f"{part}_{row - self.first[part]}"

    def tasks(self, record: Mapping[str, list[str]]) -> Tasks:
        return Tasks(*(frozenset(self._row(task) for task in record[role]) for role in "asw"))

    def _row(self, task: str) -> int:
        part, partition = map(int, task.split("_"))
        return self.first[part] + partition

    def note(self, events: list[Event], joined: Member | None = None) -> None:
        if joined is not None:
            events.insert(bool(events) and events[0].kind == "removed", Event("joined", joined))
        for event in events:
            entry: dict[str, Any] = {"t": self.now_ms(), "k": event.kind}
            if event.kind in ("joined", "removed"):
                entry["m"] = self.name(event.member)  # type: ignore[arg-type]
            if event.kind == "removed":
                entry["by"] = self.cause.partition(":")[0]
            if event.kind in ("epoch", "target"):
                entry |= {"ge": event.epoch, "by": self.cause}
            if event.kind == "target":
                entry["members"] = {self.name(m): self.record(tasks) for m, tasks in self.current.targets.items()}
            self.log.append(entry)

    def _protocol(self) -> type[StreamsProtocol]:
        recorder = self

        class Recorded(StreamsProtocol):
            """A protocol that notes the time, and what members have."""

            def __init__(self, *args: Any) -> None:
                recorder.now_ms = lambda: args[0].now_ms
                super().__init__(*args)

            def _rules(self) -> Rules:
                return Rules.of(recorder.release)

            def _have(self, member: Member, tasks: Tasks) -> None:
                if tasks != self._memberships[member].owned:
                    entry = {"t": recorder.now_ms(), "k": "tasks", "m": recorder.name(member)}
                    recorder.log.append(entry | recorder.record(tasks))
                super()._have(member, tasks)

            def _remove(self, member: Member, reason: str) -> None:
                kind = reason.removesuffix(" timed out").rpartition(" ")[2]
                recorder.removed_by = f"timer:{kind}-timeout-group-" if reason.endswith(" timed out") else "leave:"
                super()._remove(member, reason)

        return Recorded

    def _coordinator(self) -> type[StreamsCoordinator[Member]]:
        recorder = self

        class Recorded(StreamsCoordinator[Member]):
            """A coordinator that has Kafka's targets, and logs its events with their causes."""

            def join(self, member: Member, new: CoordinatedMember, now_ms: int) -> Tasks:
                recorder.cause = f"heartbeat:{recorder.name(member)}"
                tasks = super().join(member, new, now_ms)
                is_new = member not in recorder.joined
                recorder.joined.add(member)
                recorder.note(list(self.events), member if is_new else None)
                return tasks

            def heartbeat(self, member: Member, owned: Tasks | None, now_ms: int) -> Tasks | None:
                recorder.cause = f"heartbeat:{recorder.name(member)}"
                tasks = super().heartbeat(member, owned, now_ms)
                recorder.note(list(self.events))
                return tasks

            def end_initial_delay(self, now_ms: int) -> None:
                recorder.cause = "timer:initial-rebalance-timeout-group"
                super().end_initial_delay(now_ms)
                recorder.note(list(self.events))

            def remove(self, member: Member) -> None:
                recorder.cause = f"{recorder.removed_by}{recorder.name(member)}"
                super().remove(member)
                recorder.note(list(self.events))

            def _compute(self, now_ms: int) -> None:
                recorder.current = self
                super()._compute(now_ms)

        def make(rules: Rules, assign: Any, *args: Any) -> Recorded:
            def with_targets_of_kafka(members: Mapping[Member, CoordinatedMember]) -> Mapping[Member, Tasks]:
                assign(members)
                target = recorder.targets.get(coordinator.epoch, {})
                return {
                    member: recorder.tasks(target[recorder.name(member)])
                    if recorder.name(member) in target
                    else NO_TASKS
                    for member in members
                }

            coordinator = Recorded(rules, with_targets_of_kafka, *args)
            recorder.current = coordinator
            return coordinator

        return make  # type: ignore[return-value]
