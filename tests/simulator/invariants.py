"""The invariants of a run, checked after every change."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from assignors.model.assignment import UNASSIGNED
from assignors.model.columns import IntArray
from assignors.model.ids import TopicPartition
from simulator.flows.assigned_copies import AssignedCopies
from simulator.flows.execution import Execution
from simulator.flows.processing import Processing
from simulator.flows.shared_bandwidth import ReadDemands, SharedBandwidth
from simulator.flows.task_states import TaskState
from simulator.world.layout import FloatArray
from simulator.world.world import World

OWNED = (TaskState.ASSIGNED, TaskState.RESTORING, TaskState.RUNNING, TaskState.BLOCKED)
ROUNDING = 1e-9
ROUNDING_BYTES = 1.0

Checks = Iterator[tuple[bool | np.bool_, str]]


def check_execution(execution: Execution) -> None:
    """Check the invariants of the assignment, the task states, the copies, the processing and the bandwidth."""
    for checks in (_of_assignment, _of_task_states, _of_copies):
        for holds, violation in checks(execution):
            assert holds, f"at {execution.now_ms} ms: {violation}"
    for holds, violation in _of_processing(execution.processing):
        assert holds, f"at {execution.now_ms} ms: {violation}"


def _of_assignment(execution: Execution) -> Checks:
    assignment, fleet = execution.assignment, execution.fleet
    owner, standby, thread = assignment.owner, assignment.standby, assignment.thread
    up, running = np.array(fleet.up), fleet.running
    owned = np.flatnonzero(owner != UNASSIGNED)
    on_thread = running[np.arange(len(up)), np.minimum(thread, running.shape[1] - 1)]
    stateful = execution.layout.tasks.stateful
    yield up[owner[owned]].all(), "a client that is down owns a task"
    yield not standby[:, ~up].any(), "a client that is down has a standby task"
    yield not standby[owned, owner[owned]].any(), "a client has a task as active and as standby"
    yield not standby[~stateful].any(), "a stateless task has a standby"
    yield on_thread[assignment.held()].all(), "a task is on a thread that does not run"


def _of_task_states(execution: Execution) -> Checks:
    state, owner = execution.task_states.state, execution.assignment.owner
    is_running = np.isin(state, (TaskState.RUNNING, TaskState.BLOCKED))
    last_owner = np.full(len(owner), UNASSIGNED)
    for transition in execution.task_states.transitions:
        last_owner[transition.tasks] = transition.clients if transition.state in OWNED else UNASSIGNED
    yield (np.isin(state, OWNED) == (owner != UNASSIGNED)).all(), "the state of a task contradicts its assignment"
    yield (state != TaskState.ASSIGNED).all(), "an assigned task neither restores nor runs"
    yield (execution.processed == (state == TaskState.RUNNING)).all(), "only running tasks are processed"
    yield (execution.running == is_running).all(), "a task that has been restored is neither running nor blocked"
    yield (last_owner == owner).all(), "the state history of a task ends on another client than its owner"


def _of_copies(execution: Execution) -> Checks:
    """Check that the copies are those of the assignment, and that their positions and rates are possible."""
    restoration, assignment = execution.restoration, execution.assignment
    stateful, running = execution.layout.tasks.stateful, execution.running
    copies, rates, reads = restoration.copies, restoration.rates, restoration.reads
    held, end, rate = restoration.held_bytes, restoration.end_bytes, restoration.rate
    is_active = (assignment.owner != UNASSIGNED) & stateful
    expected = AssignedCopies.of(np.where(is_active, assignment.owner, UNASSIGNED), assignment.standby)
    is_read = ~(copies.active & running[copies.task])
    caught_up = end[copies.task] - held[copies.task, copies.client] <= ROUNDING_BYTES
    restores = np.isin(copies.client, copies.client[rates.is_restoring])
    cannot_read = rates.is_waiting | rates._is_unreadable
    is_part = 0 <= reads.restored_again_bytes <= reads.restored_bytes + ROUNDING_BYTES
    yield _listed(copies) == _listed(expected), "the assigned copies are not those of the assignment"
    yield (held >= 0).all(), "a copy holds less than nothing"
    yield (held <= end[:, None] + ROUNDING_BYTES).all(), "a copy is ahead of its changelog"
    yield caught_up[~is_read].all(), "a running task lacks a part of its state"
    yield not rate[~copies.active & restores].any(), "a standby reads while its client restores active tasks"
    yield not rate[is_read & cannot_read].any(), "a copy reads that waits or whose changelog has no leader"
    yield not held[~stateful].any(), "a stateless task has a copy"
    yield is_part, "more restored again than at all"
    shares = execution.locations.restore_share[copies.task[is_read]]
    bandwidth = rates._bandwidth
    exceeded = exceeded_limit(bandwidth.shared, bandwidth.index, copies.client[is_read], shares, rate[is_read])
    yield exceeded is None, str(exceeded)


def _listed(copies: AssignedCopies) -> list[tuple[int, int, bool]]:
    return sorted(zip(copies.task.tolist(), copies.client.tolist(), copies.active.tolist(), strict=True))


def _of_processing(processing: Processing) -> Checks:
    running, capacity = processing._running, processing._capacity
    records_per_s = (processing.rate * processing._records_per_s)[running]
    by_thread = np.bincount(processing._thread[running], weights=records_per_s, minlength=len(capacity))
    yield not processing.rate[~running].any(), "a task that does not run is processed"
    yield (processing.backlog_s >= 0).all(), "a task has a negative backlog"
    yield (by_thread <= capacity * (1 + ROUNDING)).all(), "a thread processes more records than it can"


def exceeded_limit(
    shared: SharedBandwidth, index: int, client: IntArray, broker_share: FloatArray, rate: FloatArray
) -> str | None:
    """Return which limit the reads of all applications exceed, None if none.

    `client`, shape (K,): the row of the client of each read of the application at `index`. `broker_share`, shape
    (K, B): the fraction that it reads from each broker. `rate`, shape (K,): its bytes per second.
    """
    demands, granted = list(shared._demands), list(shared._granted)
    demands[index], granted[index] = ReadDemands(client, broker_share, rate), rate
    of_brokers, of_hosts = np.zeros(len(shared.brokers)), np.zeros(len(shared.hosts))
    for application, (reads, rates) in enumerate(zip(demands, granted, strict=True)):
        limits, host = shared._clients[application], shared._host_of[application][reads.client]
        of_clients = np.bincount(reads.client, weights=rates, minlength=len(limits))
        if (of_clients > limits * (1 + ROUNDING)).any():
            return "a client reads faster than it can"
        if shared.limits_brokers:
            of_brokers += rates @ reads.broker_share
        on_host = host >= 0
        of_hosts += np.bincount(host[on_host], weights=rates[on_host], minlength=len(of_hosts))
    if (of_hosts > shared.hosts * (1 + ROUNDING)).any():
        return "a host receives faster than it can"
    if (of_brokers > shared.brokers * (1 + ROUNDING)).any():
        return "a broker sends faster than it can"
    return None


class InvariantChecker:
    """Checks the state of the execution after every change of a run.

    Attributes:
        observations: how often it was called.
        last: the execution that it observes; None before the first observation.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._before_ms = 0
        self._restored_bytes = 0.0
        self.observations = 0
        self.last: Execution | None = None

    def __call__(self, execution: Execution) -> None:
        self.observations += 1
        self.last = execution
        check_execution(execution)
        self._check_leaders(execution)
        assert execution.now_ms >= self._before_ms, "time never goes back"
        assert execution.restoration.reads.restored_bytes >= self._restored_bytes
        self._before_ms = execution.now_ms
        self._restored_bytes = execution.restoration.reads.restored_bytes

    def _check_leaders(self, execution: Execution) -> None:
        """Check that no task is processed, restored or followed by standbys without the leaders that it needs."""
        layout, locations = execution.layout, execution.locations
        topics, acks_all = self._world.cluster.topics, self._world.application.acks_all
        subtopologies = {subtopology.id: subtopology for subtopology in self._world.application.subtopologies}
        row_of = {name: row for row, name in enumerate(layout.partitions)}
        takes_writes = locations.takes_writes if acks_all else locations.has_leader
        for number, task in enumerate(layout.tasks.ids):
            subtopology = subtopologies[task.subtopology]
            partitions = [
                [TopicPartition(name, task.partition) for name in names if task.partition < topics[name].num_partitions]
                for names in (
                    subtopology.source_topics,
                    [store.changelog for store in subtopology.stores if store.changelog],
                )
            ]
            sources, changelogs = ([row_of[name] for name in names] for names in partitions)
            logged = [row for row in changelogs if row not in sources]
            outputs = [
                row_of[TopicPartition(t, p)]
                for t in subtopology.written_topics
                for p in range(topics[t].num_partitions)
            ]
            can_process = all(locations.has_leader[sources]) and all(takes_writes[[*logged, *outputs]])
            if not can_process:
                assert execution.processing.rate[number] == 0, "a task stops without its partitions"
            assert execution.processed[number] == (execution.running[number] and can_process)
            if not all(locations.has_leader[changelogs]):
                copies = execution.restoration.copies.task == number
                assert not execution.restoration.rate[copies].any(), "a changelog without a leader is not read"
