"""Alternatives of KIP-925 that Kafka did not ship: what each changes, and what it saves."""

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
from assignors.tasks.rack_aware_variant import (
    MAX_WEIGHT,
    CurrentOverlap,
    MinBytes,
    RackAwareVariant,
    ReliableStandbys,
    SubtopologyBalance,
    partition_weights,
)
from tests.assignors.tasks.subtopology_skew import measure_skew, problem, with_strategy
from tests.contract.random_applications import RandomApplication

RATES = {"in0": 50_000_000, "in1": 1_000, "in2": 2_000_000, "in3": 10}


def states_after_events(number: int, **changed: object) -> list[ApplicationState]:
    """Return states of min_traffic groups after a client joined or left, with all copies caught up."""
    states = []
    for seed in range(number):
        application = RandomApplication.from_seed(seed)
        configs = replace(application.configs, rack_aware_assignment_strategy=RackAwareStrategy.MIN_TRAFFIC)
        application.configs = replace(configs, **changed)  # type: ignore[arg-type]
        for _ in range(2):
            application.apply(HighAvailability().assign(application.state()))
            application.apply_random_event()
        state = application.state()
        states.append(replace(state, lags=np.where(state.lags == NO_LAG, NO_LAG, 0)))
    return states


def columns(state: ApplicationState, assignor: TaskAssignor) -> AssignmentColumns:
    return AssignmentColumns.of(state, assignor.assign(state))


def test_default_variant_equals_high_availability_with_min_traffic() -> None:
    for seed in range(60):
        application = RandomApplication.from_seed(seed)
        application.configs = replace(application.configs, rack_aware_assignment_strategy=RackAwareStrategy.MIN_TRAFFIC)
        for _ in range(3):
            application.apply_random_event()
            state = application.state()
            assert RackAwareVariant().assign(state) == HighAvailability().assign(state), seed
            application.apply(HighAvailability().assign(state))


@pytest.mark.parametrize(
    "variant", [ReliableStandbys(), CurrentOverlap(), SubtopologyBalance(), MinBytes(bytes_per_s=RATES)]
)
def test_unknown_racks_give_high_availability_without_a_strategy(variant: RackAwareVariant) -> None:
    for state in states_after_events(20):
        nowhere = replace(state, clients=replace(state.clients, rack=np.full(len(state.clients), NO_RACK)))
        assert variant.assign(nowhere) == HighAvailability().assign(with_strategy(nowhere, RackAwareStrategy.NONE))


def tasks_without_rack_redundancy(state: ApplicationState, assigned: AssignmentColumns) -> int:
    """Return the number of stateful tasks whose copies are all in one rack, although a client is in another."""
    holds = assigned.standby.copy()
    holds[np.arange(len(assigned.active)), assigned.active] = True
    racks = state.clients.rack
    rows = np.flatnonzero(state.tasks.stateful)
    return sum(len(set(racks[holds[row]].tolist())) == 1 for row in rows) if len(set(racks.tolist())) > 1 else 0


def standby_traffic(state: ApplicationState, assigned: AssignmentColumns) -> int:
    return int(state.remote_partitions(state.tasks.changelog)[assigned.standby].sum())


def test_reliable_standbys_reduce_tasks_without_rack_redundancy() -> None:
    variant_total, kafka_total = 0, 0
    for state in states_after_events(80, num_standby_replicas=1, rack_aware_assignment_tags=()):
        variant_total += tasks_without_rack_redundancy(state, columns(state, ReliableStandbys()))
        kafka_total += tasks_without_rack_redundancy(state, columns(state, HighAvailability()))
    assert variant_total == 0
    assert kafka_total > 100


def test_standby_flow_without_reliability_is_cheaper_than_kafkas_exchange() -> None:
    variant_total, kafka_total = 0, 0
    cheapest = ReliableStandbys(reliable_standbys=0)
    for state in states_after_events(
        80, num_standby_replicas=1, rack_aware_assignment_tags=(), rack_aware_non_overlap_cost=0
    ):
        variant_total += standby_traffic(state, columns(state, cheapest))
        kafka_total += standby_traffic(state, columns(state, HighAvailability()))
    assert variant_total < kafka_total


def overlap_cost(state: ApplicationState, assigned: AssignmentColumns) -> int:
    """Return the cost of stateful tasks, with moves from the previous owners."""
    rows = np.flatnonzero(state.tasks.stateful)
    remote = state.remote_partitions(state.tasks.source)[rows, assigned.active[rows]]
    return int(10 * remote.sum() + (~previous_holders(state)[0][rows, assigned.active[rows]]).sum())


def test_current_overlap_never_costs_more_than_kafka_and_less_in_total() -> None:
    variant_total, kafka_total = 0, 0
    for state in states_after_events(80, rack_aware_traffic_cost=10, rack_aware_non_overlap_cost=1):
        variant_cost, kafka_cost = (
            overlap_cost(state, columns(state, assignor)) for assignor in (CurrentOverlap(), HighAvailability())
        )
        assert variant_cost <= kafka_cost
        variant_total, kafka_total = variant_total + variant_cost, kafka_total + kafka_cost
    assert variant_total < kafka_total


