"""Consumer groups in time: eager, cooperative and coordinated rebalances, and static members."""

from __future__ import annotations

from typing import Any

import pytest

from assignors.model.assignment import UNASSIGNED
from scenarios.load import loads
from scenarios.run import run
from simulator.results.convergence import convergence
from simulator.results.tabulation import tabulate
from simulator.results.trace import Trace
from simulator.results.verdict import Verdict

MINUTE_MS = 60_000
CLASSIC = ("range", "roundrobin", "sticky", "cooperative-sticky")
COORDINATED = ("uniform", "broker-range")
SESSION_MS, HEARTBEAT_MS = 45_000, {"uniform": 5_000, "broker-range": 5_000}


def group_run(
    assignor: str, event: str, *, static: bool = False, poll: str = "50ms", count: int = 3, racks: str = ""
) -> Trace:
    """Simulate a group with 12 partitions, and one event after a minute."""
    return run(
        loads(
            f"""
cluster:
  brokers: {{count: 3, racks: [az1, az2, az3]}}
  topics: [{{name: orders, partitions: 12, bytes_per_s: 1 MB/s}}]
consumers:
  - group: billing
    topics: [orders]
    poll_interval: {poll}
    clients:
      - {{name: m, count: {count}, static_membership: {str(static).lower()}{racks}}}
      - {{name: late, starts: false}}
    assignors: [{assignor}]
events: [{{at: 1m, {event}}}]
duration: 5m
"""
        ),
        assignor,
    )


def downtime_ms(trace: Trace) -> list[int]:
    return sorted(trace.downtime_ms.tolist())


@pytest.mark.parametrize("assignor", CLASSIC)
def test_eager_members_stop_and_cooperative_ones_continue_while_a_member_joins(assignor: str) -> None:
    trace = group_run(assignor, "join: {clients: late}", poll="2s")
    stopped = sum(down > 0 for down in downtime_ms(trace))
    assert trace.rounds[1].reason == "late joined"
    if assignor == "cooperative-sticky":
        assert stopped == 3
        assert len(trace.rounds) == 3
        assert trace.rounds[1].withheld.tolist() == [row for row in range(12) if trace.downtime_ms[row]]
    else:
        assert stopped >= 8  # The last member that joins stops for less than a millisecond.
        assert len(trace.rounds) == 2


@pytest.mark.parametrize("assignor", COORDINATED)
def test_members_of_the_consumer_protocol_move_one_by_one(assignor: str) -> None:
    trace = group_run(assignor, "join: {clients: late}", poll="2s")
    moved = trace.rounds[0].owner != trace.rounds[1].owner
    assert [round_.reason for round_ in trace.rounds[1:]] == ["late joined"]
    assert ((trace.downtime_ms > 0) <= moved).all()
    assert 0 < max(downtime_ms(trace)) <= HEARTBEAT_MS[assignor] + 2 * 2_000


@pytest.mark.parametrize("assignor", [*CLASSIC, *COORDINATED])
def test_crash_ends_the_session_and_closing_does_not_wait(assignor: str) -> None:
    heartbeat_ms = HEARTBEAT_MS.get(assignor, 3_000)
    crashed = group_run(assignor, "crash: {clients: m-0}")
    assert crashed.rounds[1].reason == "m-0: session timed out"
    requested_ms = crashed.rounds[1].requested_at_ms
    assert MINUTE_MS + SESSION_MS - 1.02 * heartbeat_ms <= requested_ms <= MINUTE_MS + SESSION_MS
    closed = group_run(assignor, "leave: {clients: m-0}")
    assert (closed.rounds[1].reason, closed.rounds[1].requested_at_ms) == ("m-0 left", MINUTE_MS)


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky", "uniform"])
def test_static_member_that_is_back_in_time_causes_no_rebalance(assignor: str) -> None:
    trace = group_run(assignor, "rolling_bounce: {clients: m-0, down: 20s}", static=True)
    assert len(trace.rounds) == 1
    assert downtime_ms(trace)[:8] == [0] * 8
    assert 20_000 <= downtime_ms(trace)[8] <= downtime_ms(trace)[-1] <= 20_100


@pytest.mark.parametrize("assignor", ["uniform", "broker-range"])
def test_static_member_that_is_back_without_its_rack_causes_no_rebalance(assignor: str) -> None:
    event = "rolling_bounce: {clients: m-0, down: 5s, client_rack: false}"
    assert len(group_run(assignor, event, static=True, racks=", racks: [az1, az2]").rounds) == 1


@pytest.mark.parametrize("assignor", ["range", "uniform"])
def test_static_member_that_returns_too_late_finds_its_partitions_elsewhere(assignor: str) -> None:
    trace = group_run(assignor, "rolling_bounce: {clients: m-0, down: 90s}", static=True)
    assert [round_.reason for round_ in trace.rounds[1:]] == ["m-0: session timed out", "m-0 joined"]
    assert trace.rounds[-1].owner.tolist().count(0) == 4


