"""Copies catch up at a fair share of what their clients can read and brokers can send."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignors.model.assignment import UNASSIGNED
from assignors.model.state import LATEST_OFFSET, NO_LAG
from simulator.flows.restoration import Restoration
from simulator.flows.traffic import TrafficKind
from simulator.world.layout import Layout, lay_out
from simulator.world.sentinels import NO_COPY
from simulator.world.world import OffsetReports, Store, Subtopology, World
from tests.simulator.world_builders import client, topic, world

SIZE, GROWTH, BANDWIDTH = 600_000_000, 100_000, 10_000_000
T0, T1, T2, STATELESS = 12, 13, 14, 0
"""Rows: three of the six tasks with state, and one without."""
INF = float("inf")


class Copying:
    """A restoration that tests drive: who has what, and how time passes."""

    def __init__(
        self, base: World, brokers: list[float] | None = None, share: dict[int, dict[int, float]] | None = None
    ):
        self.layout: Layout = lay_out(base)
        self.num_clients = len(base.clients)
        self.share = np.zeros((len(self.layout.tasks), 2))
        for task, parts in (share or {}).items():
            for broker, part in parts.items():
                self.share[task, broker] = part
        self.it = Restoration(self.layout, base.clients, np.array(brokers or [INF, INF]))
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
        self.it.assign(self.owner, standby, (tasks, self.owner[tasks]), self.now_ms)
        self.update_rates()

    def update_rates(self) -> np.ndarray:
        """Tasks that are ready are processed at the usual rate."""
        self.it.update_caught_up()
        ready = self.it.restored_tasks()
        self.ready = ready.astype(np.float64)
        self.it.update_rates(self.ready, self.share, ready, self.can_restore)
        return ready

    def pass_(self, seconds: float) -> None:
        """Let time pass, and rates change when they do."""
        left = seconds
        while left > 0:
            span = min(left, self.it.next_change_s())
            self.it.advance(span, self.ready * span)
            self.update_rates()
            left -= span
        self.now_ms += round(seconds * 1000)

    def stop(self, row: int, keeps_state: bool = True) -> None:
        self.it.stop_client(row, keeps_state, self.now_ms)
        self.owner[self.owner == row] = UNASSIGNED
        self.update_rates()

    def lag(self, task: int, row: int) -> int:
        self.it.update_caught_up()
        ready = self.it.restored_tasks()
        clients = np.arange(self.num_clients)
        lags = self.it.lags(clients, ready)
        self.it.record_reports(clients)
        return int(lags[task, row])

    def has(self, task: int, row: int) -> bool:
        return bool(self.it.holds_copy(np.array([row]))[task, 0])

    def read(self) -> dict[TrafficKind, float]:
        return {kind: float(read.sum()) for kind, read, _, _ in self.it.take_reads()}


@pytest.fixture
def copying() -> Copying:
    return Copying(world())


def with_stores(*persistent: bool) -> World:
    """The small world with stores that are persistent or not; all changelogs are alike."""
    base = world()
    log = base.cluster.topics["app-counts-changelog"]
    stores = tuple(Store(f"s{i}", f"log{i}", kept) for i, kept in enumerate(persistent))
    topics = {**base.cluster.topics, **{store.changelog: log for store in stores if store.changelog}}
    part = Subtopology(1, ("views",), stores)
    application = dataclasses.replace(base.application, subtopologies=(base.application.subtopologies[0], part))
    return dataclasses.replace(base, cluster=dataclasses.replace(base.cluster, topics=topics), application=application)


def reporting(reports: OffsetReports) -> Copying:
    """Copies of which those on the second client are reported in this way."""
    base = world()
    clients = tuple(dataclasses.replace(c, reports=reports) if i == 1 else c for i, c in enumerate(base.clients))
    return Copying(dataclasses.replace(base, clients=clients))


def test_a_task_without_state_is_ready_at_once_and_has_no_lag(copying: Copying) -> None:
    copying.assign({STATELESS: 1})
    assert copying.update_rates()[STATELESS]
    assert copying.lag(STATELESS, 1) == NO_LAG
    assert len(copying.it.copies) == 0


def test_a_client_without_a_copy_is_behind_by_the_whole_changelog(copying: Copying) -> None:
    assert copying.lag(T0, 0) == SIZE // 1000
    assert not copying.has(T0, 0)


def test_an_active_task_restores_at_the_clients_bandwidth_and_is_ready_then(copying: Copying) -> None:
    copying.assign({T0: 0})
    assert copying.it.next_change_s() == SIZE / BANDWIDTH
    copying.pass_(59.999)
    assert not copying.update_rates()[T0]
    copying.pass_(0.001)
    assert copying.update_rates()[T0]
    assert copying.lag(T0, 0) == LATEST_OFFSET
    assert copying.it.restored_bytes == pytest.approx(SIZE)
    assert copying.it.restored_again_bytes == 0


def test_two_copies_on_one_client_share_its_bandwidth(copying: Copying) -> None:
    copying.assign({T0: 0, T1: 0})
    assert copying.it.next_change_s() == 2 * SIZE / BANDWIDTH


def test_copies_on_two_clients_do_not(copying: Copying) -> None:
    copying.assign({T0: 0, T1: 1})
    assert copying.it.next_change_s() == SIZE / BANDWIDTH


def test_standbys_wait_until_the_actives_of_their_client_are_restored(copying: Copying) -> None:
    copying.assign({T0: 0}, {(T1, 0), (T2, 1)})
    copying.pass_(60)
    assert copying.lag(T1, 0) == SIZE // 1000
    assert copying.lag(T2, 1) == 0, "nothing restores on the other client"
    copying.pass_(30)
    assert copying.lag(T1, 0) == SIZE // 2000


def test_a_standby_that_is_level_follows_what_is_written(copying: Copying) -> None:
    copying.assign({T0: 0}, {(T0, 1)})
    copying.it.restore_all()
    copying.update_rates()
    copying.pass_(120)
    assert copying.lag(T0, 1) == 0
    assert copying.read() == {TrafficKind.STANDBY_READ: pytest.approx(120 * GROWTH)}
    assert copying.it.restored_bytes == 0


def test_a_standby_that_is_behind_catches_up_with_what_is_written_meanwhile(copying: Copying) -> None:
    copying.assign({T0: 0})
    copying.it.restore_all()
    copying.assign({T0: 0}, {(T0, 1)})
    seconds = SIZE / (BANDWIDTH - GROWTH)
    assert copying.it.next_change_s() == pytest.approx(seconds)
    copying.pass_(seconds)
    assert copying.lag(T0, 1) == 0
    assert copying.read() == {TrafficKind.WARMUP_READ: pytest.approx(seconds * BANDWIDTH)}


def test_a_standby_on_a_client_slower_than_the_changelog_loses_ground() -> None:
    base = world()
    slow = dataclasses.replace(
        base, clients=(*base.clients[:1], client("slow", "az2", restore_bytes_per_s=GROWTH // 2))
    )
    copying = Copying(slow)
    copying.assign({T0: 0}, {(T0, 1)})
    copying.it.restore_all()
    copying.update_rates()
    copying.pass_(120)
    copying.update_rates()
    assert copying.lag(T0, 1) == GROWTH // 2 * 120 // 1000
    assert copying.it.next_change_s() == INF
    assert copying.it.copies.client[copying.it.falling_behind()].tolist() == [1]


def test_a_standby_that_waits_for_an_active_does_not_lose_ground(copying: Copying) -> None:
    copying.assign({T0: 0, T1: 1}, {(T1, 0)})
    assert copying.it.falling_behind().tolist() == []


def test_a_running_task_stays_level_however_long_it_runs(copying: Copying) -> None:
    copying.assign({T0: 0})
    for _ in range(200):
        copying.pass_(99.991)
    assert copying.lag(T0, 0) == LATEST_OFFSET


def test_a_changelog_does_not_grow_while_its_task_is_not_processed(copying: Copying) -> None:
    copying.assign({}, {(T0, 1)})
    copying.pass_(60)
    assert copying.lag(T0, 1) == 0
    copying.pass_(1_000)
    assert copying.it.restored_bytes == pytest.approx(SIZE)


def test_a_broker_that_sends_slowly_is_shared_by_those_who_restore_from_it() -> None:
    limit = 6_000_000
    copying = Copying(world(), [float(limit), INF], {T0: {0: 1.0}, T1: {0: 1.0}, T2: {1: 1.0}})
    copying.assign({T0: 0, T1: 1, T2: 2})
    copying.pass_(60)
    assert copying.lag(T2, 2) == LATEST_OFFSET, "the other broker has no limit"
    assert copying.lag(T0, 0) == copying.lag(T1, 1) == (SIZE - 60 * limit // 2) // 1000


def test_a_task_is_read_no_faster_than_the_slowest_broker_of_its_changelogs_sends() -> None:
    copying = Copying(world(), [1_000_000.0, INF], {T0: {0: 0.5, 1: 0.5}})
    copying.assign({T0: 0})
    assert copying.it.next_change_s() == pytest.approx(SIZE / 2_000_000)


def test_what_is_read_is_told_once_and_by_who_read_it(copying: Copying) -> None:
    copying.assign({T0: 0}, {(T1, 1)})
    copying.pass_(10)
    told = {kind: (read.tolist(), tasks.tolist(), rows.tolist()) for kind, read, tasks, rows in copying.it.take_reads()}
    assert told == {
        TrafficKind.RESTORE_READ: ([10 * BANDWIDTH], [T0], [0]),
        TrafficKind.WARMUP_READ: ([10 * BANDWIDTH], [T1], [1]),
    }
    assert copying.it.take_reads() == []
    assert copying.it.restored_bytes == pytest.approx(20 * BANDWIDTH)


@pytest.mark.parametrize(("keeps_state", "lag"), [(True, 0), (False, SIZE // 1000)])
def test_a_client_that_stops_keeps_its_disk_or_loses_it(copying: Copying, keeps_state: bool, lag: int) -> None:
    copying.assign({T0: 0}, {(T1, 0)})
    copying.it.restore_all()
    copying.stop(0, keeps_state)
    assert copying.lag(T0, 0) == copying.lag(T1, 0) == lag
    assert len(copying.it.copies) == 0
    assert not copying.update_rates()[T0]


def test_what_is_read_once_more_is_counted(copying: Copying) -> None:
    copying.assign({T0: 0})
    copying.pass_(30)
    copying.stop(0, keeps_state=False)
    copying.assign({T0: 0})
    copying.pass_(40)
    assert copying.it.restored_bytes == pytest.approx(70 * BANDWIDTH)
    assert copying.it.restored_again_bytes == pytest.approx(30 * BANDWIDTH), "the rest it never had"


def test_what_another_client_held_is_not_counted_as_read_again(copying: Copying) -> None:
    copying.assign({T0: 0})
    copying.pass_(60)
    copying.stop(0, keeps_state=False)
    copying.assign({T0: 1})
    copying.pass_(60)
    assert copying.it.restored_again_bytes == 0


@pytest.mark.parametrize(("persistent", "left"), [((True,), 1.0), ((False,), 0.0), ((True, False), 0.5)])
def test_what_is_in_memory_is_lost_when_a_client_stops_or_gives_a_copy_up(
    persistent: tuple[bool, ...], left: float
) -> None:
    size = SIZE * len(persistent)
    for give_up in (lambda of: of.stop(0), lambda of: of.assign({}), lambda of: of.assign({T0: 1})):
        copying = Copying(with_stores(*persistent))
        copying.assign({T0: 0})
        copying.it.restore_all()
        give_up(copying)
        assert copying.lag(T0, 0) == round(size * (1 - left)) // 1000


@pytest.mark.parametrize(("persistent", "left"), [((True,), 1.0), ((False,), 0.0), ((True, False), 0.5)])
def test_what_is_in_memory_is_lost_when_a_task_goes_to_another_thread(
    persistent: tuple[bool, ...], left: float
) -> None:
    size = SIZE * len(persistent)
    copying = Copying(with_stores(*persistent))
    copying.assign({T0: 0})
    copying.it.restore_all()
    copying.assign({T0: 0}, moved=[T0, STATELESS])
    assert copying.update_rates()[T0] == (left == 1.0)
    copying.pass_(1_000)
    assert copying.it.restored_again_bytes == pytest.approx(size * (1 - left))


def test_what_is_in_memory_stays_when_a_copy_only_changes_its_role() -> None:
    copying = Copying(with_stores(False))
    copying.assign({T0: 0}, {(T0, 1)})
    copying.it.restore_all()
    copying.assign({T0: 1}, {(T0, 0)})
    assert copying.update_rates()[T0]
    assert copying.lag(T0, 0) == 0


def test_a_copy_that_is_not_assigned_is_deleted_after_the_cleanup_delay(copying: Copying) -> None:
    copying.assign({T0: 0, T1: 0})
    copying.it.restore_all()
    copying.assign({T1: 0})
    copying.it.delete_expired(600_000, 600_000)
    assert copying.has(T0, 0)
    copying.it.delete_expired(600_000, 600_001)
    assert not copying.has(T0, 0)
    assert copying.has(T1, 0), "what is assigned is never deleted"


def test_nobody_cleans_up_where_a_client_is_down_and_the_delay_begins_when_it_is_back(copying: Copying) -> None:
    copying.assign({T0: 0})
    copying.it.restore_all()
    copying.stop(0)
    copying.it.delete_expired(600_000, 3_600_000)
    assert copying.has(T0, 0)
    copying.it.start_client(0, 3_600_000)
    copying.it.delete_expired(600_000, 4_200_000)
    assert copying.has(T0, 0)
    copying.it.delete_expired(600_000, 4_200_001)
    assert not copying.has(T0, 0)


def without_state() -> World:
    """The small world before anything was written to its changelogs."""
    base = world()
    empty = dataclasses.replace(base.cluster.topics["app-counts-changelog"], size_bytes=(0,) * 6, bytes_per_s=(0,) * 6)
    topics = {**base.cluster.topics, empty.name: empty}
    return dataclasses.replace(base, cluster=dataclasses.replace(base.cluster, topics=topics))


def test_a_copy_of_an_empty_changelog_is_there_until_it_is_deleted_or_its_disk_is_lost() -> None:
    copying = Copying(without_state())
    assert not copying.has(T0, 0)
    copying.assign({T0: 0, T1: 1})
    copying.assign({})
    assert copying.has(T0, 0)
    assert copying.has(T1, 1)
    copying.stop(1, keeps_state=False)
    assert not copying.has(T1, 1)
    copying.it.delete_expired(600_000, 600_001)
    assert not copying.has(T0, 0)


def test_copies_are_put_where_they_are_found_in_whole_records(copying: Copying) -> None:
    lags = np.full((len(copying.layout.tasks), copying.num_clients), NO_COPY, dtype=np.int64)
    lags[T0, :3] = 0, 7, 600_000
    lags[STATELESS, 0] = 0
    copying.it.load_copies(lags)
    assert [copying.has(T0, row) for row in range(4)] == [True, True, True, False]
    assert [copying.lag(T0, row) for row in range(4)] == [0, 7, 600_000, 600_000]
    assert not copying.has(STATELESS, 0)
    copying.assign({T0: 2})
    copying.pass_(60)
    assert copying.it.restored_again_bytes == 0, "an empty copy has never been any more"


def test_a_client_that_reports_late_reports_the_offsets_of_the_rebalance_before() -> None:
    copying = reporting(OffsetReports.STALE)
    copying.assign({}, {(T0, 1), (T1, 2)})
    assert copying.lag(T0, 1) == SIZE // 1000
    copying.pass_(30)
    assert copying.lag(T0, 1) == SIZE // 1000, "as things were at the rebalance before"
    copying.pass_(30)
    assert copying.lag(T0, 1) == SIZE // 2000
    assert copying.lag(T1, 2) == 0, "others report at once"


def test_a_client_that_never_reports_seems_to_have_no_copy_unless_it_runs_the_task() -> None:
    copying = reporting(OffsetReports.NEVER)
    copying.assign({T0: 1}, {(T1, 1), (T0, 0)})
    copying.it.restore_all()
    assert copying.lag(T1, 1) == SIZE // 1000
    assert copying.lag(T0, 1) == LATEST_OFFSET
    assert copying.lag(T0, 0) == 0


def test_queries_find_a_task_where_somebody_has_a_part_of_its_state(copying: Copying) -> None:
    reach = copying.it.queryable_tasks()
    assert reach[STATELESS]
    assert not reach[T0]
    copying.assign({T0: 0}, {(T1, 0), (T2, 1)})
    assert copying.it.queryable_tasks()[T0], "it reads from now on, and nothing else is settled before it is level"
    assert copying.it.queryable_tasks()[T2]
    assert not copying.it.queryable_tasks()[T1], "it waits for the active of its client"
    copying.pass_(1)
    assert copying.it.queryable_tasks()[[T0, T1, T2]].tolist() == [True, False, True]
    copying.pass_(60)
    assert copying.it.queryable_tasks()[T1]
    copying.stop(0)
    assert not copying.it.queryable_tasks()[T0]


def test_a_standby_that_cannot_keep_up_is_behind_without_any_event() -> None:
    slow = dataclasses.replace(world(), clients=(client("a", "az1"), client("b", "az2", restore_bytes_per_s=60_000)))
    copying = Copying(slow)
    copying.it.load_copies(np.where(copying.layout.tasks.stateful[:, None], 0, NO_COPY).repeat(2, axis=1))
    copying.assign({T0: 0}, {(T0, 1)})
    copying.pass_(1_000)
    missing = 1_000 * (GROWTH - 60_000)
    assert copying.it.end_bytes[T0] - copying.it.held_bytes[T0, 1] == pytest.approx(missing)
    assert copying.it.falling_behind().tolist() == [1]
    assert copying.it.restored_bytes == pytest.approx(60_000 * 1_000, rel=1e-3)


def test_a_lag_is_whole_records_whatever_the_rounding_of_mean_sizes() -> None:
    """Ten records of 100 bytes and one of 1,000 are 11 records, in any unit of bytes."""
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
        copying = Copying(dataclasses.replace(base, cluster=cluster, application=application))
        assert copying.lag(T0, 0) == 11


@given(st.lists(st.sampled_from((NO_COPY, 0, 1, 2, 599_999, 600_000)), min_size=6, max_size=6))
def test_a_copy_that_is_found_reports_the_lag_that_it_was_found_with(found: list[int]) -> None:
    copying = Copying(world(1))
    lags = np.full((len(copying.layout.tasks), 1), NO_COPY)
    lags[T0:, 0] = found
    copying.it.load_copies(lags)
    whole = SIZE // 1_000
    assert [copying.lag(T0 + row, 0) for row in range(6)] == [whole if lag == NO_COPY else lag for lag in found]
    assert copying.it.holds_copy(np.array([0]))[T0:, 0].tolist() == [lag != NO_COPY for lag in found]


def test_a_copy_of_which_nothing_was_read_is_not_on_disk_once_it_is_given_up(copying: Copying) -> None:
    copying.assign({T0: 0}, {(T1, 0)})
    copying.pass_(1)
    here = np.array([0])
    assert copying.it.holds_copy(here)[[T0, T1], 0].tolist() == [True, True], "both are assigned"
    copying.assign({}, set())
    assert copying.it.holds_copy(here)[[T0, T1], 0].tolist() == [True, False], "the standby waited for the active"
