"""What reassignments do to an application: its bytes, its rebalances, and where it reads."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings

from assignors.model.ids import TopicPartition
from simulator.brokers.partition_locations import ClusterMetadata
from simulator.flows.traffic import TrafficKind
from simulator.results.tabulation import tabulate
from simulator.results.trace import Trace
from simulator.timeline import timeline
from simulator.world.changes import PartitionState, ReassignmentStep
from simulator.world.disturbances import Join, LeaderElection, Reassignment, ReassignmentTarget
from simulator.world.layout import lay_out
from simulator.world.world import World
from tests.simulator.random_worlds import disturbed_worlds
from tests.simulator.small_world_runs import run
from tests.simulator.world_builders import HOUR, with_clients, with_late, world

MB = 1_000_000
COPIED = TrafficKind.REASSIGNMENT


def reassignment(name: str, partition: int, *brokers: int, throttle: int | None = 10 * MB) -> Reassignment:
    target = ReassignmentTarget(TopicPartition(name, partition), brokers)
    return Reassignment(HOUR, (target,), throttle, election=LeaderElection.AT_END)


def copied(trace: Trace) -> float:
    return sum(float(each.traffic[COPIED].sum()) for each in trace.rounds)


def reasons(trace: Trace) -> list[str]:
    return [each.reason for each in trace.rounds[1:]]


def test_what_is_copied_is_a_kind_of_traffic_of_its_own_and_costs_where_racks_are_crossed() -> None:
    still = with_clients(world(), announces_rack=False)
    moved = run(still, reassignment("app-counts-changelog", 0, 2, 0))
    held = 600 * MB + HOUR // 1000 * 100_000
    assert copied(moved) == pytest.approx(held * 9.9 / 9.8, rel=2e-5), "broker 1 takes its part of the 10 MB/s"
    rows = [row for row in tabulate(moved, "some", 1)["traffic"].to_pylist() if row["kind"] == "reassignment"]
    assert [(row["from_rack"], row["to_rack"]) for row in rows] == [("az1", "az3")]


@pytest.mark.parametrize("throttle", [None, 10 * MB])
def test_bytes_that_are_copied_at_once_count_like_others(throttle: int | None) -> None:
    no_growth = dataclasses.replace(world(), duration_ms=2 * HOUR)
    trace = run(no_growth, reassignment("app-counts-changelog", 0, 2, 0, throttle=throttle))
    assert copied(trace) == pytest.approx(960 * MB, rel=0.03)


def test_what_goes_on_when_a_round_ends_is_shared_out_between_rounds() -> None:
    joined = Join(HOUR + 50_000, ("late",))
    trace = run(with_late(world(), "late"), reassignment("app-counts-changelog", 0, 2, 0), joined)
    first, *others = [float(each.traffic[COPIED].sum()) for each in trace.rounds]
    assert first == pytest.approx((trace.rounds[1].at_ms - HOUR) / 1000 * 9.9 * MB, rel=1e-6)
    assert sum(others) == pytest.approx(copied(run(world(), *trace.world.disturbances[:1])) - first, rel=1e-6)


def test_members_join_anew_when_racks_are_added_and_again_when_they_go() -> None:
    trace = run(world(), reassignment("views", 0, 1))
    assert reasons(trace) == ["replicas of views-0 moved"] * 2
    assert trace.rounds[1].requested_at_ms == HOUR
    [*_, done] = [timed.at_ms for timed in timeline(trace.world)]
    assert trace.rounds[2].requested_at_ms == done


@pytest.mark.parametrize(
    ("name", "brokers"), [("clicks", (1, 0)), ("clicks", (3, 1)), ("app-counts-changelog", (2, 0))]
)
def test_what_leaves_the_racks_of_sources_as_they_are_calls_for_no_rebalance(
    name: str, brokers: tuple[int, ...]
) -> None:
    assert reasons(run(world(), reassignment(name, 0, *brokers))) == []


def test_the_traffic_at_rest_is_that_after_leaders_have_moved() -> None:
    [before] = run(world()).rounds
    [after] = run(world(), reassignment("clicks", 0, 1, 0)).rounds
    assert after.steady_state[TrafficKind.SOURCE_READ].sum() == before.steady_state[TrafficKind.SOURCE_READ].sum()
    assert (after.steady_state[TrafficKind.SOURCE_READ] != before.steady_state[TrafficKind.SOURCE_READ]).any()


def test_a_replica_that_copies_is_known_by_its_rack_and_serves_nobody() -> None:
    layout = lay_out(world())
    brokers = ClusterMetadata(world(), layout)
    name = TopicPartition("views", 0)
    row = layout.partitions.index(name)
    before = brokers.locations().followers[row].sum()
    totals = PartitionState(name, (1, 2, 0), 0, (1,), (2, 0))
    assert brokers.apply_reassignment([totals]) == [name]
    locations = brokers.locations()
    assert locations.table.in_rack[row].tolist() == [True, True, True]
    assert locations.served_in[row].tolist() == [True, False, True]
    assert locations.followers[row].sum() == before + 1, "broker 2, and not broker 1"
    brokers.stop_brokers((0,))
    assert brokers.locations().leader_rack[row] == layout.racks.index("az3"), "who copies does not lead"


def test_an_event_tells_what_happened_to_which_partitions() -> None:
    trace = run(world(), reassignment("views", 0, 1))
    assert [str(timed.change) for timed in trace.changes] == [
        "reassignment of 1 partition begins",
        "views-0 has its new replicas; reassignment is done",
    ]


@settings(max_examples=60)
@given(disturbed_worlds())
def test_whatever_happens_a_partition_is_led_by_a_replica_in_sync_and_no_broker_stands_twice(base: World) -> None:
    for timed in timeline(base):
        if isinstance(timed.change, ReassignmentStep):
            for _, replicas, leader, copying, in_sync in timed.change.partitions:
                assert len(set(replicas)) == len(replicas)
                assert leader == -1 or leader in in_sync
                assert set(in_sync) <= set(replicas) - set(copying)
                assert set(copying) <= set(replicas)
            assert all(each.amount > 0 for each in (*timed.change.copied, *timed.change.copying))
