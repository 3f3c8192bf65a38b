"""Known fixes are suggested where the figures of a run call for them, and each improves the figure that it names."""

from __future__ import annotations

from typing import Any

import pytest

import assignor_sim as sim
from reports.analysis.conclusion import conclude
from reports.analysis.metrics import is_relevant, least_relevant
from reports.analysis.restart_steps import NextStep
from scenarios.load import loads

SCENARIO = """
name: shop
cluster:
  brokers: {count: 3, racks: [az1, az2, az3]}
  topics: [{name: orders, partitions: 12, replication_factor: 3, bytes_per_s: 2 MB/s}]
application:
  id: shop
  kafka: "4.3"
  configs: {num.standby.replicas: 1, max.warmup.replicas: 20, group.protocol: classic}
  subtopologies: [{sources: [orders], stores: [{name: totals, size: 2 GB, bytes_per_s: 200 kB/s}]}]
clients: [{name: app, count: 4, racks: [az1, az2, az3], threads: 2}]
assignors: [high_availability]
events: [EVENT]
duration: 1h
"""
Override = tuple[str, str]
NO_STANDBY = ("application.configs.num.standby.replicas", "0")
LARGE = ("application.subtopologies[0].stores[0].size", "40 GB")
SMALL = ("application.subtopologies[0].stores[0]", "{name: totals, size: 10 kB, bytes_per_s: 10 B/s}")
STATIC = ("clients[app].static_membership", "true")
SHORT = ("application.configs.session.timeout.ms", "15s")
STREAMS = (("application.configs.group.protocol", "streams"), ("assignors", "[streams_group_sticky]"))
SECONDS_90 = ("application.configs.session.timeout.ms", "90s")
BEFORE_4_2 = ("application.kafka", "'4.1'")
CRASH, RESTARTED = "{at: 10m, crash: {clients: app-1}}", "{at: 10m, crash: {clients: app-1, down: 20s}}"
LEAVE = "{at: 10m, leave: {clients: app-1}}"
BOUNCE = "{at: 10m, rolling_bounce: {clients: app, down: 20s}}"
LOST = "{at: 10m, rolling_bounce: {clients: app, down: 20s, disk: lost}}"
SLOW = "{at: 10m, rolling_bounce: {clients: app, down: 75s, pause: 3m}}"
VERY_SLOW = "{at: 10m, rolling_bounce: {clients: app, down: 4m, pause: 3m}}"


def run(event: str, *overrides: Override) -> tuple[dict[str, Any], tuple[NextStep, ...]]:
    """Return the row of the run, and the next steps about restarts."""
    result = sim.run(loads(SCENARIO.replace("EVENT", event), overrides=overrides), explain=False, ranges=False)
    [conclusion] = conclude(result.tables, [result.manifest])
    [row] = result.tables["runs"].to_pylist()
    words = ("session.timeout.ms", "static membership", "persistent volume", "leaving the group")
    return row, tuple(step for step in conclusion.next_steps if any(word in step.change for word in words))