def test_slowest_batch_decides_how_long_an_eager_group_stops() -> None:
    event = "join: {clients: late}"
    fast, slow = (sum(downtime_ms(group_run("range", event, poll=poll, count=8))) for poll in ("50ms", "20s"))
    assert slow > 5 * fast
    assert slow / 12 < 20_000 + 3_030


def test_partitions_are_named_by_topic_and_state_is_unknown_instead_of_0() -> None:
    trace = group_run("sticky", "crash: {clients: m-0, down: 10s}")
    tables: dict[str, Any] = {name: table.to_pylist() for name, table in tabulate(trace, "sticky", 1).items()}
    assert {row["task"] for row in tables["tasks"]} == {f"orders-{number}" for number in range(12)}
    [row] = tables["runs"]
    of_state = ("restored_bytes", "unqueryable_ms", "stateful_skew", "tasks_without_rack_redundancy", "worst_pair_loss")
    of_standbys_or_the_leader = ("moves_promoted", "standby_moves", "standby_cost", "standby_skew", "leader_compute_ms")
    assert {row[name] for name in (*of_state, *of_standbys_or_the_leader)} == {None}
    assert row["downtime_ms"] > 0
    assert trace.describe_task("orders-3")[0].startswith("6 s, round 1")
    with pytest.raises(KeyError, match="unknown task '0_3' of billing"):
        trace.describe_task("0_3")


MIXED = """
cluster:
  brokers: {{count: 3, racks: [az1, az2, az3]}}
  topics: [{{name: orders, partitions: 6, bytes_per_s: 1 MB/s}}, {{name: payments, partitions: 4, bytes_per_s: 1 MB/s}}]
consumers:
  - group: billing
    topics: [orders]
    clients:
      - {{name: m, count: 3}}
      - {{name: both, topics: [orders, payments]}}
    assignors: [{assignor}]
events: [{{at: 1m, leave: {{clients: both}}}}]
duration: 5m
"""


@pytest.mark.parametrize("assignor", [*CLASSIC, *COORDINATED])
def test_topic_without_subscribers_is_not_read_and_the_group_converges(assignor: str) -> None:
    trace = run(loads(MIXED.format(assignor=assignor)), assignor)
    assert set(trace.rounds[0].owner[6:].tolist()) == {3}
    assert trace.rounds[-1].owner.tolist()[6:] == [UNASSIGNED] * 4
    assert (trace.downtime_ms[6:] >= 4 * MINUTE_MS).all()
    assert (trace.downtime_ms[:6] < MINUTE_MS).all()
    assert convergence(trace).verdict is Verdict.STABLE


def test_skew_within_a_topic_is_that_of_its_subscribers() -> None:
    trace = run(loads(MIXED.format(assignor="roundrobin")), "roundrobin")
    assert trace.rounds[0].measures.subtopology_skew == 1
    assert trace.rounds[0].measures.load_skew >= 4


RUNNING = """
cluster:
  brokers: {{count: 1}}
  topics: [{{name: orders, partitions: 6}}]
consumers:
  - group: billing
    topics: [orders]
    starts: running
    clients:
      - {{name: a, partitions: [orders-1, orders-3, orders-5]}}
      - {{name: b, partitions: [orders-0, orders-4]}}
      - {{name: c, partitions: [orders-2]}}
      - {{name: late, starts: false}}
    assignors: [{assignor}]
events: [{{at: 1m, join: {{clients: late}}}}]
duration: 5m
"""


@pytest.mark.parametrize("assignor", [*CLASSIC, *COORDINATED])
def test_running_group_continues_with_its_partitions(assignor: str) -> None:
    trace = run(loads(RUNNING.format(assignor=assignor)), assignor)
    first, second, *_ = trace.rounds
    assert first.owner.tolist() == [1, 0, 2, 0, 1, 0]
    assert first.at_ms == 0
    if "sticky" in assignor or assignor == "uniform":
        kept = [1, 0, 2, 0, 1, 0]
        target = trace.rounds[-1].owner.tolist()
        assert sum(before != after for before, after in zip(kept, target, strict=True)) == 1
    assert second.reason == "late joined"


def test_a_list_with_an_eager_assignor_is_not_sticky() -> None:
    """Members of it revoke before they rejoin, and cooperative-sticky reads only what they own then."""
    text = """
cluster:
  brokers: {count: 1, racks: [az1]}
  topics: [{name: orders, partitions: 24}]
consumers:
  - group: billing
    topics: [orders]
    configs: {partition.assignment.strategy: STRATEGIES}
    clients: [{name: app, count: 4}]
events: [{at: 10m, rolling_bounce: {clients: app-0, down: 30s}}]
duration: 1h
"""
    moves = {}
    for strategies in ("cooperative-sticky", "[cooperative-sticky, range]", "sticky"):
        scenario = loads(text.replace("STRATEGIES", strategies))
        trace = run(scenario, scenario.assignors[0])
        [row] = tabulate(trace, "a", 1)["runs"].to_pylist()
        moves[strategies] = row["active_moves"]
    assert moves["cooperative-sticky"] == moves["sticky"] == 12  # The partitions of one member, and back.
    assert moves["[cooperative-sticky, range]"] > 12
