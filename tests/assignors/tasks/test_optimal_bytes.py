"""The cheapest assignment in bytes and in dollars is what trying everything finds."""

from __future__ import annotations

import random

import numpy as np
import pytest

from assignors import registry
from assignors.errors import AssignorError, UnknownAssignorError
from assignors.model.assignment import AssignmentColumns, validate_assignment
from assignors.model.state import LATEST_OFFSET, UNKNOWN_OFFSET_SUM, ApplicationState, KafkaStreamsState, TaskInfo
from assignors.model.traffic_rates import PartitionRate, TrafficRates, TrafficUnit
from assignors.objective.cost import Weights
from assignors.optimum.costs import Priority
from assignors.tasks.optimal import Optimal, SolutionStatus
from tests.assignors.tasks.exhaustive import Rules, grown, in_another_order, least_cost, tiny_state
from tests.contract.random_applications import RACKS, RandomApplication, rebalance_until_stable

HORIZON_S = 1_000
GB = 1_000_000_000
ODD = (*RACKS, "rack-without-clients", None)


def random_rates(state: ApplicationState, seed: int, usd_per_gb: float | None = None) -> TrafficRates:
    """Rates of every partition, and what tasks write besides."""
    chance = random.Random(seed)
    partitions = {
        name: PartitionRate(
            bytes_per_s=chance.choice([0, chance.randrange(1_000)]),
            leader_rack=chance.choice(ODD),
            size_bytes=chance.choice([0, 50_000 * chance.randrange(100)]),
            record_bytes=chance.choice([1, 100]),
        )
        for name in sorted(state.partitions.names)
    }
    writes = {
        task: {rack: chance.randrange(500) for rack in chance.sample([*RACKS, "rack-without-clients"], 2)}
        for task in state.tasks.ids
        if chance.random() < 0.5
    }
    return TrafficRates(partitions, writes, chance.random() < 0.5, usd_per_gb)


def is_remote(rates: TrafficRates, partition: PartitionRate, replicas: tuple[str | None, ...], rack: str) -> bool:
    if rates.reads_from_nearest:
        return rack not in replicas
    return partition.leader_rack not in (None, rack)


def bytes_per_s(rates: TrafficRates, task: TaskInfo, client: KafkaStreamsState, standby: bool) -> int:
    """What crosses racks for a copy at rest."""
    assert client.rack_id is not None
    crosses = 0
    for each in task.topic_partitions:
        known = rates.partitions[each.topic_partition]
        if is_remote(rates, known, each.rack_ids or (), client.rack_id) and each.is_source != standby:
            crosses += known.bytes_per_s
        is_written = each.is_changelog and not each.is_source and not standby
        if is_written and known.leader_rack not in (None, client.rack_id):
            crosses += known.bytes_per_s
    if not standby:
        crosses += sum(rate for rack, rate in rates.writes.get(task.id, {}).items() if rack != client.rack_id)
    return crosses