def test_exact_balance_gives_every_client_its_share_of_every_subtopology() -> None:
    for state in states_after_events(80):
        assigned, total = columns(state, SubtopologyBalance()), int(state.clients.threads.sum())
        for subtopology in np.unique(state.tasks.subtopology):
            owners = assigned.active[state.tasks.subtopology == subtopology]
            counts, shares = np.bincount(owners, minlength=len(state.clients)), len(owners) * state.clients.threads
            assert (counts >= shares // total).all()
            assert (counts <= -(-shares // total)).all()


def test_published_balance_is_less_even_and_costs_more_than_the_exact_one() -> None:
    published, exact = [], []
    for seed in range(60):
        state = problem(seed)
        published.append(measure_skew(state, HighAvailability()))
        exact.append(measure_skew(state, SubtopologyBalance()))
    assert max(result.skew for result in exact) == max(result.total_skew for result in exact) == 1
    assert max(result.skew for result in published) >= 3
    assert sum(result.remote for result in exact) < sum(result.remote for result in published)


def byte_cost(state: ApplicationState, assigned: AssignmentColumns) -> int:
    weights = partition_weights(state, rates_of_topics(state, RATES))
    rows = np.arange(len(assigned.active))
    far: IntArray = ~state.partitions.in_rack * weights.weights[:, None]
    return int(state.tasks.source.sum(far)[rows, state.clients.rack[assigned.active]].sum())


def test_min_bytes_never_increases_cross_rack_bytes() -> None:
    variant_total, kafka_total = 0, 0
    for state in states_after_events(80, rack_aware_traffic_cost=1, rack_aware_non_overlap_cost=0):
        variant_cost, kafka_cost = (
            byte_cost(state, columns(state, assignor)) for assignor in (MinBytes(bytes_per_s=RATES), HighAvailability())
        )
        assert variant_cost <= kafka_cost
        variant_total, kafka_total = variant_total + variant_cost, kafka_total + kafka_cost
    assert variant_total < kafka_total


def state_reading(topics: Mapping[str, int]) -> ApplicationState:
    """Return one task for each partition of the topics."""
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


def test_bytes_of_a_topic_are_divided_by_its_partitions_and_unnamed_topics_get_the_mean() -> None:
    state = state_reading({"busy": 2, "quiet": 2, "unnamed": 1})
    rates = rates_of_topics(state, {"busy": 8_000, "quiet": 2_000, "elsewhere": 9_999_999})
    weights = partition_weights(state, rates)
    weighed = zip(state.partitions.names, weights.weights, strict=True)
    named = {partition.topic: int(weight) for partition, weight in weighed}
    assert named == {"busy": MAX_WEIGHT, "quiet": MAX_WEIGHT // 4, "unnamed": MAX_WEIGHT * 5 // 8}
    assert weights.mean == MAX_WEIGHT * 5 // 8


@pytest.mark.parametrize("rates", [None, TrafficRates({})])
def test_partitions_have_equal_weights_without_any_rate(rates: TrafficRates | None) -> None:
    assert set(partition_weights(state_reading({"busy": 2, "quiet": 1}), rates).weights.tolist()) == {1}


def test_bytes_per_s_overrides_rates() -> None:
    without_rates = MinBytes()
    differs = 0
    for state in states_after_events(20, rack_aware_traffic_cost=1, rack_aware_non_overlap_cost=0):
        with_rates = without_rates.with_rates(rates_of_topics(state, RATES))
        assert with_rates.assign(state) == MinBytes(bytes_per_s=RATES).assign(state)
        assert MinBytes(bytes_per_s=RATES, rates=TrafficRates({})).assign(state) == with_rates.assign(state)
        differs += with_rates.assign(state) != without_rates.assign(state)
    assert without_rates.needs_rates
    assert not with_rates.needs_rates
    assert not MinBytes(bytes_per_s=RATES).needs_rates
    assert not ReliableStandbys().needs_rates
    assert ReliableStandbys(minimizes=TrafficUnit.BYTES).needs_rates
    assert differs > 3


def test_replica_in_the_rack_saves_nothing_if_leaders_serve() -> None:
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
        ({"minimizes": "dollars"}, "`minimizes` must be one of partitions, bytes, not 'dollars'"),
        ({"minimizes": "partitions", "bytes_per_s": {"orders": 5}}, "bytes_per_s has no effect"),
        ({"standby_step": "greedy"}, "'greedy' is not a valid StandbyStep"),
        ({"reliable_standbys": -1}, "reliable_standbys must be a whole number, 0 or more, not -1"),
        ({"reliable_standbys": "one"}, "reliable_standbys must be a whole number"),
    ],
)
def test_invalid_parameters_are_rejected(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(UnknownAssignorError, match=message):
        registry.make(registry.find("ha_min_bytes"), parameters)


def test_bytes_per_s_is_copied() -> None:
    bytes_per_s = {"orders": 5}
    made = MinBytes(bytes_per_s=bytes_per_s)
    bytes_per_s["orders"] = 7
    assert made.bytes_per_s == {"orders": 5}
    assert hash(made) == hash(MinBytes(bytes_per_s={"orders": 5}))
    with pytest.raises(TypeError):
        made.bytes_per_s["orders"] = 7  # type: ignore[index]
