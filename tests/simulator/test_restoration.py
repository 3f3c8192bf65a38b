"""Copies catch up at a fair share of their client's bandwidth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignors.state import LATEST_OFFSET, NO_LAG
from simulator.layout import Layout, lay_out
from simulator.restoration import Restoration, fair_shares
from tests.simulator.worlds import world

STATEFUL = slice(12, 18)
SIZE, GROWTH, BANDWIDTH = 600_000_000, 100_000, 10_000_000


@pytest.fixture
def layout() -> Layout:
    return lay_out(world())


def assigned(
    layout: Layout, owners: dict[int, int], standbys: dict[int, int] | None = None, bandwidth: int = BANDWIDTH
) -> Restoration:
    restoration = Restoration(layout, [bandwidth] * 4)
    active = np.full(len(layout.tasks), -1)
    for task, client in owners.items():
        active[task] = client
    standby = np.zeros((len(layout.tasks), 4), dtype=np.bool_)
    for task, client in (standbys or {}).items():
        standby[task, client] = True
    restoration.assign(active, standby)
    return restoration


def lag(restoration: Restoration, task: int, client: int) -> int:
    return int(restoration.lags(np.arange(4))[task, client])


def test_a_stateless_task_runs_at_once_and_has_no_lag(layout: Layout) -> None:
    restoration = assigned(layout, {0: 1})
    assert restoration.running[0]
    assert lag(restoration, 0, 1) == NO_LAG


def test_a_client_without_a_copy_is_behind_by_the_whole_changelog(layout: Layout) -> None:
    assert lag(assigned(layout, {}), 12, 0) == SIZE // 1000


def test_an_active_task_restores_at_the_clients_bandwidth_and_then_runs(layout: Layout) -> None:
    restoration = assigned(layout, {12: 0})
    assert restoration.next_change_ms() == 60_000
    restoration.advance(59_999)
    assert not restoration.running[12]
    restoration.advance(60_000)
    assert restoration.running[12]
    assert lag(restoration, 12, 0) == LATEST_OFFSET
    assert restoration.down_ms[12] == 60_000
    assert restoration.restored_bytes == pytest.approx(SIZE)


def test_two_copies_on_one_client_share_its_bandwidth(layout: Layout) -> None:
    assert assigned(layout, {12: 0, 13: 0}).next_change_ms() == 120_000


def test_standbys_wait_until_the_actives_of_their_client_are_restored(layout: Layout) -> None:
    restoration = assigned(layout, {12: 0}, {13: 0})
    restoration.advance(30_000)
    assert lag(restoration, 13, 0) == SIZE // 1000
    restoration.advance(60_000)
    restoration.advance(90_000)
    assert lag(restoration, 13, 0) == SIZE // 2000


def test_a_standby_that_is_level_keeps_up(layout: Layout) -> None:
    restoration = assigned(layout, {12: 0}, {12: 1})
    restoration.fill()
    restoration.advance(120_000)
    assert lag(restoration, 12, 1) == 0


def test_a_standby_on_a_client_slower_than_the_changelog_falls_behind_for_good(layout: Layout) -> None:
    restoration = assigned(layout, {12: 0}, {12: 1}, bandwidth=GROWTH // 2)
    restoration.fill()
    restoration.advance(120_000)
    assert lag(restoration, 12, 1) == GROWTH // 2 * 120 // 1000
    assert restoration.next_change_ms() is None


def test_a_standby_that_is_behind_catches_up_with_what_is_written_meanwhile(layout: Layout) -> None:
    restoration = assigned(layout, {12: 0})
    restoration.fill()
    active, standby = np.full(len(layout.tasks), -1), np.zeros((len(layout.tasks), 4), dtype=np.bool_)
    active[12], standby[12, 1] = 0, True
    restoration.assign(active, standby)
    due = restoration.next_change_ms()
    assert due == pytest.approx(SIZE / (BANDWIDTH - GROWTH) * 1000, abs=1)
    restoration.advance(due or 0)
    assert lag(restoration, 12, 1) == 0


def test_a_running_task_stays_level_however_long_it_runs(layout: Layout) -> None:
    restoration = assigned(layout, {12: 0})
    for now_ms in range(60_000, 10_000_000, 99_991):
        restoration.advance(now_ms)
    assert lag(restoration, 12, 0) == LATEST_OFFSET


def test_a_client_that_stops_keeps_its_disk_or_loses_it(layout: Layout) -> None:
    for keeps, expected in ((True, 0), (False, SIZE // 1000)):
        restoration = assigned(layout, {12: 0})
        restoration.fill()
        restoration.stop(0, keeps_state=keeps)
        assert lag(restoration, 12, 0) == expected
        assert not restoration.running[12]


def test_a_copy_that_is_not_assigned_is_deleted_after_the_cleanup_delay(layout: Layout) -> None:
    restoration = assigned(layout, {12: 0})
    restoration.fill()
    restoration.assign(np.full(len(layout.tasks), -1), np.zeros((len(layout.tasks), 4), dtype=np.bool_))
    restoration.advance(600_000)
    restoration.clean_up(600_000)
    assert restoration.on_disk(np.array([0]))[12, 0]
    restoration.advance(600_001)
    restoration.clean_up(600_000)
    assert not restoration.on_disk(np.array([0]))[12, 0]


@given(st.floats(1, 1e9), st.lists(st.floats(0, 1e9) | st.just(float("inf")), min_size=1, max_size=8))
def test_shares_are_fair(capacity: float, demand: list[float]) -> None:
    wanted = np.array(demand)
    shares = fair_shares(capacity, wanted)
    assert (shares <= wanted).all()
    assert shares.sum() <= capacity * (1 + 1e-9)
    short = shares < wanted
    if short.any():
        assert shares.sum() == pytest.approx(capacity)
        assert shares[short].min() >= shares.max() * (1 - 1e-9)