@pytest.mark.parametrize(
    ("event", "stated", "change", "applied", "metric"),
    [
        (
            CRASH,
            (),
            "a shorter session.timeout.ms, not below 3 heartbeat intervals (3 s each)",
            None,
            "worst_downtime_ms",
        ),
        (CRASH, STREAMS, "a shorter group.streams.session.timeout.ms, not below 3 ", None, "worst_downtime_ms"),
        (RESTARTED, (), "a shorter session.timeout.ms", None, "worst_downtime_ms"),
        (BOUNCE, (), "static membership (clients[].static_membership: true), as ", (STATIC,), "rebalances"),
        (SLOW, (), "static membership (clients[].static_membership: true) with ", (STATIC, SECONDS_90), "rebalances"),
        (SLOW, (STATIC,), "session.timeout.ms: 90s, longer than the longest restart (75 s)", None, "rebalances"),
        (LEAVE, (BEFORE_4_2,), "leaving the group on close (internal.leave.group.on.close)", None, "worst_downtime_ms"),
        (LEAVE, (NO_STANDBY, LARGE), "leaving the group on close (CloseOptions; ", LEAVE, "worst_downtime_ms"),
        (LEAVE, (STATIC, BEFORE_4_2), "leaving the group on close (CloseOptions; ", LEAVE, "worst_downtime_ms"),
        (LOST, (), "a persistent volume for state.dir", BOUNCE, "restored_bytes"),
        (LOST, STREAMS, "a persistent volume for state.dir", BOUNCE, "restored_bytes"),
    ],
)
def test_a_suggested_fix_improves_the_figure_that_it_names(
    event: str, stated: tuple[Override, ...], change: str, applied: tuple[Override, ...] | str | None, metric: str
) -> None:
    """`applied` are overrides, or the event with the fix; None for the overrides of the step."""
    before, (step, *_) = run(event, *stated)
    assert step.change.startswith(change)
    fixed = event
    if isinstance(applied, str):
        fixed, applied = applied.replace("leave: {clients: app-1}", "leave: {clients: app-1, leaves_group: true}"), ()
    after, remaining = run(fixed, *stated, *(step.overrides if applied is None else applied))
    gain = before[metric] - after[metric]
    assert gain > 0
    assert is_relevant(gain, before[metric], least_relevant(metric))
    assert step.change not in [other.change for other in remaining]


@pytest.mark.parametrize(
    ("event", "stated"),
    [
        ("", ()),
        (CRASH, (NO_STANDBY, LARGE)),  # Restoration takes longer than the wait.
        (RESTARTED, (NO_STANDBY,)),  # With a shorter session, tasks would move to clients without their state.
        (CRASH, (SHORT,)),
        (CRASH, (STATIC,)),
        (BOUNCE, (STATIC,)),
        (BOUNCE, STREAMS),
        (VERY_SLOW, ()),  # With static membership, tasks would be down for four minutes.
        (LEAVE, STREAMS),
        (LEAVE.replace("app-1", "app-1, leaves_group: true"), ()),
        (LOST, (SMALL, STATIC)),  # Little is restored.
        ("{at: 10m, crash: {clients: app-1, disk: lost}}", (STATIC,)),  # The client does not return.
    ],
)
def test_a_fix_that_would_not_help_is_not_suggested(event: str, stated: tuple[Override, ...]) -> None:
    assert run(event, *stated)[1] == ()


def test_a_client_that_is_away_for_minutes_does_not_count_as_a_restart() -> None:
    event = (
        "{at: 5m, crash: {clients: app-0, down: 5m}}, {at: 20m, rolling_bounce: {clients: app, down: 30s, pause: 2m}}"
    )
    [step, *_] = run(event)[1]
    assert step.change.endswith("as session.timeout.ms (45 s) is longer than the longest restart (30 s)")
    assert step.reason == "4 rebalances because sessions of restarting clients timed out"


def test_a_wait_for_a_crash_says_how_long_and_for_whom() -> None:
    [step] = run(CRASH)[1]
    assert step.reason == (
        "in 45.5 s of the 46 s for which the worst task was down, the group waited for the session of app-1, which had "
        "crashed"
    )
    assert step.options == "--set application.configs.session.timeout.ms=15s"


def test_several_seeds_are_judged_by_their_median() -> None:
    scenario = loads(SCENARIO.replace("EVENT", RESTARTED) + "seeds: [1, 2, 3]\n")
    result = sim.run(scenario, explain=False, ranges=False)
    [conclusion] = conclude(result.tables, [result.manifest])
    assert not any("static membership" in step.change for step in conclusion.next_steps), "one restart in each run"


def test_results_without_the_groups_configs_get_no_session_timeout() -> None:
    result = sim.run(loads(SCENARIO.replace("EVENT", CRASH)), explain=False, ranges=False)
    older = [{key: value for key, value in record.items() if key != "group"} for record in result.manifest["assignors"]]
    [conclusion] = conclude(result.tables, [{**result.manifest, "assignors": older}])
    assert not any("session" in step.change for step in conclusion.next_steps)
