"""Threads open the stores of their new tasks one after another; copies read, and tasks run, only afterwards."""

from __future__ import annotations

import dataclasses

import numpy as np

from assignors.model.assignment import UNASSIGNED
from simulator.flows.assigned_copies import AssignedCopies
from simulator.flows.restoration import RestoreStart
from simulator.world.group_assignment import GroupAssignment
from simulator.world.layout import lay_out
from simulator.world.world import ClientTimes, Store, World
from tests.simulator.world_builders import world

STATELESS, T0, T1, T2 = 0, 12, 13, 14
TIMES = ClientTimes(open_store_ms=100, restore_start_ms=1_000)
NOW = 50_000


class Schedule:
    """Drives a schedule: assigns tasks to the threads of two clients with two threads each."""

    def __init__(self, base: World | None = None, times: ClientTimes = TIMES) -> None:
        base = base or world(2)
        base = dataclasses.replace(base, application=dataclasses.replace(base.application, times=times))
        layout = lay_out(base)
        self.start = RestoreStart(base, layout, np.array([0, 2, 4]))
        self.assignment = GroupAssignment.empty(len(layout.tasks), 2)

    def assign(
        self, owners: dict[int, tuple[int, int]], standbys: dict[int, tuple[int, int]] | None = None, now_ms: int = NOW
    ) -> None:
        """Assign tasks to pairs of client and thread."""
        after = GroupAssignment.empty(len(self.assignment.owner), 2)
        for task, (client, thread) in owners.items():
            after.owner[task] = client
            after.thread[task, client] = thread
        for task, (client, thread) in (standbys or {}).items():
            after.standby[task, client] = True
            after.thread[task, client] = thread
        self.start.assign(self.assignment, after, now_ms)
        self.assignment = after

    def copies(self) -> AssignedCopies:
        owner = self.assignment.owner.copy()
        owner[:T0] = UNASSIGNED
        return AssignedCopies.of(owner, self.assignment.standby)

    def reads_from_ms(self) -> dict[int, int]:
        """Return when each copy begins to read, starts by asking at every moment of change."""
        copies, starts, now_ms = self.copies(), {}, NOW - 1
        while True:
            for index in np.flatnonzero(~self.start.is_waiting(copies, now_ms)).tolist():
                starts.setdefault(int(copies.task[index]), now_ms)
            moment = self.start.next_change_ms(copies, self.assignment.owner, now_ms)
            if moment is None:
                return starts
            now_ms = moment

    def runs_from_ms(self, task: int) -> int:
        return next(now for now in range(NOW, NOW + 10_000, 10) if self.start.may_run(now)[task])


def test_thread_opens_stores_one_after_another() -> None:
    schedule = Schedule()
    schedule.assign({T0: (0, 0), T1: (0, 0)}, {T2: (0, 0)})
    assert schedule.reads_from_ms() == {T0: NOW + 1_100, T1: NOW + 1_200, T2: NOW + 1_300}
    assert schedule.start.opened_at_ms(0, 0) == NOW + 300


def test_threads_open_stores_at_the_same_time() -> None:
    schedule = Schedule()
    schedule.assign({T0: (0, 0), T1: (0, 1), T2: (1, 0)})
    assert set(schedule.reads_from_ms().values()) == {NOW + 1_100}


def test_later_tasks_wait_until_earlier_ones_are_open() -> None:
    schedule = Schedule()
    schedule.assign({T0: (0, 0), T1: (0, 0)})
    schedule.assign({T0: (0, 0), T1: (0, 0), T2: (0, 0)}, now_ms=NOW + 50)
    assert schedule.reads_from_ms()[T2] == NOW + 1_300


def test_tasks_run_once_their_thread_has_opened_all_stores() -> None:
    """`TaskManager.checkStateUpdater` opens all new tasks before it starts the restored and the stateless ones."""
    schedule = Schedule()
    schedule.assign({STATELESS: (0, 0), T0: (0, 0), T1: (0, 0)})
    assert schedule.runs_from_ms(STATELESS) == schedule.runs_from_ms(T0) == NOW + 200


def test_stateless_task_alone_on_its_thread_runs_at_once() -> None:
    schedule = Schedule()
    schedule.assign({STATELESS: (0, 0), T0: (0, 1)})
    assert schedule.runs_from_ms(STATELESS) == NOW


def test_standby_that_becomes_active_keeps_its_stores_open() -> None:
    schedule = Schedule()
    schedule.assign({}, {T0: (0, 0)}, now_ms=0)
    schedule.assign({T0: (0, 0)})
    assert schedule.reads_from_ms() == {T0: NOW + 1_000}
    assert schedule.runs_from_ms(T0) == NOW


def test_tasks_that_stay_are_not_opened_again() -> None:
    schedule = Schedule()
    schedule.assign({T0: (0, 0)}, now_ms=0)
    schedule.assign({T0: (0, 0), T1: (1, 0)})
    assert schedule.reads_from_ms() == {T0: NOW - 1, T1: NOW + 1_100}


def test_task_that_moves_to_another_thread_is_opened_again() -> None:
    schedule = Schedule()
    schedule.assign({}, {T0: (0, 0)}, now_ms=0)
    schedule.assign({}, {T0: (0, 1)})
    assert schedule.reads_from_ms() == {T0: NOW + 1_100}


def test_opening_time_counts_persistent_stores() -> None:
    base = world(2)
    stateless, counted = base.application.subtopologies
    stores = (*counted.stores, Store("more", None), Store("memory", None, persistent=False))
    parts = (stateless, dataclasses.replace(counted, stores=stores))
    schedule = Schedule(
        dataclasses.replace(base, application=dataclasses.replace(base.application, subtopologies=parts))
    )
    schedule.assign({T0: (0, 0)})
    assert schedule.reads_from_ms() == {T0: NOW + 1_200}


def test_client_that_starts_again_opens_at_once() -> None:
    schedule = Schedule(times=ClientTimes(open_store_ms=60_000))
    schedule.assign({T0: (0, 0)})
    schedule.assign({}, now_ms=NOW + 10)
    schedule.start.start_client(0)
    schedule.assign({T1: (0, 0)}, now_ms=NOW + 20)
    assert schedule.start.opened_at_ms(0, 0) == NOW + 60_020


def test_scaled_times_are_exact() -> None:
    assert ClientTimes(1, 3, 10, 7, 2.0).scaled(0.5) == ClientTimes(0, 2, 5, 4, 1.0)
