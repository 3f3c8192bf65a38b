"""Consumer groups that are converted to the consumer protocol: when members rejoin, and who waits for whom."""

from __future__ import annotations

import numpy as np
import pytest

from assignors.model.assignment import UNASSIGNED
from scenarios.load import loads
from scenarios.run import run
from simulator.results.trace import Trace

MINUTE_MS = 60_000
GAP_MS = 10
"""From the revocation of partitions until the member has joined again."""


def converted_run(
    strategy: str, events: str, *, static: bool = False, poll: str = "0ms", count: int = 3, minutes: int = 10
) -> Trace:
    """Simulate a classic group with 12 partitions, beside which `new` has the consumer protocol."""
    text = f"""
cluster:
  brokers: {{count: 1, racks: [az1]}}
  topics: [{{name: orders, partitions: 12, bytes_per_s: 1 MB/s}}]
consumers:
  - group: billing
    topics: [orders]
    configs: {{partition.assignment.strategy: {strategy}}}
    poll_interval: {poll}
    clients:
      - {{name: m, count: {count}, static_membership: {str(static).lower()}}}
      - {{name: new, starts: false, configs: {{group.protocol: consumer}}}}
      - {{name: late, starts: false}}
events:
{events}
duration: {minutes}m
"""
    scenario = loads(text)
    trace = run(scenario, scenario.assignors[0])
    assert trace.failure is None, trace.failure
    return trace


def owners(trace: Trace) -> list[int]:
    """Return how many partitions each client has at the end, descending."""
    owner = trace.rounds[-1].owner
    assert (owner != UNASSIGNED).all()
    return sorted(((owner == row).sum() for row in set(owner.tolist())), reverse=True)


JOIN = "  - {at: 1m, join: {clients: new}}"


def test_joining_member_converts_the_group_at_once() -> None:
    trace = converted_run("range", JOIN)
    [_, conversion] = trace.rounds
    assert conversion.at_ms == MINUTE_MS
    assert conversion.number == 2, "the epoch continues the generation"
    assert conversion.reason == "new joined, the assignor is now uniform"


def test_eager_members_rejoin_one_by_one_without_waiting_for_others() -> None:
    down = sorted(converted_run("range", JOIN).downtime_ms.tolist())
    # Of 12 partitions, 3 move, which wait for heartbeats; the others stop only while their member rejoins.
    assert down[:9] == [GAP_MS] * 9
    assert all(ms > GAP_MS for ms in down[9:])


def test_cooperative_members_stop_only_what_moves() -> None:
    trace = converted_run("cooperative-sticky", JOIN)
    down = sorted(trace.downtime_ms.tolist())
    assert down[:9] == [0] * 9
    # The coordinator knows that a partition is free 10 ms after its revocation, and gives it with the next heartbeat.
    assert all(GAP_MS <= ms <= 5_000 + GAP_MS for ms in down[9:])


def test_departure_of_the_last_member_with_the_consumer_protocol_converts_the_group_back() -> None:
    trace = converted_run("range", JOIN + "\n  - {at: 3m, leave: {clients: new}}")
    [_, _, back] = trace.rounds
    assert back.reason == "new left, the assignor is now range"
    assert back.at_ms > 3 * MINUTE_MS, "all members have to rejoin first"


def test_crashed_last_member_with_the_consumer_protocol_is_removed_after_its_session() -> None:
    trace = converted_run("cooperative-sticky", JOIN + "\n  - {at: 3m, crash: {clients: new}}")
    back = trace.rounds[2]
    assert back.reason == "new: session timed out, the assignor is now cooperative-sticky"
    assert 3 * MINUTE_MS + 40_000 <= back.at_ms <= 3 * MINUTE_MS + 50_000


def test_session_of_a_crashed_member_begins_anew_with_the_conversion() -> None:
    trace = converted_run("range", "  - {at: 30s, crash: {clients: m-0}}\n" + JOIN)
    removed = trace.rounds[2]
    assert removed.reason == "m-0: session timed out"
    # The heartbeat of `new` after the session triggers the target.
    assert 105_000 <= removed.at_ms <= 110_000


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_static_members_restart_without_a_new_target(strategy: str) -> None:
    bounce = "  - {at: 1m, rolling_bounce: {clients: m, down: 5s, configs: {group.protocol: consumer}}}"
    trace = converted_run(strategy, bounce, static=True)
    assert len(trace.rounds) == 1
    assert trace.downtime_ms.tolist() == [5_000] * 12
    later = converted_run(strategy, bounce + "\n  - {at: 8m, join: {clients: new}}", static=True)
    assert [round_.reason for round_ in later.rounds[1:]] == ["new joined, the assignor is now uniform"]


