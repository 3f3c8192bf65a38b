"""Random events depend only on the seed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from statistics import fmean

import pytest

from assignors.model.configs import AssignmentConfigs
from scenarios.schema import SCHEMA_FILE
from simulator.world.changes import Disk, Disturbance
from simulator.world.disturbances import Crash, Join, RollingBounce
from simulator.world.group_configs import GroupProtocol
from tests.scenarios.scenario_texts import load_text, with_events

MINUTE = 60_000
HOUR = 60 * MINUTE
APP = ("app-0", "app-1", "app-2")

SHUFFLE = "{at: 10m, rolling_bounce: {clients: app, order: shuffled, down: 10s, pause: 10s}}"
PICK = "{at: 20m, crash: {clients: app, pick: 2, down: 5m}}"
CHURN = "{at: 1h, churn: {clients: [app, late], crashes: 2/h, joins: 1/h, down: 10m, disk: lost, until: 23h}}"


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


def test_seed_shuffles_clients_into_any_order() -> None:
    assert {tuple(sorted(_shuffled(seed))) for seed in range(20)} == {APP}
    assert len({_shuffled(seed) for seed in range(40)}) == 6


def test_seed_picks_any_subset_of_the_requested_size() -> None:
    assert {_picked(seed) for seed in range(30)} == {APP[:2], APP[1:], APP[::2]}


def test_events_depend_on_the_seed() -> None:
    assert _disturbances(SHUFFLE, PICK, CHURN) == _disturbances(SHUFFLE, PICK, CHURN)
    assert len({_disturbances(CHURN, seed=seed) for seed in range(10)}) == 10


def test_configs_and_protocol_do_not_change_random_events() -> None:
    scenario = load_text(with_events(SHUFFLE, PICK, CHURN), ("duration", "24h"))
    disturbances = scenario.world(3).disturbances
    configs = AssignmentConfigs(max_warmup_replicas=9)
    other = replace(scenario.assignors[0], configs=configs, protocol=GroupProtocol.STREAMS)
    assert scenario.world(3, other).disturbances == disturbances


def test_churn_does_not_change_other_events() -> None:
    without_churn = _disturbances(SHUFFLE, PICK)
    assert _disturbances(SHUFFLE, PICK, CHURN)[:2] == without_churn
    assert _disturbances(CHURN, SHUFFLE, PICK)[-2:] == without_churn


def test_draws_are_independent_of_other_events() -> None:
    other = "{at: 5m, crash: {clients: app, pick: 1, down: 1m}}"
    assert _disturbances(other, SHUFFLE, PICK)[1:] == _disturbances(SHUFFLE, PICK)


def test_identical_events_have_independent_draws() -> None:
    last = "{at: 20m, crash: {clients: app, pick: 1}}"
    pairs = {tuple(crash.clients for crash in _crashes(_disturbances(last, last, seed=seed))) for seed in range(30)}
    assert len(pairs) == 6
    assert all(first != second for first, second in pairs)


def _crashes(disturbances: tuple[Disturbance, ...]) -> list[Crash]:
    return [event for event in disturbances if isinstance(event, Crash)]


def test_only_present_clients_are_picked() -> None:
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


def test_churn_has_the_requested_mean_frequencies() -> None:
    counts = [_count(seed) for seed in range(100)]
    crashes = [crash for crash, _ in counts]
    assert 4.4 < fmean(crashes) < 5.6
    spread = fmean((count - fmean(crashes)) ** 2 for count in crashes)
    assert 3 < spread < 8
    # One client is to join, which it does within the day unless none comes: 1 - exp(-0.5).
    assert 0.25 < fmean(joins for _, joins in counts) < 0.55


def test_churn_has_the_requested_mean_downtime() -> None:
    entries = "{at: 0, churn: {clients: app, crashes: 20/h, down: 10m}}"
    downs = [crash.down_ms for crash in _crashes(_disturbances(entries, clients=100)) if crash.down_ms]
    assert len(downs) > 300
    assert 9 * MINUTE < fmean(downs) < 11 * MINUTE


def test_churn_crashes_any_client_one_at_a_time() -> None:
    crashes = _crashes(_disturbances("{at: 0, churn: {clients: app, crashes: 10/h, down: 1m}}"))
    assert {len(crash.clients) for crash in crashes} == {1}
    assert set(Counter(crash.clients[0] for crash in crashes)) == set(APP)


@pytest.mark.parametrize("seed", range(5))
def test_churn_skips_clients_with_other_events(seed: int) -> None:
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


def test_churn_starts_and_ends_at_the_given_times() -> None:
    crashes = _crashes(_disturbances("{at: 2h, churn: {clients: app, crashes: 60/h, down: 1s, until: 3h}}"))
    assert crashes
    assert all(2 * HOUR <= crash.at_ms < 3 * HOUR for crash in crashes)


def test_permanently_crashed_clients_do_not_crash_again() -> None:
    crashes = _crashes(_disturbances("{at: 0, churn: {clients: app, crashes: 60/h}}"))
    assert sorted(crash.clients[0] for crash in crashes) == list(APP)
    assert {crash.down_ms for crash in crashes} == {None}


def test_newcomers_join_once_in_listed_order_and_may_crash() -> None:
    entries = "{at: 0, churn: {clients: [late], joins: 4/h, crashes: 4/h, down: 1m, disk: lost}}"
    disturbances = load_text(with_events(entries), ("duration", "24h"), ("clients[1].count", "3")).world(1).disturbances
    joins = [event.clients for event in disturbances if isinstance(event, Join)]
    assert joins == [("late-0",), ("late-1",), ("late-2",)]
    assert {crash.disk for crash in _crashes(disturbances)} == {Disk.LOST}


def test_churn_skips_clients_that_join_later() -> None:
    disturbances = _disturbances(
        "{at: 0, churn: {clients: [late], joins: 60/h}}",
        "{at: 20h, join: {clients: late}}",
    )
    assert disturbances == (Join(20 * HOUR, ("late",)),)


def test_world_does_not_depend_on_the_hash_seed() -> None:
    program = "import sys; from scenarios.load import loads; print(loads(sys.stdin.read()).world(3))"
    text = with_events(SHUFFLE, PICK, CHURN).replace("duration: 2h", "duration: 24h")
    worlds = {
        subprocess.run(
            [sys.executable, "-c", program],
            input=text,
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(SCHEMA_FILE.parent.parent)},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(worlds) == 1
