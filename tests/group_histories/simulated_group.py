"""The simulation of a group in a history: its log in the format of Kafka's.

The simulated coordinator of a streams group is given Kafka's targets, so that ties of the assignor hide nothing, or
computes its own with the members' names in Kafka, on which ties depend; in a classic group, tasks are dealt out as in
`bridge/src/replay`. What a simulation cannot express is not simulated: clients that pause, static members that start
twice, other topologies, racks and tags, dynamic configs except that of standbys, added partitions of subtopologies with
state, heartbeats at fixed phases, and threads that start in the same millisecond.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import patch

from assignors.java.hash_order import TimelineOrder
from assignors.model.assignment import TaskAssignment, TaskAssignor
from assignors.model.configs import AssignmentConfigs
from assignors.model.ids import ProcessId
from assignors.model.state import ApplicationState
from assignors.tasks import streams_group_sticky
from assignors.tasks.high_availability import HighAvailability
from assignors.tasks.streams_group_sticky import CoordinatorMember, StreamsGroupSticky
from simulator.assignment.leader import Decision
from simulator.group.classic_coordinator import Answer
from simulator.group.fleet import Fleet
from simulator.group.heartbeats import Heartbeats
from simulator.group.member import ComputeAssignment, Member
from simulator.group.streams_coordinator import (
    NO_TASKS,
    CoordinatedMember,
    Event,
    Rules,
    StreamsCoordinator,
    Tasks,
)
from simulator.processes import classic_protocol, rejoining, simulation, streams_protocol
from simulator.processes.classic_protocol import ClassicProtocol
from simulator.processes.streams_protocol import StreamsProtocol
from simulator.world.changes import (
    ClientDown,
    ClientUp,
    ConfigsSet,
    CoordinatorMoved,
    Disk,
    PartitionsSet,
    ThreadsSet,
    TimedChange,
)
from simulator.world.disturbances import PartitionsAdded, StreamThreads
from simulator.world.group_assignment import GroupAssignment
from simulator.world.group_configs import GroupConfigs, GroupProtocol
from simulator.world.world import (
    Application,
    Broker,
    Client,
    ClientTimes,
    Cluster,
    Start,
    Store,
    Subtopology,
    Topic,
    World,
)
from tests.group_histories.classic_members import dealt_out, leader_of_kafka, tasks_until

Log = list[dict[str, Any]]
ASSIGNORS = ("4.2", "4.3", "4.4")
"""The releases of brokers whose assignor of streams groups is compared."""


def log_of_simulation(history: Mapping[str, Any], of_kafka: Log, *, assigns: bool = False) -> Log:
    """Return the log of a history that the simulation expresses.

    Args:
        history: the history.
        of_kafka: Kafka's log.
        assigns: whether the simulated coordinator of a streams group assigns, instead of taking Kafka's targets.
    """
    assignor: TaskAssignor = HighAvailability()
    if history.get("protocol") == "classic":
        classic = _ClassicRecorder(history, of_kafka)
        log = classic.log
        recording = (
            patch.object(simulation, "ClassicProtocol", classic.protocol()),
            patch.object(
                classic_protocol, "Heartbeats", lambda *arguments, are_late: Heartbeats(*arguments, are_late=False)
            ),
        )
    else:
        streams = _Recorder(history, of_kafka, assigns=assigns)
        log = streams.log
        assignor = _NamedMembers(streams) if assigns else StreamsGroupSticky()
        recording = (
            patch.object(simulation, "StreamsProtocol", streams.protocol),
            patch.object(streams_protocol, "StreamsCoordinator", streams.coordinator),
        )
    with (
        patch.object(simulation, "timeline", lambda _: list(_changes(history))),
        patch.object(rejoining, "THREAD_START_MS", history["config"]["thread_start_ms"]),
        patch.object(simulation, "Fleet", partial(_FleetOfHistory, history)),
        recording[0],
        recording[1],
    ):
        trace = simulation.simulate(_world(history), assignor)
    assert trace.failure is None, trace.failure
    return log


def release_of(history: Mapping[str, Any]) -> tuple[int, int]:
    """Return the minor release of a history's brokers."""
    major, minor = history["release"].split(".")[:2]
    return int(major), int(minor)


