"""Random events depend on the seed and on nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from statistics import fmean

import pytest

from assignors.model.configs import AssignmentConfigs
from scenarios.language.schema import SCHEMA_FILE
from simulator.world.disturbances import Crash, Disturbance, Join, RollingBounce
from simulator.world.world import GroupProtocol
from tests.scenarios.scenario_texts import load_text, with_events

MINUTE = 60_000
HOUR = 60 * MINUTE
APP = ("app-0", "app-1", "app-2")

SHUFFLE = "{at: 10m, rolling_bounce: {clients: app, order: shuffled, down: 10s, pause: 10s}}"
PICK = "{at: 20m, crash: {clients: app, pick: 2, down: 5m}}"
CHURN = "{at: 1h, churn: {clients: [app, late], crashes: 2/h, joins: 1/h, down: 10m, keeps_state: false, until: 23h}}"


def _disturbances(*entries: str, seed: int = 1, clients: int = 3) -> tuple[Disturbance, ...]:
    return (
        load_text(with_events(*entries), ("duration", "24h"), ("clients[0].count", str(clients)))
        .world(seed)
        .disturbances
    )


def _shuffled(seed: int) -> tuple[str, ...]:
    [bounce] = _disturbances(SHUFFLE, seed=seed)
    assert isinstance(bounce, RollingBounce)
    return bounce.clients


def _picked(seed: int) -> tuple[str, ...]:
    [crash] = _disturbances(PICK, seed=seed)
    assert isinstance(crash, Crash)
    return crash.clients


def test_a_seed_shuffles_clients_in_any_order() -> None:
    assert {tuple(sorted(_shuffled(seed))) for seed in range(20)} == {APP}
    assert len({_shuffled(seed) for seed in range(40)}) == 6


def test_a_seed_picks_any_so_many_clients() -> None:
    assert {_picked(seed) for seed in range(30)} == {APP[:2], APP[1:], APP[::2]}


def test_the_same_seed_gives_the_same_events_and_another_seed_others() -> None:
    assert _disturbances(SHUFFLE, PICK, CHURN) == _disturbances(SHUFFLE, PICK, CHURN)
    assert len({_disturbances(CHURN, seed=seed) for seed in range(10)}) == 10


def test_neither_configs_nor_protocols_change_what_happens_by_chance() -> None:
    scenario = load_text(with_events(SHUFFLE, PICK, CHURN), ("duration", "24h"))
    disturbances = scenario.world(3).disturbances
    other = scenario.world(3, AssignmentConfigs(max_warmup_replicas=9), GroupProtocol.STREAMS)
    assert other.disturbances == disturbances


def test_churn_changes_nothing_else_wherever_it_stands() -> None:
    alone = _disturbances(SHUFFLE, PICK)
    assert _disturbances(SHUFFLE, PICK, CHURN)[:2] == alone
    assert _disturbances(CHURN, SHUFFLE, PICK)[-2:] == alone


def test_another_event_changes_no_draw() -> None:
    other = "{at: 5m, crash: {clients: app, pick: 1, down: 1m}}"
    assert _disturbances(other, SHUFFLE, PICK)[1:] == _disturbances(SHUFFLE, PICK)


def test_events_that_are_all_alike_draw_anew() -> None:
    last = "{at: 20m, crash: {clients: app, pick: 1}}"
    drawn = {tuple(crash.clients for crash in _crashes(_disturbances(last, last, seed=seed))) for seed in range(30)}
    assert len(drawn) == 6
    assert all(first != second for first, second in drawn)


def _crashes(disturbances: tuple[Disturbance, ...]) -> list[Crash]:
    return [event for event in disturbances if isinstance(event, Crash)]


def test_those_who_are_gone_are_not_picked_and_no_more_than_there_are() -> None:
    first, second, third = "20m", "30m", "40m"
    entries = [f"{{at: {at}, crash: {{clients: app, pick: 2}}}}" for at in (first, second, third)]
    for seed in range(10):
        crashes = _crashes(_disturbances(*entries, seed=seed))
        assert [len(crash.clients) for crash in crashes] == [2, 1]
        assert sorted(client for crash in crashes for client in crash.clients) == list(APP)


def _count(seed: int) -> tuple[int, int]:
    disturbances = _disturbances(
        "{at: 0, churn: {clients: [app, late], crashes: 5/d, joins: 0.5/d, down: 1s}}", seed=seed, clients=50
    )
    return len(_crashes(disturbances)), sum(isinstance(event, Join) for event in disturbances)


def test_crashes_and_joins_come_as_often_as_said_on_average() -> None:
    counts = [_count(seed) for seed in range(100)]
    crashes = [crash for crash, _ in counts]
    assert 4.4 < fmean(crashes) < 5.6
    spread = fmean((count - fmean(crashes)) ** 2 for count in crashes)
    assert 3 < spread < 8
    # One client is to join, which it does within the day unless none comes: 1 - exp(-0.5).
    assert 0.25 < fmean(joins for _, joins in counts) < 0.55


def test_those_who_crash_are_down_as_long_as_said_on_average() -> None:
    entries = "{at: 0, churn: {clients: app, crashes: 20/h, down: 10m}}"
    downs = [crash.down_ms for crash in _crashes(_disturbances(entries, clients=100)) if crash.down_ms]
    assert len(downs) > 300
    assert 9 * MINUTE < fmean(downs) < 11 * MINUTE


def test_any_client_may_crash_but_one_at_a_time() -> None:
    crashes = _crashes(_disturbances("{at: 0, churn: {clients: app, crashes: 10/h, down: 1m}}"))
    assert {len(crash.clients) for crash in crashes} == {1}
    assert set(Counter(crash.clients[0] for crash in crashes)) == set(APP)


@pytest.mark.parametrize("seed", range(5))
def test_nobody_crashes_who_is_down_or_to_whom_something_else_happens_meanwhile(seed: int) -> None:
    disturbances = _disturbances(
        "{at: 0, churn: {clients: app, crashes: 30/h, down: 20m}}",
        "{at: 5h, rolling_bounce: {clients: app, down: 5m, pause: 10m}}",
        "{at: 12h, leave: {clients: app-1}}",
        seed=seed,
    )
    spans: dict[str, list[tuple[int, int]]] = {"app-1": [(12 * HOUR, 24 * HOUR)]}
    for i, client in enumerate(APP):
        spans.setdefault(client, []).append((5 * HOUR + i * 15 * MINUTE, 5 * HOUR + i * 15 * MINUTE + 5 * MINUTE))
    for crash in _crashes(disturbances):
        assert crash.down_ms is not None
        spans[crash.clients[0]].append((crash.at_ms, crash.at_ms + crash.down_ms))
    assert len(_crashes(disturbances)) > 20
    for times in spans.values():
        ordered = sorted(times)
        assert all(end < start for (_, end), (start, _) in pairwise(ordered))


def test_churn_begins_and_ends_when_said() -> None:
    crashes = _crashes(_disturbances("{at: 2h, churn: {clients: app, crashes: 60/h, down: 1s, until: 3h}}"))
    assert crashes
    assert all(2 * HOUR <= crash.at_ms < 3 * HOUR for crash in crashes)


def test_those_who_crash_for_good_do_not_crash_again() -> None:
    crashes = _crashes(_disturbances("{at: 0, churn: {clients: app, crashes: 60/h}}"))
    assert sorted(crash.clients[0] for crash in crashes) == list(APP)
    assert {crash.down_ms for crash in crashes} == {None}


def test_newcomers_join_once_in_the_order_of_the_list_and_may_then_crash() -> None:
    entries = "{at: 0, churn: {clients: [late], joins: 4/h, crashes: 4/h, down: 1m, keeps_state: false}}"
    disturbances = load_text(with_events(entries), ("duration", "24h"), ("clients[1].count", "3")).world(1).disturbances
    joins = [event.clients for event in disturbances if isinstance(event, Join)]
    assert joins == [("late-0",), ("late-1",), ("late-2",)]
    assert {crash.keeps_state for crash in _crashes(disturbances)} == {False}


def test_a_client_that_is_to_join_later_does_not_come_by_chance() -> None:
    disturbances = _disturbances(
        "{at: 0, churn: {clients: [late], joins: 60/h}}",
        "{at: 20h, join: {clients: late}}",
    )
    assert disturbances == (Join(20 * HOUR, ("late",)),)


def test_chance_is_the_same_under_any_hash_seed() -> None:
    program = "import sys; from scenarios.load import loads; print(loads(sys.stdin.read()).world(3).disturbances)"
    printed = {
        subprocess.run(
            [sys.executable, "-c", program],
            input=with_events(SHUFFLE, PICK, CHURN).replace("duration: 2h", "duration: 24h"),
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(SCHEMA_FILE.parent.parent)},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1
