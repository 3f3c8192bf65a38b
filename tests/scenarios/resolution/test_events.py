"""Deterministic events of a scenario become disturbances."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from assignors.model.configs import AssignmentConfigs
from assignors.model.ids import TopicPartition
from scenarios.load import Scenario, ScenarioError, loads
from simulator.world.changes import Disturbance
from simulator.world.disturbances import (
    BrokerBounce,
    ConfigChange,
    Crash,
    Join,
    Leave,
    Reassignment,
    ReassignmentTarget,
    ReplaceThread,
    ReplicaMove,
    RollingBounce,
    StreamThreads,
)
from tests.scenarios.scenario_texts import load_text, mistakes_in, replace_in_small, with_events

MINUTE = 60_000
HOUR = 60 * MINUTE
APP = ("app-0", "app-1", "app-2")


def _disturbances(*entries: str, seed: int = 1) -> tuple[Disturbance, ...]:
    return load_text(with_events(*entries)).world(seed).disturbances


@pytest.mark.parametrize(("kind", "disturbance"), [("leave", Leave), ("scale_in", Leave)])
def test_clients_leave_at_intervals(kind: str, disturbance: type[Leave]) -> None:
    assert _disturbances(f"{{at: 10m, {kind}: {{clients: app, every: 2m}}}}") == (
        disturbance(10 * MINUTE, APP, 2 * MINUTE),
    )


def test_threads_of_clients_change() -> None:
    assert _disturbances("{at: 10m, replace_thread: {clients: app}}") == (ReplaceThread(10 * MINUTE, APP),)
    assert _disturbances("{at: 10m, stream_threads: {clients: app-1, threads: 3}}") == (
        StreamThreads(10 * MINUTE, ("app-1",), 3),
    )


@pytest.mark.parametrize("kind", ["replace_thread: {clients: app}", "stream_threads: {clients: app, threads: 2}"])
def test_threads_of_absent_clients_do_not_change(kind: str) -> None:
    with pytest.raises(ScenarioError, match=r"clients: absent at 10m"):
        _disturbances("{at: 5m, leave: {clients: app}}", f"{{at: 10m, {kind}}}")


@pytest.mark.parametrize("leaves_group", [True, False])
def test_leaves_group_applies_to_all_closing_events(leaves_group: bool) -> None:
    entries = f"clients: app, leaves_group: {str(leaves_group).lower()}"
    traffic = "{at: 1h, traffic: {factor: 0.1}}"
    [left] = _disturbances(f"{{at: 10m, leave: {{{entries}}}}}")
    [bounce] = _disturbances(f"{{at: 10m, rolling_bounce: {{{entries}}}}}")
    _, scaled = _disturbances(traffic, f"{{at: 10m, autoscale: {{{entries}, bytes_per_s: 1 MB/s, every: 1h}}}}")
    for closing in (left, bounce, scaled):
        assert isinstance(closing, Leave | RollingBounce)
        assert closing.closing.leaves_group is leaves_group


@pytest.mark.parametrize("kind", ["join", "scale_out"])
def test_clients_join_at_intervals(kind: str) -> None:
    assert _disturbances(f"{{at: 10m, {kind}: {{clients: late, every: 2m}}}}") == (
        Join(10 * MINUTE, ("late",), 2 * MINUTE),
    )


def test_leaving_client_is_present_until_its_turn() -> None:
    leave = "{at: 30m, leave: {clients: app, every: 30m}}"
    assert mistakes_in(with_events(leave, "{at: 59m, crash: {clients: [app-1, app-2], down: 1s}}")) == []
    [mistake] = mistakes_in(with_events(leave, "{at: 61m, crash: {clients: [app-1, app-2], down: 1s}}"))
    assert mistake == "s.yaml:21: events[1].crash.clients: absent at 1h1m: app-1"


@pytest.mark.parametrize(
    ("order", "clients"),
    [
        ("listed", ("late", "app-0", "app-1", "app-2")),
        ("reversed", ("app-2", "app-1", "app-0", "late")),
        ("by_rack", ("late", "app-0", "app-1", "app-2")),
    ],
)
def test_clients_restart_in_the_requested_order(order: str, clients: tuple[str, ...]) -> None:
    scale_out = "{at: 1m, scale_out: {clients: late}}"
    bounce = f"{{at: 10m, rolling_bounce: {{clients: [late, app], order: {order}}}}}"
    assert _disturbances(scale_out, bounce)[1] == RollingBounce(10 * MINUTE, clients, 30_000, 60_000)


@pytest.mark.parametrize(
    ("order", "absent"),
    [
        ("listed", "app-0, app-2, late"),
        ("reversed", "late, app-2, app-0"),
        ("by_rack", "app-0, late, app-2"),
        ("shuffled", "app-0, app-2, late"),
    ],
)
@pytest.mark.parametrize("kind", ["rolling_bounce: {", "upgrade: {to: 4.4, "])
def test_absent_clients_are_listed_in_restart_order_and_unknown_ones_as_written(
    kind: str, order: str, absent: str
) -> None:
    leave = "{at: 5m, leave: {clients: [app-2, app-0]}}"
    bounce = f"{{at: 10m, {kind}clients: [app, missing, late, no], order: {order}}}}}"
    path = f"events[1].{kind.partition(':')[0]}.clients"
    hint = "(clients: app-0, app-1, app-2, app, late)"
    assert [mistake.partition(": ")[2] for mistake in mistakes_in(with_events(leave, bounce))] == [
        f"{path}[1]: unknown client 'missing' {hint}",
        f"{path}[3]: unknown client 'no' {hint}",
        f"{path}: absent at 10m: {absent}",
    ]


def test_by_rack_restart_begins_with_the_rack_of_the_first_client() -> None:
    bounce = "{at: 10m, rolling_bounce: {clients: [app-1, app], order: by_rack}}"
    text = with_events(bounce).replace("count: 3, racks: [az1, az2, az3], t", "count: 7, racks: [az1, az2, az3], t")
    [disturbances] = load_text(text).world(1).disturbances
    assert isinstance(disturbances, RollingBounce)
    assert disturbances.clients == ("app-1", "app-4", "app-0", "app-3", "app-6", "app-2", "app-5")


def test_rollouts_accumulate_configs() -> None:
    scenario = load_text(
        with_events(
            "{at: 90m, config_change: {configs: {num.standby.replicas: 3}}}",
            "{at: 10m, rolling_bounce: {clients: app, configs: {max.warmup.replicas: 7}, client_rack: false}}",
            "{at: 1h, rolling_bounce: {clients: app-0, configs: {num.standby.replicas: 2}, client_rack: true}}",
        )
    )
    run_configs = AssignmentConfigs(acceptable_recovery_lag=5)
    first = replace(run_configs, max_warmup_replicas=7)
    second = replace(first, num_standby_replicas=2)
    spec = replace(scenario.assignors[0], configs=run_configs)
    assert scenario.world(1, spec).disturbances == (
        ConfigChange(90 * MINUTE, replace(second, num_standby_replicas=3)),
        RollingBounce(10 * MINUTE, APP, 30_000, 60_000, configs=first, announces_rack=False),
        RollingBounce(HOUR, ("app-0",), 30_000, 60_000, configs=second, announces_rack=True),
    )


def test_rolling_bounce_skips_absent_clients() -> None:
    bounce = "{at: 10m, rolling_bounce: {clients: app, down: 1m, pause: 1m}}"
    assert _disturbances(bounce, "{at: 11m, leave: {clients: app-1}}")[0] == RollingBounce(
        10 * MINUTE, ("app-0", "app-2"), MINUTE, MINUTE
    )
    assert _disturbances(bounce, "{at: 12m1s, leave: {clients: app-1}}")[0] == RollingBounce(
        10 * MINUTE, APP, MINUTE, MINUTE
    )


def test_rolling_bounce_includes_temporarily_down_clients() -> None:
    bounce = "{at: 10m, rolling_bounce: {clients: app, down: 1m, pause: 1m}}"
    assert _disturbances("{at: 5m, rack_outage: {rack: az1, down: 30m}}", bounce)[1] == RollingBounce(
        10 * MINUTE, APP, MINUTE, MINUTE
    )
    for seed in range(3):
        picked = _disturbances("{at: 5m, crash: {clients: app, pick: 1, down: 30m}}", bounce, seed=seed)
        assert picked[1] == RollingBounce(10 * MINUTE, APP, MINUTE, MINUTE)


def test_rolling_bounce_skips_permanently_crashed_clients() -> None:
    bounce = "{at: 10m, rolling_bounce: {clients: app, down: 1m, pause: 1m}}"
    for seed in range(3):
        crash, bounced = _disturbances("{at: 5m, crash: {clients: app, pick: 1}}", bounce, seed=seed)
        assert isinstance(crash, Crash)
        assert isinstance(bounced, RollingBounce)
        assert sorted(crash.clients + bounced.clients) == list(APP)
    assert len(_disturbances("{at: 5m, crash: {clients: app, pick: 3}}", bounce)) == 1


def test_brokers_restart_in_sequence() -> None:
    assert _disturbances(
        "{at: 10m, broker_bounce: {brokers: [2, 0]}}",
        "{at: 20m, broker_bounce: {brokers: [1], down: 5s, pause: 10s}}",
    ) == (BrokerBounce(10 * MINUTE, (2, 0), 60_000, 120_000), BrokerBounce(20 * MINUTE, (1,), 5_000, 10_000))


PLAN = [
    {"topic": "orders", "partition": 3, "replicas": [2, 1], "log_dirs": ["any", "any"]},
    {"topic": "shop-totals-changelog", "partition": 0, "replicas": [0]},
]


def _with_plan(folder: Path, partitions: object, text: str | None = None) -> Scenario:
    plan = json.dumps({"version": 1, "partitions": partitions}, indent=1) if text is None else text
    (folder / "plan.json").write_text(plan, encoding="utf-8")
    return loads(
        with_events("{at: 10m, reassignment: {plan: plan.json, throttle: 5 MB/s, batch: 1}}"), "s.yaml", folder=folder
    )


def test_plan_becomes_a_reassignment(tmp_path: Path) -> None:
    scenario = _with_plan(tmp_path, PLAN)
    targets = (
        ReassignmentTarget(TopicPartition("orders", 3), (2, 1)),
        ReassignmentTarget(TopicPartition("shop-totals-changelog", 0), (0,)),
    )
    assert scenario.world(1).disturbances == (Reassignment(10 * MINUTE, targets, 5_000_000, batch=1),)
    assert [name for name, _ in scenario.imports] == ["plan.json"]


@pytest.mark.parametrize(
    ("entry", "line", "message"),
    [
        ({"topic": "order", "partition": 0, "replicas": [1]}, 23, "order-0: unknown topic 'order' (did you mean"),
        ({"topic": "orders", "partition": 4, "replicas": [1]}, 23, "orders-4: 4 is not a partition of 'orders' (0 to"),
        ({"topic": "orders", "partition": 0, "replicas": [1, 9]}, 23, "orders-0: unknown broker 9 (brokers: 0, 1, 2)"),
    ],
)
def test_plan_that_does_not_match_the_cluster_is_rejected_with_its_line(
    tmp_path: Path, entry: object, line: int, message: str
) -> None:
    with pytest.raises(ScenarioError) as raised:
        _with_plan(tmp_path, [*PLAN, entry])
    [mistake] = raised.value.mistakes
    assert str(mistake).startswith(f"{tmp_path / 'plan.json'}:{line}: {message}")


def test_malformed_plan_is_rejected_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError) as raised:
        _with_plan(tmp_path, [], '\n{"version": 2}')
    assert str(raised.value).startswith(f"{tmp_path / 'plan.json'}:2: version is not 1")


def test_events_may_refer_to_internal_topics() -> None:
    move = "{at: 10m, replica_move: {topic: shop-by-customer-repartition, partition: 0, replicas: [1]}}"
    assert _disturbances(move) == (ReplicaMove(10 * MINUTE, "shop-by-customer-repartition", 0, (1,)),)


def test_events_are_checked_despite_a_mistake_in_the_price() -> None:
    text = replace_in_small("duration: 2h", "duration: 2h\nprice: nowhere").replace("clients: late}", "clients: app}")
    assert [mistake.split(": ")[1] for mistake in mistakes_in(text)] == [
        "events[0].scale_out.clients",
        "price.provider",
    ]
