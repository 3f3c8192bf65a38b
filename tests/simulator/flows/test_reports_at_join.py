"""Offsets that members report when they join, against a table in which all of them are recorded at once."""

from __future__ import annotations

import numpy as np

from assignors.model.columns import cells
from simulator.world.changes import Disk
from simulator.world.group_assignment import GroupAssignment
from tests.simulator.flows.test_restoration import RestorationDriver
from tests.simulator.world_builders import world

NUM_CLIENTS, NUM_THREADS = 3, 2


class RecordedReports:
    """The positions of all copies of a client are recorded when the first of its threads reports."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.driver = RestorationDriver(world(NUM_CLIENTS))
        self.driver.update_rates()
        self.restoration = self.driver.restoration
        self.stateful = self.driver.layout.tasks.stateful
        self.positions = np.full(self.restoration.held_bytes.shape, np.inf)
        self.assignment = GroupAssignment.empty(len(self.stateful), NUM_CLIENTS)
        self.reported: set[int] = set()
        self.is_any_expired_after_report = False

    def assign(self) -> None:
        num_tasks = len(self.stateful)
        owner = self.rng.integers(-1, NUM_CLIENTS, num_tasks)
        standby = self.rng.random((num_tasks, NUM_CLIENTS)) < 0.3
        standby[np.arange(num_tasks), owner] = False
        standby[~self.stateful] = False
        thread = self.rng.integers(0, NUM_THREADS, standby.shape)
        self.assignment = GroupAssignment(owner, standby, thread)
        none = np.zeros(0, dtype=np.int64)
        self.driver.owner = owner
        self.restoration.assign(owner, cells(standby), (none, none), self.driver.now_ms)
        self.driver.update_rates()
        self.reported.clear()

    def stop(self) -> None:
        client = int(self.rng.integers(NUM_CLIENTS))
        self.assignment = self.assignment.without(client)
        self.driver.stop(client, Disk.LOST if self.rng.random() < 0.5 else Disk.KEPT)
        self.restoration.start_client(client, self.driver.now_ms)
        self.reported.clear()

    def join(self) -> None:
        every = [(client, thread) for client in range(NUM_CLIENTS) for thread in range(NUM_THREADS)]
        threads = [every[place] for place in self.rng.permutation(len(every))[: self.rng.integers(1, 4)]]
        for client, thread in threads:
            is_held = self.assignment.held()[:, client] & self.stateful
            is_reported = is_held & (self.assignment.thread[:, client] == thread)
            if client not in self.reported:
                is_reported |= ~is_held
            self.reported.add(client)
            self.positions[is_reported, client] = self.restoration.held_bytes[is_reported, client]
        restoration = self.restoration
        restoration.join_reports.report(self.assignment, restoration.copies, [threads], [0], restoration.held[None])

    def expire(self) -> None:
        before = self.restoration.held_bytes.copy()
        self.restoration.delete_expired(int(self.rng.integers(0, 40_000)), self.driver.now_ms)
        expired = (before > 0) & (self.restoration.held_bytes == 0)
        self.is_any_expired_after_report |= bool(expired[:, list(self.reported)].any())
        self.reported.clear()

    def end_rebalance(self) -> None:
        clients = np.flatnonzero(self.rng.random(NUM_CLIENTS) < 0.7)
        self.restoration.record_reports(clients)
        self.positions[:, clients] = np.inf
        self.reported.clear()

    def check_copies_on_disk(self) -> None:
        """Compare the copies that are remembered between changes with those that are there."""
        restoration, everyone = self.restoration, np.arange(NUM_CLIENTS)
        expected = (restoration.held_bytes > 0) & self.stateful[:, None]
        expected[restoration.copies.task, restoration.copies.client] = True
        assert (restoration.holds_copy(everyone) == expected).all()
        assert (restoration.holds_copy(everyone[::-1]) == expected[:, ::-1]).all()
        assert [column.tolist() for column in restoration.copies_on_disk()] == [
            column.tolist() for column in np.nonzero(expected)
        ]

    def expected_lags(self) -> np.ndarray:
        end, record = self.restoration.end_bytes[:, None], self.driver.layout.record_bytes[:, None]
        held = np.minimum(self.restoration.held_bytes, self.positions)
        return np.floor(np.maximum(end - held, 0) / record + 1e-6)[self.stateful]


def test_lags_are_those_of_the_recorded_positions() -> None:
    expired_after_reports = 0
    for seed in range(15):
        reports = RecordedReports(seed)
        nowhere = np.zeros(len(reports.stateful), dtype=np.bool_)
        for _ in range(80):
            step = reports.rng.choice(["assign", "stop", "join", "join", "join", "expire", "end_rebalance"])
            getattr(reports, step)()
            reports.driver.advance(float(reports.rng.choice([0.0, 5.0, 20.0])))
            lags = reports.restoration.lags(np.arange(NUM_CLIENTS), nowhere)[reports.stateful]
            assert (lags == reports.expected_lags()).all(), step
            reports.check_copies_on_disk()
        expired_after_reports += reports.is_any_expired_after_report
    assert expired_after_reports > 5