def test_member_of_the_classic_protocol_joins_a_converted_group() -> None:
    trace = converted_run("range", JOIN + "\n  - {at: 2m, join: {clients: late}}")
    assert [round_.reason for round_ in trace.rounds[1:]] == ["new joined, the assignor is now uniform", "late joined"]
    assert trace.rounds[2].at_ms == 2 * MINUTE_MS, "its JoinGroup request computes the target"


def test_conversion_during_a_rebalance() -> None:
    """Members that wait for others in a rebalance rejoin the converted group."""
    events = "  - {at: 1m, leave: {clients: m-0}}\n  - {at: 1m, join: {clients: new}}"
    trace = converted_run("range", events, poll="4s")
    assert [round_.reason for round_ in trace.rounds[1:]] == ["new joined, the assignor is now uniform"]
    assert max(trace.downtime_ms) < 20_000


def test_empty_group_changes_its_protocol_with_the_first_member() -> None:
    events = (
        "  - {at: 1m, leave: {clients: m}}\n  - {at: 2m, join: {clients: new}}\n"
        "  - {at: 3m, leave: {clients: new}}\n  - {at: 4m, join: {clients: late}}"
    )
    reasons = [round_.reason for round_ in converted_run("range", events).rounds]
    assert reasons[-2:] == ["new joined, the assignor is now uniform", "late joined, the assignor is now range"]


def test_static_member_that_replaces_the_last_one_of_the_consumer_protocol_converts_the_group_back() -> None:
    bounces = "\n".join(
        f"  - {{at: {minute}m, rolling_bounce: {{clients: m-0, down: 5s, configs: {{group.protocol: {protocol}}}}}}}"
        for minute, protocol in ((1, "consumer"), (3, "classic"))
    )
    trace = converted_run("range", bounces + "\n  - {at: 5m, join: {clients: late}}", static=True)
    assert [round_.reason for round_ in trace.rounds[1:]] == ["late joined"], "the assignor is range as before"
    assert trace.rounds[1].at_ms > 5 * MINUTE_MS, "all members have to rejoin first"


def test_static_member_that_waits_for_its_instance_id_joins_the_group_that_was_converted_back() -> None:
    text = "\n".join(
        (
            "  - {at: 1m, rolling_bounce: {clients: m-0, down: 5s, configs: {group.protocol: consumer}}}",
            "  - {at: 3m, crash: {clients: m-0, down: 10s}}",
        )
    )
    trace = converted_run("range", text, static=True)
    # It cannot replace the member that was killed before the session ends, which converts the group back.
    assert [round_.reason for round_ in trace.rounds[1:]] == ["m-0 joined, the assignor is now uniform"]
    assert 3 * MINUTE_MS + 40_000 <= trace.rounds[1].at_ms <= 3 * MINUTE_MS + 60_000
    assert owners(trace) == [4, 4, 4]


def test_static_member_returns_with_the_classic_protocol_although_it_was_killed() -> None:
    """Two members keep the consumer protocol, so the group is not converted back."""
    consumer = "{at: 1m, rolling_bounce: {clients: m, down: 5s, configs: {group.protocol: consumer}}}"
    killed = "{clients: m-0, down: 5s, close: 20s, grace: 5s, configs: {group.protocol: classic}}"
    text = f"  - {consumer}\n  - {{at: 10m, rolling_bounce: {killed}}}"
    trace = converted_run("range", text, static=True, minutes=15)
    assert len(trace.rounds) == 1, "it replaces its predecessor at once, without a target"
    own = np.flatnonzero(trace.rounds[0].owner == 0)
    assert (trace.downtime_ms[own] > trace.downtime_ms[trace.rounds[0].owner == 1].max()).all()
    assert trace.downtime_ms.max() < 30_000, "not until its session ends"
