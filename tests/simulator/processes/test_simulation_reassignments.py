"""Effects of replica reassignments on an application: traffic, rebalances and read locations."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings

from assignors.model.ids import TopicPartition
from simulator.brokers.partition_locations import ClusterMetadata
from simulator.brokers.replication_control import PartitionState
from simulator.flows.traffic import TrafficKind
from simulator.results.tabulation import tabulate
from simulator.results.trace import Trace
from simulator.timeline import timeline
from simulator.world.changes import ReplicationStep
from simulator.world.disturbances import Join, LeaderElection, Reassignment, ReassignmentTarget
from simulator.world.layout import lay_out
from simulator.world.world import World
from tests.simulator.brokers.replica_states import partition_states, replica_states
from tests.simulator.random_worlds import disturbed_worlds
from tests.simulator.small_world_runs import run
from tests.simulator.world_builders import HOUR, with_clients, with_late_clients, world

MB = 1_000_000
REASSIGNMENT = TrafficKind.REASSIGNMENT


def reassignment(name: str, partition: int, *brokers: int, throttle: int | None = 10 * MB) -> Reassignment:
    target = ReassignmentTarget(TopicPartition(name, partition), brokers)
    return Reassignment(HOUR, (target,), throttle, election=LeaderElection.AT_END)


def reassignment_bytes(trace: Trace) -> float:
    return sum(float(round_.traffic[REASSIGNMENT].sum()) for round_ in trace.rounds)


def reasons(trace: Trace) -> list[str]:
    return [round_.reason for round_ in trace.rounds[1:]]


def test_copied_bytes_are_reassignment_traffic_between_racks() -> None:
    base = with_clients(world(), announces_rack=False)
    trace = run(base, reassignment("app-counts-changelog", 0, 2, 0))
    size_bytes = 600 * MB + HOUR // 1000 * 100_000
    assert reassignment_bytes(trace) == pytest.approx(size_bytes * 9.9 / 9.8, rel=2e-5), (
        "broker 1 uses its share of the 10 MB/s"
    )
    rows = [row for row in tabulate(trace, "some", 1)["traffic"].to_pylist() if row["kind"] == "reassignment"]
    assert [(row["from_rack"], row["to_rack"]) for row in rows] == [("az1", "az3")]


@pytest.mark.parametrize("throttle", [None, 10 * MB])
def test_unthrottled_copies_count_the_same_bytes(throttle: int | None) -> None:
    base = dataclasses.replace(world(), duration_ms=2 * HOUR)
    trace = run(base, reassignment("app-counts-changelog", 0, 2, 0, throttle=throttle))
    assert reassignment_bytes(trace) == pytest.approx(960 * MB, rel=0.03)


def test_traffic_of_a_copy_is_split_between_rounds() -> None:
    join = Join(HOUR + 50_000, ("late",))
    trace = run(with_late_clients(world(), "late"), reassignment("app-counts-changelog", 0, 2, 0), join)
    first, *others = [float(round_.traffic[REASSIGNMENT].sum()) for round_ in trace.rounds]
    assert first == pytest.approx((trace.rounds[1].at_ms - HOUR) / 1000 * 9.9 * MB, rel=1e-6)
    assert sum(others) == pytest.approx(
        reassignment_bytes(run(world(), *trace.world.disturbances[:1])) - first, rel=1e-6
    )


def test_rebalances_when_racks_of_replicas_change() -> None:
    trace = run(world(), reassignment("views", 0, 1))
    assert reasons(trace) == ["replicas of views-0 moved"] * 2
    assert trace.rounds[1].requested_at_ms == HOUR
    [*_, done_at_ms] = [timed.at_ms for timed in timeline(trace.world)]
    assert trace.rounds[2].requested_at_ms == done_at_ms


@pytest.mark.parametrize(
    ("name", "brokers"), [("clicks", (1, 0)), ("clicks", (3, 1)), ("app-counts-changelog", (2, 0))]
)
def test_no_rebalance_if_racks_of_source_partitions_stay(name: str, brokers: tuple[int, ...]) -> None:
    assert reasons(run(world(), reassignment(name, 0, *brokers))) == []


def test_steady_state_traffic_uses_the_leaders_at_the_end() -> None:
    [before] = run(world()).rounds
    [after] = run(world(), reassignment("clicks", 0, 1, 0)).rounds
    assert after.steady_state[TrafficKind.SOURCE_READ].sum() == before.steady_state[TrafficKind.SOURCE_READ].sum()
    assert (after.steady_state[TrafficKind.SOURCE_READ] != before.steady_state[TrafficKind.SOURCE_READ]).any()


def test_copying_replica_has_a_rack_and_serves_no_reads() -> None:
    layout = lay_out(world())
    brokers = ClusterMetadata(world(), layout)
    name = TopicPartition("views", 0)
    row = layout.partitions.index(name)
    before = brokers.locations().followers[row].sum()
    state = PartitionState(name, (1, 2, 0), 0, (1,), (2, 0))
    assert brokers.apply(replica_states(world(), state)).to_other_racks == [name]
    locations = brokers.locations()
    assert locations.table.in_rack[row].tolist() == [True, True, True]
    assert locations.served_in[row].tolist() == [True, False, True]
    assert locations.followers[row].sum() == before + 1, "broker 2 only"


def test_reassignment_steps_name_their_partitions() -> None:
    trace = run(world(), reassignment("views", 0, 1))
    assert [str(timed.change) for timed in trace.changes] == [
        "reassignment of 1 partition begins",
        "views-0 has its new replicas; reassignment is done",
    ]


@settings(max_examples=60)
@given(disturbed_worlds())
def test_leaders_are_in_sync_and_replicas_unique_under_random_disturbances(base: World) -> None:
    for timed in timeline(base):
        if isinstance(timed.change, ReplicationStep):
            for _, replicas, leader, copying, in_sync, _ in partition_states(base, timed.change.states):
                assert len(set(replicas)) == len(replicas)
                assert leader == -1 or leader in in_sync
                assert set(in_sync) <= set(replicas) - set(copying)
                assert set(copying) <= set(replicas)
            assert all(transfer.amount > 0 for transfer in (*timed.change.copied, *timed.change.copying))
