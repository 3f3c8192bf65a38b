"""Copies catch up at a fair share of the bandwidths of their clients and brokers."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignors.model.assignment import UNASSIGNED
from assignors.model.columns import cells
from assignors.model.state import LATEST_OFFSET, NO_LAG
from simulator.flows.processing import Processing
from simulator.flows.restoration import Restoration
from simulator.flows.shared_bandwidth import SharedBandwidth
from simulator.flows.traffic import TrafficKind
from simulator.world.changes import Disk
from simulator.world.group_assignment import GroupAssignment
from simulator.world.layout import NO_COPY, Layout, lay_out
from simulator.world.world import OffsetReports, Store, Subtopology, World
from tests.simulator.world_builders import client, topic, world

SIZE, GROWTH, BANDWIDTH = 600_000_000, 100_000, 10_000_000
T0, T1, T2, STATELESS = 12, 13, 14, 0
"""The rows of three of the six stateful tasks, and of a stateless one."""
INF = float("inf")


class RestorationDriver:
    """Drives a restoration: assigns copies and lets time pass."""

    def __init__(
        self, base: World, brokers: list[float] | None = None, share: dict[int, dict[int, float]] | None = None
    ):
        self.layout: Layout = lay_out(base)
        self.num_clients = len(base.clients)
        self.share = np.zeros((len(self.layout.tasks), 2))
        for task, parts in (share or {}).items():
            for broker, part in parts.items():
                self.share[task, broker] = part
        bandwidth = SharedBandwidth(np.array(brokers or [INF, INF]), base.hosts, [base.clients])
        self.restoration = Restoration(self.layout, base.clients, bandwidth.of_application(0))
        self.processing = Processing(np.ones(len(self.layout.tasks)), np.full(1, np.inf))
        self.can_restore = np.ones(len(self.layout.tasks), dtype=np.bool_)
        self.now_ms = 0
        self.owner = np.full(len(self.layout.tasks), UNASSIGNED, dtype=np.int64)

    def assign(
        self, owners: dict[int, int], standbys: set[tuple[int, int]] | None = None, moved: list[int] | None = None
    ) -> None:
        self.owner = np.full(len(self.layout.tasks), UNASSIGNED, dtype=np.int64)
        for task, row in owners.items():
            self.owner[task] = row
        standby = np.zeros((len(self.owner), self.num_clients), dtype=np.bool_)
        for place in standbys or ():
            standby[place] = True
        tasks = np.array(moved or [], dtype=np.int64)
        self.restoration.assign(self.owner, cells(standby), (tasks, self.owner[tasks]), self.now_ms)
        self.update_rates()

    def update_rates(self) -> np.ndarray:
        """Update the rates; restored tasks are processed at the usual rate."""
        self.restoration.update_caught_up()
        ready = self.restoration.restored_tasks()
        self.processing.set_input(ready.astype(np.float64))
        self.processing.rate = ready.astype(np.float64)
        self.restoration.update_rates(self.processing.rate, self.share, ready, self.can_restore)
        return ready

    def advance(self, seconds: float) -> None:
        """Let time pass, and update the rates when they change."""
        remaining = seconds
        while remaining > 0:
            span = min(remaining, self.restoration.next_change_s())
            self.restoration.advance([span], self.processing)
            self.update_rates()
            remaining -= span
        self.now_ms += round(seconds * 1000)

    def stop(self, row: int, disk: Disk = Disk.KEPT) -> None:
        self.restoration.stop_client(row, disk, self.now_ms)
        self.owner[self.owner == row] = UNASSIGNED
        self.update_rates()

    def lag(self, task: int, row: int) -> int:
        self.restoration.update_caught_up()
        ready = self.restoration.restored_tasks()
        clients = np.arange(self.num_clients)
        lags = self.restoration.lags(clients, ready)
        self.restoration.record_reports(clients)
        return int(lags[task, row])

    def has(self, task: int, row: int) -> bool:
        return bool(self.restoration.holds_copy(np.array([row]))[task, 0])

    def read(self) -> dict[TrafficKind, float]:
        return {kind: float(read.sum()) for kind, read, _, _ in self.restoration.reads.take()}


@pytest.fixture
def driver() -> RestorationDriver:
    return RestorationDriver(world())


def with_stores(*persistent: bool) -> World:
    """Return the small world with persistent or in-memory stores, whose changelogs have equal sizes and rates."""
    base = world()
    log = base.cluster.topics["app-counts-changelog"]
    stores = tuple(Store(f"s{i}", f"log{i}", is_persistent) for i, is_persistent in enumerate(persistent))
    topics = {**base.cluster.topics, **{store.changelog: log for store in stores if store.changelog}}
    part = Subtopology(1, ("views",), stores)
    application = dataclasses.replace(base.application, subtopologies=(base.application.subtopologies[0], part))
    return dataclasses.replace(base, cluster=dataclasses.replace(base.cluster, topics=topics), application=application)


def driver_with_reports(reports: OffsetReports) -> RestorationDriver:
    """Return a driver whose second client reports its offsets in the given way."""
    base = world()
    clients = tuple(dataclasses.replace(c, reports=reports) if i == 1 else c for i, c in enumerate(base.clients))
    return RestorationDriver(dataclasses.replace(base, clients=clients))


def test_stateless_task_is_restored_immediately_and_has_no_lag(driver: RestorationDriver) -> None:
    driver.assign({STATELESS: 1})
    assert driver.update_rates()[STATELESS]
    assert driver.lag(STATELESS, 1) == NO_LAG
    assert len(driver.restoration.copies) == 0


def test_client_without_copy_lags_by_the_whole_changelog(driver: RestorationDriver) -> None:
    assert driver.lag(T0, 0) == SIZE // 1000
    assert not driver.has(T0, 0)


def test_active_task_restores_at_the_bandwidth_of_its_client(driver: RestorationDriver) -> None:
    driver.assign({T0: 0})
    assert driver.restoration.next_change_s() == SIZE / BANDWIDTH
    driver.advance(59.999)
    assert not driver.update_rates()[T0]
    driver.advance(0.001)
    assert driver.update_rates()[T0]
    assert driver.lag(T0, 0) == LATEST_OFFSET
    assert driver.restoration.reads.restored_bytes == pytest.approx(SIZE)
    assert driver.restoration.reads.restored_again_bytes == 0


def test_copies_on_one_client_share_its_bandwidth(driver: RestorationDriver) -> None:
    driver.assign({T0: 0, T1: 0})
    assert driver.restoration.next_change_s() == 2 * SIZE / BANDWIDTH


def test_copies_on_two_clients_share_no_bandwidth(driver: RestorationDriver) -> None:
    driver.assign({T0: 0, T1: 1})
    assert driver.restoration.next_change_s() == SIZE / BANDWIDTH


def test_standbys_wait_until_active_tasks_of_their_client_are_restored(driver: RestorationDriver) -> None:
    driver.assign({T0: 0}, {(T1, 0), (T2, 1)})
    driver.advance(60)
    assert driver.lag(T1, 0) == SIZE // 1000
    assert driver.lag(T2, 1) == 0, "no active task restores on the other client"
    driver.advance(30)
    assert driver.lag(T1, 0) == SIZE // 2000


def test_caught_up_standby_reads_what_is_written(driver: RestorationDriver) -> None:
    driver.assign({T0: 0}, {(T0, 1)})
    driver.restoration.restore_all()
    driver.update_rates()
    driver.advance(120)
    assert driver.lag(T0, 1) == 0
    assert driver.read() == {TrafficKind.STANDBY_READ: pytest.approx(120 * GROWTH)}
    assert driver.restoration.reads.restored_bytes == 0


def test_lagging_standby_catches_up_while_the_changelog_grows(driver: RestorationDriver) -> None:
    driver.assign({T0: 0})
    driver.restoration.restore_all()
    driver.assign({T0: 0}, {(T0, 1)})
    seconds = SIZE / (BANDWIDTH - GROWTH)
    assert driver.restoration.next_change_s() == pytest.approx(seconds)
    driver.advance(seconds)
    assert driver.lag(T0, 1) == 0
    assert driver.read() == {TrafficKind.WARMUP_READ: pytest.approx(seconds * BANDWIDTH)}


def test_standby_falls_behind_on_a_client_slower_than_the_changelog() -> None:
    base = world()
    slow = dataclasses.replace(
        base, clients=(*base.clients[:1], client("slow", "az2", restore_bytes_per_s=GROWTH // 2))
    )
    driver = RestorationDriver(slow)
    driver.assign({T0: 0}, {(T0, 1)})
    driver.restoration.restore_all()
    driver.update_rates()
    driver.advance(120)
    driver.update_rates()
    assert driver.lag(T0, 1) == GROWTH // 2 * 120 // 1000
    assert driver.restoration.next_change_s() == INF
    assert driver.restoration.copies.client[driver.restoration.rates.falling_behind()].tolist() == [1]


def test_waiting_standby_is_not_falling_behind(driver: RestorationDriver) -> None:
    driver.assign({T0: 0, T1: 1}, {(T1, 0)})
    assert driver.restoration.rates.falling_behind().tolist() == []


def test_running_task_stays_caught_up(driver: RestorationDriver) -> None:
    driver.assign({T0: 0})
    for _ in range(200):
        driver.advance(99.991)
    assert driver.lag(T0, 0) == LATEST_OFFSET


def test_changelog_of_a_stopped_task_does_not_grow(driver: RestorationDriver) -> None:
    driver.assign({}, {(T0, 1)})
    driver.advance(60)
    assert driver.lag(T0, 1) == 0
    driver.advance(1_000)
    assert driver.restoration.reads.restored_bytes == pytest.approx(SIZE)


def test_copies_share_the_bandwidth_of_a_slow_broker() -> None:
    limit = 6_000_000
    driver = RestorationDriver(world(), [float(limit), INF], {T0: {0: 1.0}, T1: {0: 1.0}, T2: {1: 1.0}})
    driver.assign({T0: 0, T1: 1, T2: 2})
    driver.advance(60)
    assert driver.lag(T2, 2) == LATEST_OFFSET, "the other broker has no limit"
    assert driver.lag(T0, 0) == driver.lag(T1, 1) == (SIZE - 60 * limit // 2) // 1000


def test_slowest_broker_limits_the_restoration_of_a_task() -> None:
    driver = RestorationDriver(world(), [1_000_000.0, INF], {T0: {0: 0.5, 1: 0.5}})
    driver.assign({T0: 0})
    assert driver.restoration.next_change_s() == pytest.approx(SIZE / 2_000_000)


def test_reads_are_returned_once_with_task_and_client(driver: RestorationDriver) -> None:
    driver.assign({T0: 0}, {(T1, 1)})
    driver.advance(10)
    reads = {
        kind: (read_bytes.tolist(), tasks.tolist(), rows.tolist())
        for kind, read_bytes, tasks, rows in driver.restoration.reads.take()
    }
    assert reads == {
        TrafficKind.RESTORE_READ: ([10 * BANDWIDTH], [T0], [0]),
        TrafficKind.WARMUP_READ: ([10 * BANDWIDTH], [T1], [1]),
    }
    assert driver.restoration.reads.take() == []
    assert driver.restoration.reads.restored_bytes == pytest.approx(20 * BANDWIDTH)


@pytest.mark.parametrize(("disk", "lag"), [(Disk.KEPT, 0), (Disk.LOST, SIZE // 1000)])
def test_stopped_client_keeps_or_loses_its_disk(driver: RestorationDriver, disk: Disk, lag: int) -> None:
    driver.assign({T0: 0}, {(T1, 0)})
    driver.restoration.restore_all()
    driver.stop(0, disk)
    assert driver.lag(T0, 0) == driver.lag(T1, 0) == lag
    assert len(driver.restoration.copies) == 0
    assert not driver.update_rates()[T0]


def test_bytes_restored_again_are_counted(driver: RestorationDriver) -> None:
    driver.assign({T0: 0})
    driver.advance(30)
    driver.stop(0, disk=Disk.LOST)
    driver.assign({T0: 0})
    driver.advance(40)
    assert driver.restoration.reads.restored_bytes == pytest.approx(70 * BANDWIDTH)
    assert driver.restoration.reads.restored_again_bytes == pytest.approx(30 * BANDWIDTH), (
        "the client never had the rest"
    )


def test_bytes_held_by_another_client_do_not_count_as_restored_again(driver: RestorationDriver) -> None:
    driver.assign({T0: 0})
    driver.advance(60)
    driver.stop(0, disk=Disk.LOST)
    driver.assign({T0: 1})
    driver.advance(60)
    assert driver.restoration.reads.restored_again_bytes == 0


@pytest.mark.parametrize(("persistent", "kept_share"), [((True,), 1.0), ((False,), 0.0), ((True, False), 0.5)])
def test_in_memory_state_is_lost_when_the_copy_is_closed(persistent: tuple[bool, ...], kept_share: float) -> None:
    size = SIZE * len(persistent)
    for close_copy in (
        lambda target: target.stop(0),
        lambda target: target.assign({}),
        lambda target: target.assign({T0: 1}),
    ):
        driver = RestorationDriver(with_stores(*persistent))
        driver.assign({T0: 0})
        driver.restoration.restore_all()
        close_copy(driver)
        assert driver.lag(T0, 0) == round(size * (1 - kept_share)) // 1000


@pytest.mark.parametrize(("persistent", "kept_share"), [((True,), 1.0), ((False,), 0.0), ((True, False), 0.5)])
def test_in_memory_state_is_lost_on_a_move_to_another_thread(persistent: tuple[bool, ...], kept_share: float) -> None:
    size = SIZE * len(persistent)
    driver = RestorationDriver(with_stores(*persistent))
    driver.assign({T0: 0})
    driver.restoration.restore_all()
    driver.assign({T0: 0}, moved=[T0, STATELESS])
    assert driver.update_rates()[T0] == (kept_share == 1.0)
    driver.advance(1_000)
    assert driver.restoration.reads.restored_again_bytes == pytest.approx(size * (1 - kept_share))


def test_in_memory_state_survives_a_change_of_role() -> None:
    driver = RestorationDriver(with_stores(False))
    driver.assign({T0: 0}, {(T0, 1)})
    driver.restoration.restore_all()
    driver.assign({T0: 1}, {(T0, 0)})
    assert driver.update_rates()[T0]
    assert driver.lag(T0, 0) == 0


def test_unassigned_copy_is_deleted_after_the_cleanup_delay(driver: RestorationDriver) -> None:
    driver.assign({T0: 0, T1: 0})
    driver.restoration.restore_all()
    driver.assign({T1: 0})
    driver.restoration.delete_expired(600_000, 600_000)
    assert driver.has(T0, 0)
    driver.restoration.delete_expired(600_000, 600_001)
    assert not driver.has(T0, 0)
    assert driver.has(T1, 0), "an assigned copy is never deleted"


def test_cleanup_delay_of_a_stopped_client_begins_with_its_restart(driver: RestorationDriver) -> None:
    driver.assign({T0: 0})
    driver.restoration.restore_all()
    driver.stop(0)
    driver.restoration.delete_expired(600_000, 3_600_000)
    assert driver.has(T0, 0)
    driver.restoration.start_client(0, 3_600_000)
    driver.restoration.delete_expired(600_000, 4_200_000)
    assert driver.has(T0, 0)
    driver.restoration.delete_expired(600_000, 4_200_001)
    assert not driver.has(T0, 0)


def with_empty_changelogs() -> World:
    """Return the small world with empty changelogs."""
    base = world()
    empty = dataclasses.replace(base.cluster.topics["app-counts-changelog"], size_bytes=(0,) * 6, bytes_per_s=(0,) * 6)
    topics = {**base.cluster.topics, empty.name: empty}
    return dataclasses.replace(base, cluster=dataclasses.replace(base.cluster, topics=topics))


def test_copy_of_an_empty_changelog_exists_until_deleted_or_lost() -> None:
    driver = RestorationDriver(with_empty_changelogs())
    assert not driver.has(T0, 0)
    driver.assign({T0: 0, T1: 1})
    driver.assign({})
    assert driver.has(T0, 0)
    assert driver.has(T1, 1)
    driver.stop(1, disk=Disk.LOST)
    assert not driver.has(T1, 1)
    driver.restoration.delete_expired(600_000, 600_001)
    assert not driver.has(T0, 0)


def test_initial_copies_are_loaded_from_lags_in_records(driver: RestorationDriver) -> None:
    lags = np.full((len(driver.layout.tasks), driver.num_clients), NO_COPY, dtype=np.int64)
    lags[T0, :3] = 0, 7, 600_000
    lags[STATELESS, 0] = 0
    driver.restoration.load_copies(lags)
    assert [driver.has(T0, row) for row in range(4)] == [True, True, True, False]
    assert [driver.lag(T0, row) for row in range(4)] == [0, 7, 600_000, 600_000]
    assert not driver.has(STATELESS, 0)
    driver.assign({T0: 2})
    driver.advance(60)
    assert driver.restoration.reads.restored_again_bytes == 0, "the client never had more than an empty copy"


def test_stale_client_reports_offsets_of_the_previous_rebalance() -> None:
    driver = driver_with_reports(OffsetReports.STALE)
    driver.assign({}, {(T0, 1), (T1, 2)})
    assert driver.lag(T0, 1) == SIZE // 1000
    driver.advance(30)
    assert driver.lag(T0, 1) == SIZE // 1000, "the offsets of the previous rebalance"
    driver.advance(30)
    assert driver.lag(T0, 1) == SIZE // 2000
    assert driver.lag(T1, 2) == 0, "other clients report current offsets"


def test_client_that_never_reports_has_a_lag_only_for_running_tasks() -> None:
    driver = driver_with_reports(OffsetReports.NEVER)
    driver.assign({T0: 1}, {(T1, 1), (T0, 0)})
    driver.restoration.restore_all()
    assert driver.lag(T1, 1) == SIZE // 1000
    assert driver.lag(T0, 1) == LATEST_OFFSET
    assert driver.lag(T0, 0) == 0


def test_queryable_tasks_have_a_copy_that_was_opened(driver: RestorationDriver) -> None:
    queryable = driver.restoration.queryable_tasks()
    assert queryable[STATELESS]
    assert not queryable[T0]
    driver.assign({T0: 0}, {(T1, 0), (T2, 1)})
    assert driver.restoration.queryable_tasks()[T0], "its copy is restored from now on"
    assert driver.restoration.queryable_tasks()[T2]
    assert not driver.restoration.queryable_tasks()[T1], "it waits for the active task of its client"
    driver.advance(1)
    assert driver.restoration.queryable_tasks()[[T0, T1, T2]].tolist() == [True, False, True]
    driver.advance(60)
    assert driver.restoration.queryable_tasks()[T1]
    driver.stop(0)
    assert not driver.restoration.queryable_tasks()[T0]


def test_standby_falls_behind_without_an_event() -> None:
    slow = dataclasses.replace(world(), clients=(client("a", "az1"), client("b", "az2", restore_bytes_per_s=60_000)))
    driver = RestorationDriver(slow)
    driver.restoration.load_copies(np.where(driver.layout.tasks.stateful[:, None], 0, NO_COPY).repeat(2, axis=1))
    driver.assign({T0: 0}, {(T0, 1)})
    driver.advance(1_000)
    missing = 1_000 * (GROWTH - 60_000)
    assert driver.restoration.end_bytes[T0] - driver.restoration.held_bytes[T0, 1] == pytest.approx(missing)
    assert driver.restoration.rates.falling_behind().tolist() == [1]
    assert driver.restoration.reads.restored_bytes == pytest.approx(60_000 * 1_000, rel=1e-3)


def test_lag_is_exact_despite_rounded_mean_record_sizes() -> None:
    """Ten records of 100 bytes and one of 1,000 bytes are 11 records, in any unit of bytes."""
    base = world()
    stores = (Store("few", "few"), Store("many", "many"))
    part = dataclasses.replace(base.application.subtopologies[1], stores=stores)
    for unit in (1, 2, 3, 7, 10, 10_000):
        logs = {
            name: dataclasses.replace(topic(name, 6, 1, size=1_000 * unit), record_bytes=record * unit)
            for name, record in (("few", 100), ("many", 1_000))
        }
        cluster = dataclasses.replace(base.cluster, topics={**base.cluster.topics, **logs})
        application = dataclasses.replace(base.application, subtopologies=(base.application.subtopologies[0], part))
        driver = RestorationDriver(dataclasses.replace(base, cluster=cluster, application=application))
        assert driver.lag(T0, 0) == 11


@given(st.lists(st.sampled_from((NO_COPY, 0, 1, 2, 599_999, 600_000)), min_size=6, max_size=6))
def test_loaded_copy_reports_its_initial_lag(initial_lags: list[int]) -> None:
    driver = RestorationDriver(world(1))
    lags = np.full((len(driver.layout.tasks), 1), NO_COPY)
    lags[T0:, 0] = initial_lags
    driver.restoration.load_copies(lags)
    full_lag = SIZE // 1_000
    assert [driver.lag(T0 + row, 0) for row in range(6)] == [
        full_lag if lag == NO_COPY else lag for lag in initial_lags
    ]
    assert driver.restoration.holds_copy(np.array([0]))[T0:, 0].tolist() == [lag != NO_COPY for lag in initial_lags]


def test_unread_copy_leaves_nothing_on_disk(driver: RestorationDriver) -> None:
    driver.assign({T0: 0}, {(T1, 0)})
    driver.advance(1)
    first_client = np.array([0])
    assert driver.restoration.holds_copy(first_client)[[T0, T1], 0].tolist() == [True, True], "both copies are assigned"
    driver.assign({}, set())
    assert driver.restoration.holds_copy(first_client)[[T0, T1], 0].tolist() == [True, False], (
        "the standby waited for the active task"
    )


def test_closed_copies_are_reported_at_every_rebalance(driver: RestorationDriver) -> None:
    """Their offsets are recorded for the first thread of a client only, but anew after each rebalance."""
    clients, task = np.arange(driver.num_clients), int(np.flatnonzero(driver.layout.tasks.stateful)[0])
    nothing, restoration = GroupAssignment.empty(len(driver.owner), driver.num_clients), driver.restoration

    def report_at_join() -> None:
        restoration.join_reports.report(nothing, restoration.copies, [[(0, 0)]], [0], restoration.held[None])

    for _ in range(2):
        report_at_join()
        driver.restoration.record_reports(clients)
    report_at_join()
    driver.assign({task: 0})
    driver.advance(1e9)
    assert driver.restoration.held_bytes[task, 0] > 0
    lags = driver.restoration.lags(clients, running=np.zeros(len(driver.owner), dtype=np.bool_))
    assert lags[task, 0] == lags[task, 1]