def restored_bytes(state: ApplicationState, rates: TrafficRates, task: TaskInfo, client: KafkaStreamsState) -> float:
    """What crosses racks until a copy is level."""
    logs = [(rates.partitions[each.topic_partition], each) for each in task.topic_partitions if each.is_changelog]
    records = sum(known.size_bytes // known.record_bytes for known, _ in logs)
    if not task.is_stateful or not records:
        return 0.0
    assert client.rack_id is not None
    of_all = [other.lag_for(task.id) for other in state.kafka_streams_states.values()]
    lag = client.lag_for(task.id)
    lacking = {LATEST_OFFSET: 0, UNKNOWN_OFFSET_SUM: max(*of_all, 1)}.get(lag, lag)
    remote = sum(
        known.size_bytes for known, each in logs if is_remote(rates, known, each.rack_ids or (), client.rack_id)
    )
    return lacking * remote / records


def rules_of(state: ApplicationState, rates: TrafficRates, assignor: Optimal, unit: float) -> Rules:
    """What a copy costs, worked out task by task."""
    factor = 1.0 if assignor.minimises == TrafficUnit.BYTES else (rates.usd_per_gb or 0) * 86_400 / GB

    def copy_cost(task: TaskInfo, client: KafkaStreamsState, standby: bool) -> int:
        had = set(client.previous_active_tasks) | (set(client.previous_standby_tasks) if standby else set())
        restored = restored_bytes(state, rates, task, client) / assignor.horizon_s
        moved = (assignor.non_overlap_cost or 0) * (task.is_stateful and task.id not in had)
        return round(((bytes_per_s(rates, task, client, standby) + restored) * factor + moved) / unit)

    return Rules(Weights(1, 1), assignor.slack, assignor.subtopology_slack, copy_cost=copy_cost)


@pytest.mark.parametrize("standbys", [0, 1, 2])
@pytest.mark.parametrize(
    ("minimises", "usd_per_gb", "moving"), [("bytes", None, 0), ("bytes", None, 40), ("dollars", 0.02, 0)]
)
def test_nothing_that_can_be_tried_brings_less_across_racks(
    minimises: str, usd_per_gb: float | None, moving: int, standbys: int
) -> None:
    apart = 0
    for seed in range(400, 408):
        state = tiny_state(seed, standbys)
        rates = random_rates(state, seed, usd_per_gb)
        assignor = Optimal(
            minimises=TrafficUnit(minimises), rates=rates, horizon_s=HORIZON_S, non_overlap_cost=moving or None
        )
        answer = assignor.solve(state)
        slack, _, cost = least_cost(state, rules_of(state, rates, assignor, answer.unit))
        assert (answer.slack, answer.cost) == (slack, cost), seed
        assert answer.status is SolutionStatus.OPTIMAL, seed
        assert validate_assignment(state, answer.assignment) == [], seed
        assert minimises == "dollars" or answer.unit == 1
        apart += answer.target.active.tolist() != Optimal().solve(state).target.active.tolist()
    assert apart > 1


def met_traffic(state: ApplicationState, rates: TrafficRates, columns: AssignmentColumns) -> int:
    tasks, clients = list(state.all_tasks.values()), list(state.kafka_streams_states.values())
    total = sum(bytes_per_s(rates, task, clients[columns.active[row]], False) for row, task in enumerate(tasks))
    held = np.argwhere(columns.standby).tolist()
    return total + sum(bytes_per_s(rates, tasks[row], clients[column], True) for row, column in held)


def moves(state: ApplicationState, columns: AssignmentColumns) -> int:
    tasks, clients = list(state.all_tasks.values()), list(state.kafka_streams_states.values())
    moved = sum(
        task.is_stateful and task.id not in clients[columns.active[row]].previous_active_tasks
        for row, task in enumerate(tasks)
    )
    for row, column in np.argwhere(columns.standby).tolist():
        client = clients[column]
        moved += tasks[row].id not in (*client.previous_active_tasks, *client.previous_standby_tasks)
    return moved


def test_what_has_priority_is_least_and_what_is_told_of_it_is_true() -> None:
    differ = 0
    for seed in range(500, 515):
        state = tiny_state(seed)
        rates = random_rates(state, seed)
        told = {}
        for priority in Priority:
            answer = Optimal(minimises=TrafficUnit.BYTES, rates=rates, horizon_s=1, priority=priority).solve(state)
            assert answer.traffic == met_traffic(state, rates, answer.target), seed
            told[priority] = answer.traffic, moves(state, answer.target)
        least = least_cost(state, rules_of(state, rates, Optimal(minimises=TrafficUnit.BYTES, horizon_s=1e30), 1))
        assert told[Priority.TRAFFIC_FIRST][0] == least[2], seed
        assert min(traffic for traffic, _ in told.values()) == least[2], seed
        assert told[Priority.MOVES_FIRST][1] == min(moved for _, moved in told.values()), seed
        differ += told[Priority.TRAFFIC_FIRST] != told[Priority.MOVES_FIRST]
    assert differ > 3


@pytest.mark.parametrize("priority", list(Priority))
def test_weighing_bytes_the_group_comes_to_rest_whatever_order_it_is_told_in(priority: Priority) -> None:
    for seed in range(5):
        life = RandomApplication.from_seed(seed)
        state = life.state()
        assignor = Optimal(
            minimises=TrafficUnit.BYTES, rates=random_rates(state, seed), horizon_s=60, priority=priority
        )
        for _ in range(2):
            life.apply_random_event()
            state = life.state()
            assert assignor.assign(in_another_order(state, seed)) == assignor.assign(state), seed
            assert rebalance_until_stable(life, assignor, 60) is not None, (seed, life.history)
        state = life.state()
        answer = assignor.solve(state)
        now = AssignmentColumns.of(state, answer.assignment)
        assert now.active.tolist() == answer.target.active.tolist(), seed


def test_the_longer_the_horizon_the_less_crosses_racks_in_the_end() -> None:
    fewer = 0
    for seed in range(12):
        state = grown(seed)
        rates = random_rates(state, seed)
        soon, late = (
            Optimal(minimises=TrafficUnit.BYTES, rates=rates, horizon_s=horizon).solve(state).traffic
            for horizon in (60, 1_000_000)
        )
        assert late <= soon, seed
        fewer += late < soon
    assert fewer > 1


def test_large_rates_are_rounded_to_units_and_proven_all_the_same() -> None:
    for seed in range(15):
        state = grown(seed)
        small = random_rates(state, seed)
        large = TrafficRates(
            {
                name: PartitionRate(known.bytes_per_s * 1_000_000, known.leader_rack)
                for name, known in small.partitions.items()
            },
            reads_from_nearest=small.reads_from_nearest,
        )
        answer = Optimal(minimises=TrafficUnit.BYTES, rates=large).solve(state)
        assert answer.status is SolutionStatus.OPTIMAL
        copies = len(state.tasks) * (1 + state.assignment_configs.num_standby_replicas)
        assert abs(answer.cost * answer.unit - answer.traffic) <= copies * answer.unit
        assert answer.unit > 1 or not answer.traffic


def test_what_topics_are_said_to_carry_goes_before_what_was_told_and_takes_its_price() -> None:
    for seed in range(10):
        state = grown(seed)
        said = {"in0": 5_000, "log0": 700, "in1": 90}
        rates = random_rates(state, seed, usd_per_gb=0.01)
        alone = Optimal(minimises=TrafficUnit.BYTES, bytes_per_s=said).solve(state)
        told = Optimal(minimises=TrafficUnit.BYTES, bytes_per_s=said, rates=rates).solve(state)
        assert told.assignment == alone.assignment
        assert told.traffic == alone.traffic
        price, own = (
            Optimal(minimises=TrafficUnit.DOLLARS, bytes_per_s=said, rates=rates, usd_per_gb=usd).solve(state).traffic
            for usd in (None, 0.03)
        )
        assert price == pytest.approx(alone.traffic * 86_400 / GB * 0.01)
        assert own == pytest.approx(3 * price)


def test_where_nothing_crosses_for_money_nothing_moves() -> None:
    life = RandomApplication.from_seed(2)
    rebalance_until_stable(life, Optimal(), 60)
    state = life.state()
    answer = Optimal(minimises=TrafficUnit.DOLLARS, rates=random_rates(state, 1), usd_per_gb=0).solve(state)
    assert (answer.cost, answer.bound, answer.traffic) == (0, 0, 0)
    assert moves(state, answer.target) == 0


@pytest.mark.parametrize(
    ("assignor", "message"),
    [
        (Optimal(minimises=TrafficUnit.BYTES), "cannot minimize bytes: the rates of the topics are unknown"),
        (Optimal(minimises=TrafficUnit.DOLLARS, bytes_per_s={"in0": 5}), "the price of cross-rack traffic is unknown"),
    ],
)
def test_what_nobody_says_is_asked_for(assignor: Optimal, message: str) -> None:
    assert assignor.needs_rates
    with pytest.raises(AssignorError, match=message):
        assignor.assign(grown(1))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"minimises": "packets"}, "minimises must be one of partitions, bytes, dollars, not 'packets'"),
        ({"minimises": "bytes", "horizon_s": 0}, "horizon_s must be more than 0, not 0"),
        ({"minimises": "dollars", "usd_per_gb": -1}, "usd_per_gb must be 0 or more, not -1"),
        ({"minimises": "bytes", "bytes_per_s": 7}, "must map topics to bytes per second"),
        ({"minimises": "bytes", "rates": {"orders": 5}}, "rates must be a TrafficRates"),
        ({"minimises": "bytes", "traffic_cost": 5}, "traffic_cost has no effect with `minimises: bytes`"),
        ({"minimises": "bytes", "usd_per_gb": 0.02}, "usd_per_gb has no effect with `minimises: bytes`"),
        ({"bytes_per_s": {"orders": 5}}, "bytes_per_s has no effect with `minimises: partitions`"),
    ],
)
def test_a_parameter_that_makes_no_sense_is_named(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(UnknownAssignorError, match=message):
        registry.make(registry.find("optimal"), parameters)
