"""What KIP-925 discussed and Kafka did not ship: what each alternative changes, and what it buys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from assignors import registry
from assignors.errors import UnknownAssignorError
from assignors.model.assignment import AssignmentColumns, TaskAssignor
from assignors.model.columns import NO_RACK, IntArray
from assignors.model.configs import AssignmentConfigs, RackAwareStrategy
from assignors.model.ids import ProcessId, TaskId, TopicPartition
from assignors.model.state import (
    NO_LAG,
    ApplicationState,
    KafkaStreamsState,
    TaskInfo,
    TaskTopicPartition,
    previous_holders,
)
from assignors.model.traffic_rates import PartitionRate, TrafficRates, TrafficUnit, rates_of_topics
from assignors.tasks.high_availability import HighAvailability
from assignors.tasks.partition_weights import MAX_WEIGHT, partition_weights
from assignors.tasks.rack_aware_variant import (
    CurrentOverlap,
    MinBytes,
    RackAwareVariant,
    ReliableStandbys,
    SubtopologyBalance,
)
from tests.assignors.tasks.subtopology_skew import answer, problem, with_strategy
from tests.contract.random_applications import RandomApplication

RATES = {"in0": 50_000_000, "in1": 1_000, "in2": 2_000_000, "in3": 10}


def lives(number: int, **changed: object) -> list[ApplicationState]:
    """States of groups that somebody has just joined or left, by min_traffic, with all copies caught up."""
    states = []
    for seed in range(number):
        life = RandomApplication.from_seed(seed)
        configs = replace(life.configs, rack_aware_assignment_strategy=RackAwareStrategy.MIN_TRAFFIC)
        life.configs = replace(configs, **changed)  # type: ignore[arg-type]
        for _ in range(2):
            life.apply(HighAvailability().assign(life.state()))
            life.apply_random_event()
        state = life.state()
        states.append(replace(state, lags=np.where(state.lags == NO_LAG, NO_LAG, 0)))
    return states


def columns(state: ApplicationState, assignor: TaskAssignor) -> AssignmentColumns:
    return AssignmentColumns.of(state, assignor.assign(state))


def test_as_it_stands_it_is_high_availability_with_min_traffic_task_for_task() -> None:
    for seed in range(60):
        life = RandomApplication.from_seed(seed)
        life.configs = replace(life.configs, rack_aware_assignment_strategy=RackAwareStrategy.MIN_TRAFFIC)
        for _ in range(3):
            life.apply_random_event()
            state = life.state()
            assert RackAwareVariant().assign(state) == HighAvailability().assign(state), seed
            life.apply(HighAvailability().assign(state))


@pytest.mark.parametrize(
    "variant", [ReliableStandbys(), CurrentOverlap(), SubtopologyBalance(), MinBytes(bytes_per_s=RATES)]
)
def test_where_racks_are_not_known_it_is_high_availability_without_a_strategy(variant: RackAwareVariant) -> None:
    for state in lives(20):
        nowhere = replace(state, clients=replace(state.clients, rack=np.full(len(state.clients), NO_RACK)))
        assert variant.assign(nowhere) == HighAvailability().assign(with_strategy(nowhere, RackAwareStrategy.NONE))


def in_one_rack(state: ApplicationState, found: AssignmentColumns) -> int:
    """Stateful tasks all of whose copies are in one rack, although there is a client in another."""
    holds = found.standby.copy()
    holds[np.arange(len(found.active)), found.active] = True
    racks = state.clients.rack
    rows = np.flatnonzero(state.tasks.stateful)
    return sum(len(set(racks[holds[row]].tolist())) == 1 for row in rows) if len(set(racks.tolist())) > 1 else 0


def standby_traffic(state: ApplicationState, found: AssignmentColumns) -> int:
    return int(state.remote_partitions(state.tasks.changelog)[found.standby].sum())


def test_reliable_standbys_leave_no_task_in_one_rack_where_kafka_leaves_many() -> None:
    ours, theirs = 0, 0
    for state in lives(80, num_standby_replicas=1, rack_aware_assignment_tags=()):
        ours += in_one_rack(state, columns(state, ReliableStandbys()))
        theirs += in_one_rack(state, columns(state, HighAvailability()))
    assert ours == 0
    assert theirs > 100


def test_without_reliability_the_flow_finds_cheaper_standbys_than_kafkas_exchange() -> None:
    ours, theirs = 0, 0
    cheapest = ReliableStandbys(reliable_standbys=0)
    for state in lives(80, num_standby_replicas=1, rack_aware_assignment_tags=(), rack_aware_non_overlap_cost=0):
        ours += standby_traffic(state, columns(state, cheapest))
        theirs += standby_traffic(state, columns(state, HighAvailability()))
    assert ours < theirs


def overlap_cost(state: ApplicationState, found: AssignmentColumns) -> int:
    """Of stateful tasks, against who ran them."""
    rows = np.flatnonzero(state.tasks.stateful)
    remote = state.remote_partitions(state.tasks.source)[rows, found.active[rows]]
    return int(10 * remote.sum() + (~previous_holders(state)[0][rows, found.active[rows]]).sum())


def test_against_the_current_assignment_it_no_answer_costs_more_than_kafkas_and_all_together_cost_less() -> None:
    ours, theirs = 0, 0
    for state in lives(80, rack_aware_traffic_cost=10, rack_aware_non_overlap_cost=1):
        mine, kafkas = (overlap_cost(state, columns(state, each)) for each in (CurrentOverlap(), HighAvailability()))
        assert mine <= kafkas
        ours, theirs = ours + mine, theirs + kafkas
    assert ours < theirs


def test_the_exact_balance_gives_every_client_its_share_of_every_subtopology_by_threads() -> None:
    for state in lives(80):
        found, total = columns(state, SubtopologyBalance()), int(state.clients.threads.sum())
        for subtopology in np.unique(state.tasks.subtopology):
            owners = found.active[state.tasks.subtopology == subtopology]
            counts, shares = np.bincount(owners, minlength=len(state.clients)), len(owners) * state.clients.threads
            assert (counts >= shares // total).all()
            assert (counts <= -(-shares // total)).all()


def test_the_published_balance_is_less_even_and_reads_more_across_racks_than_the_exact_one() -> None:
    published, exact = [], []
    for seed in range(60):
        state = problem(seed)
        published.append(answer(state, HighAvailability()))
        exact.append(answer(state, SubtopologyBalance()))
    assert max(found.skew for found in exact) == max(found.total_skew for found in exact) == 1
    assert max(found.skew for found in published) >= 3
    assert sum(found.remote for found in exact) < sum(found.remote for found in published)


def byte_cost(state: ApplicationState, found: AssignmentColumns) -> int:
    weights = partition_weights(state, rates_of_topics(state, RATES))
    rows = np.arange(len(found.active))
    far: IntArray = ~state.partitions.in_rack * weights.weights[:, None]
    return int(state.tasks.source.sum(far)[rows, state.clients.rack[found.active]].sum())


def test_weighed_by_bytes_no_more_bytes_cross_racks_than_with_partitions_counted() -> None:
    ours, theirs = 0, 0
    for state in lives(80, rack_aware_traffic_cost=1, rack_aware_non_overlap_cost=0):
        mine, kafkas = (
            byte_cost(state, columns(state, each)) for each in (MinBytes(bytes_per_s=RATES), HighAvailability())
        )
        assert mine <= kafkas
        ours, theirs = ours + mine, theirs + kafkas
    assert ours < theirs


def state_reading(topics: Mapping[str, int]) -> ApplicationState:
    """One task for each partition of topics that have so many."""
    tasks = [
        TaskInfo(
            TaskId(number, partition),
            False,
            (TaskTopicPartition(TopicPartition(topic, partition), True, False, ("a",)),),
        )
        for number, (topic, partitions) in enumerate(topics.items())
        for partition in range(partitions)
    ]
    return ApplicationState.of(tasks, [KafkaStreamsState(ProcessId(0, 1), 1, "a")], AssignmentConfigs())


def test_a_topics_bytes_are_shared_by_its_partitions_and_unnamed_topics_weigh_the_mean() -> None:
    state = state_reading({"busy": 2, "quiet": 2, "unnamed": 1})
    rates = rates_of_topics(state, {"busy": 8_000, "quiet": 2_000, "elsewhere": 9_999_999})
    found = partition_weights(state, rates)
    weighed = zip(state.partitions.names, found.weights, strict=True)
    named = {partition.topic: int(weight) for partition, weight in weighed}
    assert named == {"busy": MAX_WEIGHT, "quiet": MAX_WEIGHT // 4, "unnamed": MAX_WEIGHT * 5 // 8}
    assert found.mean == MAX_WEIGHT * 5 // 8


@pytest.mark.parametrize("rates", [None, TrafficRates({})])
def test_where_no_rate_is_known_every_partition_weighs_the_same(rates: TrafficRates | None) -> None:
    assert set(partition_weights(state_reading({"busy": 2, "quiet": 1}), rates).weights.tolist()) == {1}


def test_told_what_flows_it_weighs_that_and_what_topics_are_said_to_carry_goes_before_it() -> None:
    made = MinBytes()
    differs = 0
    for state in lives(20, rack_aware_traffic_cost=1, rack_aware_non_overlap_cost=0):
        told = made.with_rates(rates_of_topics(state, RATES))
        assert told.assign(state) == MinBytes(bytes_per_s=RATES).assign(state)
        assert MinBytes(bytes_per_s=RATES, rates=TrafficRates({})).assign(state) == told.assign(state)
        differs += told.assign(state) != made.assign(state)
    assert made.needs_rates
    assert not told.needs_rates
    assert not MinBytes(bytes_per_s=RATES).needs_rates
    assert not ReliableStandbys().needs_rates
    assert ReliableStandbys(minimises=TrafficUnit.BYTES).needs_rates
    assert differs > 3


def test_where_leaders_serve_a_replica_in_the_rack_is_no_help() -> None:
    state = state_reading({"busy": 1})
    led_from = {"a": 0, "b": 1}
    for rack, remote in led_from.items():
        rates = TrafficRates({TopicPartition("busy", 0): PartitionRate(5, rack)}, reads_from_nearest=False)
        assert partition_weights(state, rates).is_remote.tolist() == [[bool(remote)]]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"bytes_per_s": {"orders": "much"}}, "bytes_per_s of orders must be a whole number"),
        ({"bytes_per_s": {"orders": -1}}, "bytes_per_s of orders must be a whole number, 0 or more, not -1"),
        ({"bytes_per_s": 5}, "must map topics to bytes per second"),
        ({"minimises": "dollars"}, "`minimises` must be one of partitions, bytes, not 'dollars'"),
        ({"minimises": "partitions", "bytes_per_s": {"orders": 5}}, "bytes_per_s has no effect"),
        ({"standby_step": "greedy"}, "'greedy' is not a valid StandbyStep"),
        ({"reliable_standbys": -1}, "reliable_standbys must be a whole number, 0 or more, not -1"),
        ({"reliable_standbys": "one"}, "reliable_standbys must be a whole number"),
    ],
)
def test_parameters_that_mean_nothing_are_refused(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(UnknownAssignorError, match=message):
        registry.make(registry.find("ha_min_bytes"), parameters)


def test_what_it_was_given_cannot_be_changed_from_outside() -> None:
    given = {"orders": 5}
    made = MinBytes(bytes_per_s=given)
    given["orders"] = 7
    assert made.bytes_per_s == {"orders": 5}
    assert hash(made) == hash(MinBytes(bytes_per_s={"orders": 5}))
    with pytest.raises(TypeError):
        made.bytes_per_s["orders"] = 7  # type: ignore[index]
