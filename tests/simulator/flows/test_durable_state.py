"""What a killed process finds on its disk, compared with a simulation commit by commit and flush by flush."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from simulator.flows.assigned_copies import AssignedCopies
from simulator.flows.durable_state import CHECKPOINT_RECORDS, DurableState
from simulator.world.changes import Disk
from simulator.world.disturbances import Crash
from simulator.world.group_configs import OffsetStorage, StateConfigs
from simulator.world.layout import lay_out
from simulator.world.world import WRITE_BUFFER_BYTES, Store, Subtopology, World
from tests.simulator.small_world_runs import run
from tests.simulator.world_builders import HOUR, MINUTE, topic, with_configs, world

RECORD_BYTES = 1_000
BUFFER = 16_000_000
STORES = OffsetStorage.STORES
OLD_FILE = OffsetStorage.CHECKPOINT_FILE
NEW_FILE = OffsetStorage.CHECKPOINT_FILE_WITHOUT_LEFTOVER
TASK, CLIENT = np.array([0]), np.array([1])
COPY = AssignedCopies(TASK, CLIENT, np.array([True]))


def one_task(*changelog_mb: int, persistent: tuple[bool, ...] = ()) -> World:
    """Return a world with one stateful task, whose stores have changelogs of the given sizes."""
    topics = [topic("in", 1, 1, rate=1_000)]
    topics += [topic(f"log-{i}", 1, 1, size=size * 1_000_000) for i, size in enumerate(changelog_mb)]
    kinds = persistent or (True,) * len(changelog_mb)
    stores = tuple(Store(f"s{i}", f"log-{i}", kind, BUFFER) for i, kind in enumerate(kinds))
    base = world(2)
    return dataclasses.replace(
        base,
        cluster=dataclasses.replace(base.cluster, topics={log.name: log for log in topics}),
        application=dataclasses.replace(base.application, subtopologies=(Subtopology(0, ("in",), stores),)),
    )


class DiskDriver:
    """One open copy whose position grows at given rates."""

    def __init__(
        self,
        storage: OffsetStorage,
        exactly_once: bool,
        commit_ms: int,
        base: World | None = None,
        max_uncommitted_bytes: int | None = None,
    ) -> None:
        configs = StateConfigs(
            exactly_once, commit_ms, storage, max_uncommitted_bytes is not None, max_uncommitted_bytes or 0
        )
        self.durable_state = DurableState(lay_out(base or one_task(100)), configs, num_clients=2)
        self._positions = np.zeros(1)
        self._rate = np.zeros(1)

    @property
    def position(self) -> float:
        return float(self._positions[0])

    def open(self, position: float = 0.0) -> None:
        self._positions = np.array([position])
        self.durable_state.open(TASK, CLIENT, self._positions)

    def assume_running(self, opened: float, position: float, *, is_active: bool) -> None:
        self._positions = np.array([position])
        self.durable_state.assume_running(TASK, CLIENT, (np.array([opened]), self._positions), np.array([is_active]))

    def write(self, seconds: float, bytes_per_s: float) -> None:
        """Let the copy grow in two steps, with the same array of rates as long as the rate is the same."""
        if bytes_per_s != self._rate[0]:
            self._rate = np.array([bytes_per_s])
        first_s = round(seconds * 1000) // 2 / 1000
        for step_s in (first_s, seconds - first_s):
            if step_s > 0:
                after = self._positions + step_s * self._rate
                self.durable_state.advance(step_s, COPY, (self._positions, after), self._rate)
                self._positions = after

    def complete_restoration(self) -> None:
        self.durable_state.complete_restoration(TASK, CLIENT, np.array([self.position]))

    def is_reported(self) -> bool:
        return bool(self.durable_state.is_reported(TASK, CLIENT)[0])

    def surviving_bytes(self) -> float:
        return float(self.durable_state.surviving_bytes(TASK, CLIENT)[0])


class ReferenceDisk:
    """The disk of a copy with one store, event by event, under at-least-once."""

    def __init__(self, storage: OffsetStorage, commit_ms: int, position: float) -> None:
        self.storage, self.commit_ms, self.now_ms = storage, commit_ms, 0
        self.position = self.opened = self.offset = self.durable = position
        self.snapshot = 0.0
        self.next_flush = position + BUFFER

    def write(self, span_ms: int, bytes_per_s: float) -> None:
        start, per_ms, end_ms = self.position, bytes_per_s / 1000, self.now_ms + span_ms
        events = [
            (float(at_ms), "commit") for at_ms in range(self.now_ms + 1, end_ms + 1) if at_ms % self.commit_ms == 0
        ]
        flush = self.next_flush
        while per_ms > 0 and flush <= start + per_ms * span_ms:
            events.append((self.now_ms + (flush - start) / per_ms, "flush"))
            flush += BUFFER
        for at_ms, event in sorted(events):
            position = start + per_ms * (at_ms - self.now_ms)
            if event == "flush":
                self.next_flush += BUFFER
                if self.storage is STORES:
                    self.durable = self.offset
            elif self.storage is STORES:
                self.offset = position
            elif position - self.snapshot > CHECKPOINT_RECORDS * RECORD_BYTES:
                self.snapshot = self.durable = position
        self.now_ms, self.position = end_ms, start + per_ms * span_ms


RATES = [0.0, 1_000.7, 33_333.3, 1_000_003.7, 19_999_999.1]
"""No rate reaches a threshold exactly at a commit, where rounding would decide."""


@given(
    st.lists(st.tuples(st.integers(1, 100_000), st.sampled_from(RATES)), max_size=12),
    st.sampled_from([STORES, OLD_FILE]),
    st.sampled_from([100, 5_000, 30_000]),
    st.floats(0, 1e8),
)
def test_at_least_once_keeps_what_was_committed_and_flushed(
    written: list[tuple[int, float]], storage: OffsetStorage, commit_ms: int, position: float
) -> None:
    driver = DiskDriver(storage, exactly_once=False, commit_ms=commit_ms)
    reference = ReferenceDisk(storage, commit_ms, position)
    driver.open(position)
    for span_ms, rate in written:
        driver.write(span_ms / 1000, rate)
        reference.write(span_ms, rate)
        assert driver.surviving_bytes() == pytest.approx(reference.durable, rel=1e-9, abs=0.01)


@given(
    st.lists(st.tuples(st.integers(1, 100_000), st.sampled_from(RATES)), max_size=6),
    st.lists(st.tuples(st.integers(1, 100_000), st.sampled_from(RATES)), max_size=12),
    st.sampled_from([100, 5_000, 30_000]),
    st.sampled_from([0, 1_000_003, 64_000_007]),
    st.floats(0, 1e8),
    st.booleans(),
)
def test_transactional_store_keeps_the_commits_that_were_flushed(
    restored: list[tuple[int, float]],
    written: list[tuple[int, float]],
    commit_ms: int,
    limit: int,
    position: float,
    exactly_once: bool,
) -> None:
    driver = DiskDriver(STORES, exactly_once, commit_ms, max_uncommitted_bytes=limit)
    reference = ReferenceDisk(STORES, commit_ms, position)
    driver.open(position)
    for span_ms, rate in restored:  # Not in transactions.
        driver.write(span_ms / 1000, rate)
        reference.write(span_ms, rate)
        assert driver.surviving_bytes() == pytest.approx(reference.durable, rel=1e-9, abs=0.01)
    driver.complete_restoration()
    now_ms, position, durable = reference.now_ms, reference.position, reference.durable
    committed, memtable = position, reference.next_flush - BUFFER
    for span_ms, rate in written:
        driver.write(span_ms / 1000, rate)
        per_ms = rate / 1000
        every_ms = min(float(commit_ms), max(limit / per_ms, 1.0)) if limit and per_ms else float(commit_ms)
        number = math.floor(now_ms / every_ms) + 1
        while number * every_ms <= now_ms + span_ms:
            if committed - memtable >= BUFFER:
                durable = memtable = committed
            committed = position + per_ms * (number * every_ms - now_ms)
            number += 1
        now_ms, position = now_ms + span_ms, position + per_ms * span_ms
        assert driver.surviving_bytes() == pytest.approx(durable, rel=1e-9, abs=0.01)
        assert driver.is_reported()


@given(st.floats(0, 5e7), st.floats(0, 5e7), st.booleans(), st.booleans(), st.sampled_from([0.0, 1e5, 1e6]))
def test_open_copy_keeps_what_was_on_disk_at_its_opening_and_full_memtables(
    opened: float, written: float, exactly_once: bool, is_active: bool, more: float
) -> None:
    """Under exactly-once, a store that was flushed while open is wiped."""
    driver = DiskDriver(STORES, exactly_once, commit_ms=100)
    driver.assume_running(opened, opened + written, is_active=is_active)
    # Rounding decides whether a memtable is just full.
    assume(all(0.01 < filled % 1 < 0.99 for filled in (written / BUFFER, written / BUFFER + 1.5)))
    flushes = int(written // BUFFER)
    kept = 0.0 if exactly_once and flushes else opened + flushes * BUFFER
    assert driver.surviving_bytes() == pytest.approx(kept, abs=1)
    driver.write(BUFFER / max(more, 1e5) * 1.5, more)
    total = written + (1.5 * BUFFER if more else 0.0)
    flushes = int(total // BUFFER)
    kept = 0.0 if exactly_once and flushes else opened + flushes * BUFFER
    assert driver.surviving_bytes() == pytest.approx(kept, abs=more * 0.11 + 1)


@pytest.mark.parametrize(
    ("storage", "survives"),
    [(STORES, 0), (NEW_FILE, 0), (OLD_FILE, 40_000_000)],
)
def test_exactly_once_wipes_a_running_task(storage: OffsetStorage, survives: int) -> None:
    """Before 4.2.2, the checkpoint of the end of restoration stays (KAFKA-20685)."""
    driver = DiskDriver(storage, exactly_once=True, commit_ms=100)
    driver.open(0)
    driver.write(10, 4_000_000)
    driver.complete_restoration()
    driver.write(100, 1_000_000)
    assert driver.surviving_bytes() == survives


def test_exactly_once_keeps_a_store_that_was_not_flushed_while_open() -> None:
    driver = DiskDriver(STORES, exactly_once=True, commit_ms=100)
    driver.open(50_000_000)
    driver.write(10, 1_000_000)
    assert driver.surviving_bytes() == 50_000_000
    driver.write(10, 1_000_000)
    assert driver.surviving_bytes() == 0


def test_exactly_once_standby_has_a_checkpoint_file() -> None:
    driver = DiskDriver(OLD_FILE, exactly_once=True, commit_ms=1_000)
    driver.open(30_000_000)
    assert driver.surviving_bytes() == 0
    driver.write(2, 1_000_000)
    assert driver.surviving_bytes() == 31_000_000


@pytest.mark.parametrize(
    ("storage", "exactly_once", "reported"),
    [(STORES, False, True), (STORES, True, False), (OLD_FILE, False, False), (OLD_FILE, True, False)],
)
def test_small_standby_is_reported_with_offsets_in_stores_only(
    storage: OffsetStorage, exactly_once: bool, reported: bool
) -> None:
    driver = DiskDriver(storage, exactly_once, commit_ms=100)
    driver.open(0)
    driver.write(60, 100_000)
    assert driver.surviving_bytes() == 0
    assert driver.is_reported() is reported


def test_small_active_task_has_a_checkpoint_file_since_its_restoration() -> None:
    driver = DiskDriver(OLD_FILE, exactly_once=False, commit_ms=100)
    driver.open(0)
    driver.complete_restoration()
    driver.write(60, 100_000)
    assert driver.surviving_bytes() == 0
    assert driver.is_reported()


def test_each_store_loses_its_own_memtable() -> None:
    driver = DiskDriver(STORES, exactly_once=False, commit_ms=1, base=one_task(90, 10))
    driver.open(0)
    driver.write(1_000, 100_000)
    # 90 MB and 10 MB were written: 5 full memtables of 16 MB, and none.
    assert driver.surviving_bytes() == pytest.approx(80_000_000, abs=200)


def test_in_memory_store_is_lost() -> None:
    driver = DiskDriver(STORES, exactly_once=False, commit_ms=1, base=one_task(90, 10, persistent=(False, True)))
    driver.open(100_000_000)
    assert driver.surviving_bytes() == 10_000_000


def test_killed_client_restores_its_memtables() -> None:
    restored = {
        disk: run(world(1), Crash(HOUR, ("c0",), MINUTE, disk)).final_totals.restored_again_bytes for disk in Disk
    }
    assert restored[Disk.KEPT] == 0
    assert 0 < restored[Disk.UNFLUSHED_LOST] < 6 * WRITE_BUFFER_BYTES
    assert restored[Disk.LOST] == pytest.approx(6 * (600_000_000 + 3_600 * 100_000), rel=1e-3)


def test_killed_client_with_transactional_stores_keeps_its_state_under_exactly_once() -> None:
    restored = {}
    for transactional in (False, True):
        configs = StateConfigs(exactly_once=True, commit_interval_ms=100, transactional=transactional)
        base = world(1)
        base = dataclasses.replace(base, application=dataclasses.replace(base.application, state_configs=configs))
        trace = run(base, Crash(HOUR, ("c0",), MINUTE, Disk.UNFLUSHED_LOST))
        restored[transactional] = trace.final_totals.restored_again_bytes
    assert restored[False] > 3e9
    assert 0 < restored[True] < 6 * WRITE_BUFFER_BYTES


def test_small_state_takes_probing_rebalances_to_come_back_after_a_kill() -> None:
    """State below one memtable is lost, so tasks return to the client in steps (observed: 5 rebalances, 129 s)."""
    base = world()
    topics = dict(base.cluster.topics)
    topics["app-counts-changelog"] = topic("app-counts-changelog", 6, 2, rate=0, size=13_000_000)
    small = dataclasses.replace(base, cluster=dataclasses.replace(base.cluster, topics=topics))
    small = with_configs(small, acceptable_recovery_lag=0, probing_rebalance_interval_ms=60_000)
    kept = run(small, Crash(HOUR, ("c1",), 5 * MINUTE, Disk.KEPT))
    killed = run(small, Crash(HOUR, ("c1",), 5 * MINUTE, Disk.UNFLUSHED_LOST))
    assert len(killed.rounds) > len(kept.rounds)
    assert killed.final_totals.restored_bytes > kept.final_totals.restored_bytes
