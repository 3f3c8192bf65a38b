"""What must hold at every moment of a run, whatever happens in it."""

from __future__ import annotations

import numpy as np

from assignors.model.assignment import UNASSIGNED
from assignors.model.ids import TopicPartition
from simulator.flows.execution import Execution
from simulator.flows.task_states import TaskState
from simulator.world.world import World

OWNED = (TaskState.ASSIGNED, TaskState.RESTORING, TaskState.RUNNING, TaskState.BLOCKED)
ROUNDING_BYTES = 1.0


class InvariantChecker:
    """Is shown the execution of a run after each change of it, and checks it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._racks = {client.name: client.rack for client in world.clients}
        self._threads = np.array([client.threads for client in world.clients])
        self._bandwidth = np.array([client.restore_bytes_per_s for client in world.clients], dtype=np.float64)
        self._limits = np.array([b.restore_bytes_per_s or np.inf for b in world.cluster.brokers], dtype=np.float64)
        self._before_ms = 0
        self._restored_bytes = 0.0
        self.looks = 0
        self.last: Execution | None = None

    def __call__(self, execution: Execution) -> None:
        self.looks += 1
        self.last = execution
        self._check_holdings(execution)
        self._check_lives(execution)
        self._check_copies(execution)
        self._check_reading(execution)
        self._check_processing(execution)
        self._check_leaders(execution)
        assert execution._now_ms >= self._before_ms, "time goes on"
        self._before_ms = execution._now_ms

    def _check_holdings(self, execution: Execution) -> None:
        """Only clients that are up have anything, in one role, on a thread that they have."""
        owner, standby, thread = execution.assignment.owner, execution.assignment.standby, execution.assignment.thread
        up = np.array(execution._fleet.up)
        owned = np.flatnonzero(owner != UNASSIGNED)
        assert up[owner[owned]].all(), "a client that is down runs nothing"
        assert not standby[:, ~up].any(), "a client that is down holds nothing open"
        assert not standby[owned, owner[owned]].any(), "nobody stands by for what it runs itself"
        assert not standby[~execution._layout.tasks.stateful].any(), "what has no state has no standby"
        held = standby.copy()
        held[owned, owner[owned]] = True
        on = thread[held]
        assert ((on >= 0) & (on < np.broadcast_to(self._threads, held.shape)[held])).all()

    def _check_lives(self, execution: Execution) -> None:
        state, owner = execution.lives.state, execution.assignment.owner
        assert (np.isin(state, OWNED) == (owner != UNASSIGNED)).all()
        assert (state != TaskState.ASSIGNED).all(), "what was assigned restores or runs"
        assert (execution.processed == (state == TaskState.RUNNING)).all()
        assert (execution.running == np.isin(state, (TaskState.RUNNING, TaskState.BLOCKED))).all()
        seen = np.full(len(owner), UNASSIGNED)
        for steps in execution.lives.steps:
            seen[steps.tasks] = np.where(steps.state in OWNED, steps.clients, UNASSIGNED)
        assert (seen == owner).all(), "the steps that a life took lead to where the task is"

    def _check_copies(self, execution: Execution) -> None:
        """Copies are those that the holdings say, and none is ahead of its changelog."""
        restoration, assignment = execution.restoration, execution.assignment
        stateful = execution._layout.tasks.stateful
        copies = restoration.copies
        runs = {(t, int(c), True) for t, c in enumerate(assignment.owner) if c != UNASSIGNED and stateful[t]}
        stand = {(int(t), int(c), False) for t, c in np.argwhere(assignment.standby)}
        listed = list(zip(copies.task.tolist(), copies.client.tolist(), copies.active.tolist(), strict=True))
        assert sorted(listed) == sorted(runs | stand)
        held, end = restoration._held, restoration._end
        assert (held >= 0).all()
        assert (held <= end[:, None] + ROUNDING_BYTES).all()
        assert not held[~stateful].any(), "what has no state has no copy"
        level = end[copies.task] - held[copies.task, copies.client] <= ROUNDING_BYTES
        runs_here = copies.active & execution.running[copies.task]
        assert level[runs_here].all(), "what runs has its state"
        assert restoration.restored_bytes >= self._restored_bytes
        assert 0 <= restoration.restored_again_bytes <= restoration.restored_bytes + ROUNDING_BYTES
        self._restored_bytes = restoration.restored_bytes

    def _check_reading(self, execution: Execution) -> None:
        """Nobody reads more than it can, nor sends more; standbys wait for actives that restore."""
        restoration = execution.restoration
        copies, rate = restoration.copies, restoration._rate
        reads = ~(copies.active & execution.running[copies.task])
        by_client = np.bincount(copies.client[reads], weights=rate[reads], minlength=len(self._bandwidth))
        assert (by_client <= self._bandwidth * (1 + 1e-9)).all()
        sent = rate[reads] @ execution.locations.restore_share[copies.task[reads]]
        assert (sent <= self._limits * (1 + 1e-9)).all()
        restoring = np.unique(copies.client[copies.active & reads])
        waits = ~copies.active & np.isin(copies.client, restoring)
        assert not rate[waits].any(), "standbys wait until the actives of their client are restored"

    def _check_processing(self, execution: Execution) -> None:
        """Only what runs is processed, and no faster than its thread can."""
        processing, fleet = execution.processing, execution._fleet
        running, owner = execution.processed, execution.assignment.owner
        assert not processing.rate[~running].any()
        assert (processing.backlog_s >= 0).all()
        threads = fleet.first_thread[owner] + execution.assignment.owner_thread()
        work = (processing.rate * execution._layout.input_records_per_s)[running]
        by_thread = np.bincount(threads[running], weights=work, minlength=int(fleet.first_thread[-1]))
        can = np.concatenate([np.full(c.threads, c.records_per_s or np.inf) for c in self._world.clients])
        assert (by_thread <= can * (1 + 1e-9)).all()

    def _check_leaders(self, execution: Execution) -> None:
        """Without a leader, no partition is processed, restored from or read by standbys; nor written to in vain."""
        layout, locations = execution._layout, execution.locations
        topics, acks_all = self._world.cluster.topics, self._world.application.acks_all
        parts = {part.id: part for part in self._world.application.subtopologies}
        row_of = {name: row for row, name in enumerate(layout.partitions)}
        takes_writes = locations.takes_writes if acks_all else locations.has_leader
        for number, task in enumerate(layout.tasks.ids):
            part = parts[task.subtopology]
            own = [
                [TopicPartition(name, task.partition) for name in names if task.partition < topics[name].num_partitions]
                for names in (part.source_topics, [store.changelog for store in part.stores if store.changelog])
            ]
            sources, changelogs = ([row_of[name] for name in names] for names in own)
            logged = [row for row in changelogs if row not in sources]
            outputs = [
                row_of[TopicPartition(t, p)] for t in part.written_topics for p in range(topics[t].num_partitions)
            ]
            works = all(locations.has_leader[sources]) and all(takes_writes[[*logged, *outputs]])
            if not works:
                assert execution.processing.rate[number] == 0, "a task stops without what it reads and writes"
            assert execution.processed[number] == (execution.running[number] and works)
            if not all(locations.has_leader[changelogs]):
                reads = execution.restoration.copies.task == number
                assert not execution.restoration._rate[reads].any(), "a changelog without a leader is not read"
