"""Polls of a simulated group: what a watch would see if a real group did exactly what the simulator predicts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from assignors.model.ids import TaskId, TopicPartition
from assignors.model.state import LATEST_OFFSET, NO_LAG
from scenarios.kafka.observation.observation import (
    ClientRates,
    GroupKind,
    GroupPhase,
    GroupSnapshot,
    Observation,
    ObservedBroker,
    ObservedProcess,
    ObservedSubtopology,
    ObservedThread,
    ObservedTopic,
    SnapshotMember,
    TaskProgress,
)
from scenarios.load import Scenario, loads
from scenarios.run import run
from scenarios.watch.monitor import GroupMonitor
from scenarios.watch.watch_events import WatchEvent
from scenarios.watch.watched_group import WatchedApplication, WatchedGroup
from simulator.flows.task_states import TaskState
from simulator.processes.run_options import RunOptions
from simulator.results.trace import CapturedRound, Round, Trace
from simulator.world.layout import Layout
from simulator.world.world import World

COMMIT_MS = 30_000
BEYOND = 1_000
"""By how much a changelog is longer than any lag, if every client has a copy."""

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SimulatedWatch:
    """A watched run.

    Attributes:
        monitor: the monitor after the last poll.
        events: all events.
        snapshots: all polls.
    """

    monitor: GroupMonitor
    events: list[WatchEvent]
    snapshots: list[GroupSnapshot]

    def alarms(self) -> list[str]:
        return [f"{event.kind} {event.level}: {event.message}" for event in self.events if event.level == "alarm"]

    def of_kind(self, kind: str) -> list[WatchEvent]:
        return [event for event in self.events if event.kind == kind]


def simulate_document(document: Document, assignor: str | None = None) -> tuple[Scenario, Trace]:
    scenario = loads(json.dumps(document), "simulated")
    return scenario, run(scenario, assignor or scenario.assignors[0], options=RunOptions(capture=True))


def watch_trace(scenario: Scenario, trace: Trace, interval_ms: int) -> SimulatedWatch:
    """Feed a monitor with the polls of a run."""
    return watch_polls(SimulatedPolls(scenario, trace), trace, interval_ms)


def watch_polls(polls: SimulatedPolls, trace: Trace, interval_ms: int) -> SimulatedWatch:
    monitor = GroupMonitor(trace.world.application.id)
    events: list[WatchEvent] = []
    snapshots: list[GroupSnapshot] = []
    observed: object = None
    for at_ms in range(interval_ms, trace.end_ms, interval_ms):
        snapshot = polls.snapshot(at_ms)
        watched = None
        is_complete = snapshot.phase is GroupPhase.STABLE and snapshot.next_rebalance_at_ms != 0
        if is_complete and snapshot.rebalance != observed:
            observed = snapshot.rebalance
            watched = polls.watched(snapshot)
        events += monitor.observe(snapshot, watched)
        snapshots.append(snapshot)
    return SimulatedWatch(monitor, events, snapshots)


class SimulatedPolls:
    """Snapshots of the group of a run at any time."""

    kind = GroupKind.APPLICATION

    def __init__(self, scenario: Scenario, trace: Trace) -> None:
        self._scenario = scenario
        self._trace = trace
        self._layout: Layout = trace.layout
        self._rounds = list(trace.captured_rounds)
        self._protocol = str(trace.world.application.group_configs.protocol)
        self._is_coordinated = self._protocol != "classic"
        self._commits = _commit_times(trace)
        self._ends = [self._changelog_ends(captured) for captured in self._rounds]

    def snapshot(self, at_ms: int) -> GroupSnapshot:
        """Return the poll at a time."""
        world = self._trace.world
        protocol = self._protocol
        progress = self._progress(at_ms)
        past = [number for number, captured in enumerate(self._rounds) if captured.round.at_ms <= at_ms]
        if not past:
            return GroupSnapshot(at_ms, world.application.id, protocol, "Empty", GroupPhase.EMPTY)
        number = past[-1]
        captured = self._rounds[number]
        requested_ms = (
            self._rounds[number + 1].round.requested_at_ms if number + 1 < len(self._rounds) else self._trace.end_ms
        )
        members = tuple(self._members(number, at_ms))
        ids = tuple(sorted(member.id for member in members))
        if self._is_coordinated:
            is_done = captured.round.reconciled_at_ms is not None and captured.round.reconciled_at_ms <= at_ms
            phase = GroupPhase.STABLE if is_done else GroupPhase.REBALANCING
            state = "Stable" if is_done else "Reconciling"
        elif requested_ms <= at_ms:
            return GroupSnapshot(
                at_ms,
                world.application.id,
                protocol,
                "PreparingRebalance",
                GroupPhase.REBALANCING,
                member_ids=ids,
                progress=progress,
            )
        else:
            phase, state = GroupPhase.STABLE, "Stable"
        return GroupSnapshot(
            at_ms,
            world.application.id,
            protocol,
            state,
            phase,
            epoch=captured.round.number,
            members=members,
            member_ids=ids,
            next_rebalance_at_ms=None if self._is_coordinated else self._next_rebalance_at_ms(captured.round),
            changelog_ends=self._ends[number],
            progress=progress,
            kind=self.kind,
        )

    def watched(self, snapshot: GroupSnapshot) -> WatchedGroup:
        """Return what an import would observe with a snapshot."""
        return WatchedApplication.of(self.observation(snapshot), self._scenario.assignors[0].info.name)

    @staticmethod
    def _next_rebalance_at_ms(round_: Round) -> int | None:
        if len(round_.withheld):
            return 0
        return None if round_.followup_delay_ms is None else round_.at_ms + round_.followup_delay_ms

    def observation(self, snapshot: GroupSnapshot) -> Observation:
        """Return what an import would observe with a snapshot."""
        world = self._trace.world
        next_ms = snapshot.next_rebalance_at_ms
        names = {member.process_id: member.client_id for member in snapshot.members}
        by_name = {client.name: client for client in world.clients}
        processes = []
        for process in sorted(names):
            members = [member for member in snapshot.members if member.process_id == process]
            offsets = {task: offset for member in members for task, offset in member.offset_sums.items()}
            processes.append(
                ObservedProcess(
                    process,
                    names[process],
                    members[0].rack,
                    members[0].tags,
                    tuple(ObservedThread(member.id, member.active, member.standby) for member in members),
                    offsets or None,
                    announces_rack=members[0].rack is not None,
                )
            )
        configs = json.loads(self._scenario.text)["application"].get("configs", {})
        return Observation(
            source="a simulation",
            brokers=tuple(ObservedBroker(broker.id, broker.rack) for broker in world.cluster.brokers),
            topics=observed_topics(world),
            application_id=world.application.id,
            protocol=snapshot.protocol,
            subtopologies=tuple(
                ObservedSubtopology(
                    part.id,
                    tuple(sorted(part.source_topics)),
                    {store.name: store.changelog for store in part.stores if store.changelog is not None},
                )
                for part in world.application.subtopologies
            ),
            processes=tuple(processes),
            configs={key: str(value) for key, value in configs.items() if key != "group.protocol"},
            listed_members=tuple(member.id for member in snapshot.members) if self._is_coordinated else (),
            next_rebalance_ms=None if not next_ms else max(0, next_ms - snapshot.at_ms),
            client_rates={
                process: ClientRates(restore_bytes_per_s=by_name[name].restore_bytes_per_s)
                for process, name in names.items()
            },
        )

    def _members(self, number: int, at_ms: int) -> Iterator[SnapshotMember]:
        """Yield one member per thread; the first one reports everything that its process has."""
        captured, ends = self._rounds[number], self._ends[number]
        state, columns, round_ = captured.state, captured.columns, captured.round
        ids, world = state.tasks.ids, self._trace.world
        standby_of = {(int(task), int(client)) for task, client in round_.standby}
        for column, row in enumerate(round_.members.tolist()):
            client = world.clients[row]
            process = str(state.clients.ids[column])
            rack = int(state.clients.rack[column])
            threads = int(state.clients.threads[column])
            owned, offsets = self._reports(captured, column, ends)
            for thread in range(threads):
                on_thread = np.zeros(len(ids), dtype=np.bool_)
                if columns.thread is not None:
                    on_thread = columns.thread[:, column] == thread
                is_first = thread == 0
                if self._is_coordinated:
                    active = target = self._names(ids, (columns.active == column) & on_thread)
                    standby = target_standby = self._names(ids, columns.standby[:, column] & on_thread)
                else:
                    last = thread == threads - 1
                    on = round_.owner_thread
                    mine = (on == thread) | (last & (on >= threads))
                    active = target = self._names(ids, (round_.owner == row) & mine)
                    copies = [ids[task] for task in range(len(ids)) if is_first and (task, row) in standby_of]
                    standby = target_standby = tuple(map(str, sorted(copies)))
                yield SnapshotMember(
                    id=f"{process}-StreamThread-{thread + 1}",
                    client_id=client.name,
                    process_id=process,
                    rack=None if rack < 0 else state.partitions.racks[rack],
                    tags=dict(client.tags),
                    instance_id=None,
                    active=active,
                    standby=standby,
                    target_active=target,
                    target_standby=target_standby,
                    owned=owned if is_first and not self._is_coordinated else (),
                    offset_sums=offsets if is_first and not self._is_coordinated else {},
                    joined=str(round_.number),
                )

    def _reports(
        self, captured: CapturedRound, column: int, ends: Mapping[str, int]
    ) -> tuple[tuple[TopicPartition, ...], dict[str, int]]:
        """Return the partitions that a client owned when it joined, and the offset sums that it reported."""
        state = captured.state
        active = set(state.previous_active[column])
        owned = tuple(
            state.partitions.names[partition]
            for task in sorted(active)
            for partition in state.tasks.source.row(state.row_of_task[task]).tolist()
        )
        offsets: dict[str, int] = {}
        for task in sorted({*active, *state.previous_standby[column]}):
            lag = int(state.lags[state.row_of_task[task], column])
            if lag in (LATEST_OFFSET,):
                offsets[str(task)] = LATEST_OFFSET
            elif lag != NO_LAG:
                offsets[str(task)] = ends[str(task)] - lag if lag >= 0 else lag
        return owned, offsets

    @staticmethod
    def _changelog_ends(captured: CapturedRound) -> dict[str, int]:
        """Return end offsets with which the lags are those of the state: a client without a copy has the whole lag."""
        state, ends = captured.state, {}
        for row in np.flatnonzero(state.tasks.stateful).tolist():
            task = state.tasks.ids[row]
            without = [
                column
                for column in range(len(state.clients))
                if task not in state.previous_active[column] and task not in state.previous_standby[column]
            ]
            lags = state.lags[row]
            whole = int(lags[without].max(initial=-1))
            ends[str(task)] = whole if without else max(0, int(lags.max(initial=0))) + BEYOND
        return ends

    def _progress(self, at_ms: int) -> dict[str, TaskProgress]:
        """Return one record per millisecond, committed at regular times while a task runs."""
        return {
            str(task): TaskProgress(max((time for time in times if time <= at_ms), default=0), at_ms)
            for task, times in zip(self._layout.tasks.ids, self._commits, strict=True)
        }

    @staticmethod
    def _names(ids: tuple[TaskId, ...], mask: Any) -> tuple[str, ...]:
        return tuple(str(ids[row]) for row in np.flatnonzero(mask).tolist())


def observed_topics(world: World) -> tuple[ObservedTopic, ...]:
    return tuple(
        ObservedTopic(
            topic.name,
            topic.replicas,
            topic.leaders,
            topic.size_bytes,
            tuple(0 for _ in topic.size_bytes),
            tuple(size // topic.record_bytes for size in topic.size_bytes),
            tuple(rate / topic.record_bytes for rate in topic.bytes_per_s),
            topic.topic_id,
        )
        for topic in sorted(world.cluster.topics.values(), key=lambda topic: topic.name)
    )


def _commit_times(trace: Trace) -> list[list[int]]:
    """Return when each task commits: every commit interval while it runs, and when its owner gives it back."""
    times: list[list[int]] = [[] for _ in trace.layout.tasks.ids]
    running: dict[int, int] = {}
    for transition in trace.task_states.transitions:
        for task in transition.tasks.tolist():
            if transition.state is TaskState.RUNNING:
                running.setdefault(task, transition.at_ms)
            elif task in running:
                since_ms = running.pop(task)
                times[task] += range(since_ms + COMMIT_MS, transition.at_ms, COMMIT_MS)
                if transition.state is TaskState.REVOKED:
                    times[task].append(transition.at_ms)
    for task, since_ms in running.items():
        times[task] += range(since_ms + COMMIT_MS, trace.end_ms + 1, COMMIT_MS)
    return times