def _world(history: Mapping[str, Any]) -> World:
    config = history["config"]
    topics, subtopologies = [], []
    for number, part in enumerate(history["subtopologies"]):
        source, changelog = f"source-{number}", f"app-store-{number}-changelog"
        is_stateful = part.get("stateful", True)
        for name in (source, changelog)[: 1 + is_stateful]:
            count = part["partitions"]
            topics.append(Topic(name, ((0,),) * count, (0,) * count, (0,) * count, (0,) * count))
        stores = (Store(f"store-{number}", changelog),) if is_stateful else ()
        subtopologies.append(Subtopology(number, (source,), stores))
    configs = _group_configs(history)
    return World(
        name=history["id"],
        cluster=Cluster((Broker(0, "az"),), {topic.name: topic for topic in topics}),
        application=Application(
            "app",
            tuple(subtopologies),
            AssignmentConfigs(num_standby_replicas=config.get("num_standby_replicas", 0)),
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
        disturbances=tuple(_disturbances(history)),
        duration_ms=history["duration_ms"] + 1,
        start=Start.COLD,
    )


def _group_configs(history: Mapping[str, Any]) -> GroupConfigs:
    config = history["config"]
    return GroupConfigs(
        protocol=GroupProtocol.CLASSIC if history.get("protocol") == "classic" else GroupProtocol.STREAMS,
        session_timeout_ms=config["session_timeout_ms"],
        heartbeat_interval_ms=config["heartbeat_interval_ms"],
        streams_heartbeat_interval_ms=config["heartbeat_interval_ms"],
        streams_assignment_interval_ms=config.get("assignment_interval_ms", 0),
        initial_rebalance_delay_ms=config["initial_rebalance_delay_ms"],
        max_poll_interval_ms=config.get("max_poll_interval_ms", 300_000),
        metadata_max_age_ms=config.get("metadata_max_age_ms", 300_000),
        broker_release=release_of(history),
        task_offset_interval_ms=None,
    )


def _disturbances(history: Mapping[str, Any]) -> Iterator[StreamThreads | PartitionsAdded]:
    """Yield the events for which the simulation makes room before it begins."""
    counts = {part["id"]: part["partitions"] for part in history["subtopologies"]}
    for event in history["events"]:
        if event["kind"] == "threads":
            yield StreamThreads(event["at"], (event["client"],), event["threads"])
        elif event["kind"] == "partitions":
            part = event["subtopology"]
            added = event["partitions"] - counts[part]
            yield PartitionsAdded(event["at"], f"source-{part}", counts[part], ((0,),) * added)
            counts[part] += added


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
            case "move":
                change = CoordinatorMoved(0, _group_configs(history), "")
            case "partitions":
                change = PartitionsSet(f"source-{event['subtopology']}", event["partitions"])
            case "leave" | "close" | "kill" as kind:
                later = (e["process_id"] for e in events[number:] if e["kind"] == "start" and e["client"] == name)
                disk = Disk.KEPT if next(later, processes[name]) == processes[name] else Disk.LOST
                leaves = kind == "leave" or (kind == "close" and name not in static)
                change = ClientDown(name, leaves, disk, crashes=kind == "kill")
        yield TimedChange(event["at"], change, number)


class _FleetOfHistory(Fleet):
    """Clients whose processes have the ids of a history."""

    def __init__(self, history: Mapping[str, Any], *arguments: Any) -> None:
        super().__init__(*arguments)
        self._keeps_process_id = True
        self._starts_to_come: dict[str, list[str]] = {client["name"]: [] for client in history["clients"]}
        for event in history["events"]:
            if event["kind"] == "start":
                self._starts_to_come[event["client"]].append(event["process_id"])

    def start(self, row: int, *arguments: Any, **options: Any) -> tuple[Member, ...]:
        process_id = self._starts_to_come[self._clients[row].name].pop(0)
        self._process_ids[row] = ProcessId.of(uuid.UUID(process_id))
        self._kafka_order = None
        return super().start(row, *arguments, **options)


class _NamedMembers:
    """The assignor of a streams group; its members have the names that they have in Kafka."""

    def __init__(self, recorder: _Recorder) -> None:
        self._recorder = recorder

    def assign(self, state: ApplicationState) -> TaskAssignment:
        """Assign tasks as the broker of the history."""
        fleet, members = self._recorder.fleet, tuple(self._recorder.current.members)
        processes = fleet.processes(members, separates_former=True)
        column_of = {row: column for column, row in enumerate(processes.rows.tolist())}
        names = {
            (column_of[row], processes.slots[row].index(slot)): self._recorder.id_of(member)
            for member, (row, slot) in fleet.places(members, processes.former).items()
        }

        def named(*arguments: Any) -> Iterator[CoordinatorMember]:
            for member in threads(*arguments):
                yield member._replace(id=names[member.process, member.thread])

        threads = streams_group_sticky._threads
        major, minor = self._recorder.release
        # A member that joins with this heartbeat comes last.
        ordered = dict.fromkeys([*self._recorder.in_map, *map(self._recorder.id_of, members)], "")
        assignor = StreamsGroupSticky(members=ordered, release=f"{major}.{minor}")
        with patch.object(streams_group_sticky, "_threads", named):
            return assignor.assign(state)


class _ClassicRecorder:
    """Logs what a simulated classic group does."""

    def __init__(self, history: Mapping[str, Any], of_kafka: Log) -> None:
        self.history, self.of_kafka = history, of_kafka
        self.log: Log = []
        self.present: set[str] = set()

    def protocol(self) -> type[ClassicProtocol]:
        recorder, history = self, self.history

        class Recorded(ClassicProtocol):
            """A protocol with the leaders of Kafka, whose leaders deal the tasks out."""

            def note(self, kind: str, **details: Any) -> None:
                recorder.log.append({"t": self._context.now_ms, "k": kind, **details})

            def _choose(self, members: Collection[Member]) -> Member:
                names = dict(zip(members, map(_name, members), strict=True))
                return leader_of_kafka(history, recorder.of_kafka, self._coordinator.generation + 1, names)

            def _follow_up(self, **options: Any) -> None:
                members = set(map(_name, self._coordinator.members))
                for kind, names in (("removed", recorder.present - members), ("joined", members - recorder.present)):
                    for name in sorted(names):
                        self.note(kind, m=name)
                recorder.present = members
                super()._follow_up(**options)

            def _complete(self, answer: Answer, leader: Member) -> None:
                members = sorted(map(_name, answer.members))
                self.note("generation", g=answer.generation, leader=_name(leader), members=members)
                super()._complete(answer, leader)

            def _decide(self, instruction: ComputeAssignment, known_until_ms: int) -> Decision:
                decision = super()._decide(instruction, known_until_ms)
                by_name = {_name(member): member for member in instruction.members}
                first = _first_rows(history)
                known = tasks_until(history, known_until_ms)
                dealt = dealt_out([first[place] + partition for place, partition in known], by_name)
                target = GroupAssignment.empty(*decision.target.standby.shape)
                for name, tasks in dealt.items():
                    row, fleet = self._context.fleet.row(by_name[name].client), self._context.fleet
                    target.owner[tasks], target.thread[tasks, row] = row, fleet.slot(by_name[name])
                compute_ms = history["config"].get("leader_compute_ms", 0)
                return replace(decision, target=target, followup_delay_ms=None, leader_compute_ms=compute_ms)

            def _assign(self, *arguments: Any) -> None:
                for member in arguments[-1]:
                    self.note_assigned(member)
                super()._assign(*arguments)

            def _resend_assignment(self, member: Member) -> None:
                self.note_assigned(member)
                super()._resend_assignment(member)

            def note_assigned(self, member: Member) -> None:
                if self._is_up(member):
                    self.note("assigned", m=_name(member), g=self._memberships[member].generation)

        return Recorded


def _first_rows(history: Mapping[str, Any]) -> list[int]:
    """Return the row of the first task of each subtopology, with those of partitions that are added later."""
    last = {part["id"]: part["partitions"] for part in history["subtopologies"]}
    last |= {event["subtopology"]: event["partitions"] for event in history["events"] if event["kind"] == "partitions"}
    counts = list(last.values())
    return [sum(counts[:number]) for number in range(len(counts))]


def _name(member: Member) -> str:
    return f"{member.client}/{member.start}/{member.thread}"


class _Recorder:
    """Logs what a simulated coordinator and its members do."""

    def __init__(self, history: Mapping[str, Any], of_kafka: Log, *, assigns: bool) -> None:
        self.log: Log = []
        self.assigns = assigns
        self.cause = ""
        self.removed_by = ""
        self.joined: set[Member] = set()
        self.in_map = TimelineOrder()
        self.attempts: dict[Member, int] = {}
        self.release = release_of(history)
        self.first = _first_rows(history)
        self.targets = {entry["ge"]: entry["members"] for entry in of_kafka if entry["k"] == "target"}
        self.protocol = self._protocol()
        self.coordinator = self._coordinator()
        self.now_ms = lambda: 0

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
                entry["m"] = _name(event.member)  # type: ignore[arg-type]
            if event.kind == "removed":
                entry["by"] = self.cause.partition(":")[0]
            if event.kind in ("epoch", "target"):
                entry |= {"ge": event.epoch, "by": self.cause}
            if event.kind == "target":
                entry["members"] = {_name(m): self.record(tasks) for m, tasks in self.current.targets.items()}
            self.log.append(entry)
        ids = list(map(self.id_of, self.current.members))
        for member_id in set(self.in_map).difference(ids):
            self.in_map.remove(member_id)
        for member_id in ids * 2:  # Kafka puts a new member a second time, with its state, which may enlarge the map.
            self.in_map.add(member_id)
        if any(event.kind == "removed" for event in events):
            for member in self.attempts.keys() - self.current.members.keys():
                self.attempts[member] += self.is_refused(member)

    def id_of(self, member: Member) -> str:
        """Return the id of a member: the one of each attempt to join has its number."""
        number = self.attempts.get(member)
        return f"{_name(member)}+{number}" if number else _name(member)

    def _protocol(self) -> type[StreamsProtocol]:
        recorder = self

        class Recorded(StreamsProtocol):
            """A protocol that notes the time, and what members have."""

            def __init__(self, *args: Any) -> None:
                recorder.now_ms, recorder.fleet = lambda: args[0].now_ms, args[0].fleet
                recorder.is_refused = super()._is_refused
                super().__init__(*args)

            def _is_refused(self, member: Member) -> bool:
                is_refused = super()._is_refused(member)
                if is_refused:
                    recorder.attempts.setdefault(member, 1)
                return is_refused

            def _rules(self) -> Rules:
                return Rules.of(recorder.release)

            def _have(self, member: Member, tasks: Tasks) -> None:
                if tasks != self._memberships[member].owned:
                    entry = {"t": recorder.now_ms(), "k": "tasks", "m": _name(member)}
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
                recorder.cause = f"heartbeat:{_name(member)}"
                tasks = super().join(member, new, now_ms)
                is_new = member not in recorder.joined
                recorder.joined.add(member)
                recorder.note(list(self.events), member if is_new else None)
                return tasks

            def heartbeat(self, member: Member, owned: Tasks | None, now_ms: int) -> Tasks | None:
                recorder.cause = f"heartbeat:{_name(member)}"
                tasks = super().heartbeat(member, owned, now_ms)
                recorder.note(list(self.events))
                return tasks

            def end_initial_delay(self, now_ms: int) -> None:
                recorder.cause = "timer:initial-rebalance-timeout-group"
                super().end_initial_delay(now_ms)
                recorder.note(list(self.events))

            def remove(self, member: Member) -> None:
                recorder.cause = f"{recorder.removed_by}{_name(member)}"
                super().remove(member)
                recorder.note(list(self.events))

            def _compute(self, now_ms: int) -> None:
                recorder.current = self
                super()._compute(now_ms)

        def make(rules: Rules, assign: Any, *args: Any) -> Recorded:
            def with_targets(members: Mapping[Member, CoordinatedMember]) -> Mapping[Member, Tasks]:
                own = assign(members)
                if recorder.assigns:
                    return own
                target = recorder.targets.get(coordinator.epoch, {})
                return {
                    member: recorder.tasks(target[_name(member)]) if _name(member) in target else NO_TASKS
                    for member in members
                }

            coordinator = Recorded(rules, with_targets, *args)
            recorder.current = coordinator
            return coordinator

        return make  # type: ignore[return-value]
