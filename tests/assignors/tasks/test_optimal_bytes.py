"""The optimal assignment in bytes and in dollars equals the result of exhaustive search."""

from __future__ import annotations

import random

import numpy as np
import pytest

from assignors import registry
from assignors.errors import AssignorError, UnknownAssignorError
from assignors.model.assignment import AssignmentColumns, validate_assignment
from assignors.model.state import LATEST_OFFSET, UNKNOWN_OFFSET_SUM, ApplicationState, KafkaStreamsState, TaskInfo
from assignors.model.traffic_rates import PartitionRate, TrafficRates, TrafficUnit
from assignors.objective import Weights
from assignors.optimum.costs import Priority
from assignors.tasks.optimal import Optimal, SolutionStatus
from tests.assignors.tasks.exhaustive import Rules, min_cost, state_after_event, tiny_state, with_shuffled_listing
from tests.contract.random_applications import RACKS, RandomApplication, rebalance_until_stable

HORIZON_S = 1_000
GB = 1_000_000_000
ODD = (*RACKS, "rack-without-clients", None)


def random_rates(state: ApplicationState, seed: int, usd_per_gb: float | None = None) -> TrafficRates:
    """Return random rates of all partitions, and of the other writes of tasks."""
    rng = random.Random(seed)
    partitions = {
        name: PartitionRate(
            bytes_per_s=rng.choice([0, rng.randrange(1_000)]),
            leader_rack=rng.choice(ODD),
            size_bytes=rng.choice([0, 50_000 * rng.randrange(100)]),
            record_bytes=rng.choice([1, 100]),
        )
        for name in sorted(state.partitions.names)
    }
    writes = {
        task: {rack: rng.randrange(500) for rack in rng.sample([*RACKS, "rack-without-clients"], 2)}
        for task in state.tasks.ids
        if rng.random() < 0.5
    }
    return TrafficRates(partitions, writes, rng.random() < 0.5, usd_per_gb)


def is_remote(rates: TrafficRates, partition: PartitionRate, replicas: tuple[str | None, ...], rack: str) -> bool:
    if rates.reads_from_nearest:
        return rack not in replicas
    return partition.leader_rack not in (None, rack)


def bytes_per_s(rates: TrafficRates, task: TaskInfo, client: KafkaStreamsState, standby: bool) -> int:
    """Return the cross-rack bytes of a copy in the steady state."""
    assert client.rack_id is not None
    crosses = 0
    for partition in task.topic_partitions:
        known = rates.partitions[partition.topic_partition]
        if is_remote(rates, known, partition.rack_ids or (), client.rack_id) and partition.is_source != standby:
            crosses += known.bytes_per_s
        is_written = partition.is_changelog and not partition.is_source and not standby
        if is_written and known.leader_rack not in (None, client.rack_id):
            crosses += known.bytes_per_s
    if not standby:
        crosses += sum(rate for rack, rate in rates.writes.get(task.id, {}).items() if rack != client.rack_id)
    return crosses


def restored_bytes(state: ApplicationState, rates: TrafficRates, task: TaskInfo, client: KafkaStreamsState) -> float:
    """Return the cross-rack bytes until a copy has caught up."""
    logs = [
        (rates.partitions[partition.topic_partition], partition)
        for partition in task.topic_partitions
        if partition.is_changelog
    ]
    records = sum(known.size_bytes // known.record_bytes for known, _ in logs)
    if not task.is_stateful or not records:
        return 0.0
    assert client.rack_id is not None
    of_all = [other.lag_for(task.id) for other in state.kafka_streams_states.values()]
    lag = client.lag_for(task.id)
    lacking = {LATEST_OFFSET: 0, UNKNOWN_OFFSET_SUM: max(*of_all, 1)}.get(lag, lag)
    remote = sum(
        known.size_bytes
        for known, partition in logs
        if is_remote(rates, known, partition.rack_ids or (), client.rack_id)
    )
    return lacking * remote / records


def rules_of(state: ApplicationState, rates: TrafficRates, assignor: Optimal, unit: float) -> Rules:
    """Return the costs of copies, computed task by task."""
    factor = 1.0 if assignor.minimizes == TrafficUnit.BYTES else (rates.usd_per_gb or 0) * 86_400 / GB

    def copy_cost(task: TaskInfo, client: KafkaStreamsState, standby: bool) -> int:
        had = set(client.previous_active_tasks) | (set(client.previous_standby_tasks) if standby else set())
        restored = restored_bytes(state, rates, task, client) / assignor.horizon_s
        moved = (assignor.non_overlap_cost or 0) * (task.is_stateful and task.id not in had)
        return round(((bytes_per_s(rates, task, client, standby) + restored) * factor + moved) / unit)

    return Rules(Weights(1, 1), assignor.slack, assignor.subtopology_slack, copy_cost=copy_cost)


@pytest.mark.parametrize("standbys", [0, 1, 2])
@pytest.mark.parametrize(
    ("minimizes", "usd_per_gb", "moving"), [("bytes", None, 0), ("bytes", None, 40), ("dollars", 0.02, 0)]
)
def test_cost_matches_exhaustive_search(minimizes: str, usd_per_gb: float | None, moving: int, standbys: int) -> None:
    apart = 0
    for seed in range(400, 408):
        state = tiny_state(seed, standbys)
        rates = random_rates(state, seed, usd_per_gb)
        assignor = Optimal(
            minimizes=TrafficUnit(minimizes), rates=rates, horizon_s=HORIZON_S, non_overlap_cost=moving or None
        )
        solution = assignor.solve(state)
        slack, _, cost = min_cost(state, rules_of(state, rates, assignor, solution.unit))
        assert (solution.slack, solution.cost) == (slack, cost), seed
        assert solution.status is SolutionStatus.OPTIMAL, seed
        assert validate_assignment(state, solution.assignment) == [], seed
        assert minimizes == "dollars" or solution.unit == 1
        apart += solution.target.active.tolist() != Optimal().solve(state).target.active.tolist()
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


def test_priority_is_minimized_first_and_reported_correctly() -> None:
    differ = 0
    for seed in range(500, 515):
        state = tiny_state(seed)
        rates = random_rates(state, seed)
        traffic_and_moves = {}
        for priority in Priority:
            solution = Optimal(minimizes=TrafficUnit.BYTES, rates=rates, horizon_s=1, priority=priority).solve(state)
            assert solution.traffic == met_traffic(state, rates, solution.target), seed
            traffic_and_moves[priority] = solution.traffic, moves(state, solution.target)
        least = min_cost(state, rules_of(state, rates, Optimal(minimizes=TrafficUnit.BYTES, horizon_s=1e30), 1))
        assert traffic_and_moves[Priority.TRAFFIC_FIRST][0] == least[2], seed
        assert min(traffic for traffic, _ in traffic_and_moves.values()) == least[2], seed
        assert traffic_and_moves[Priority.MOVES_FIRST][1] == min(moved for _, moved in traffic_and_moves.values()), seed
        differ += traffic_and_moves[Priority.TRAFFIC_FIRST] != traffic_and_moves[Priority.MOVES_FIRST]
    assert differ > 3


@pytest.mark.parametrize("priority", list(Priority))
def test_group_converges_in_any_input_order(priority: Priority) -> None:
    for seed in range(5):
        application = RandomApplication.from_seed(seed)
        state = application.state()
        assignor = Optimal(
            minimizes=TrafficUnit.BYTES, rates=random_rates(state, seed), horizon_s=60, priority=priority
        )
        for _ in range(2):
            application.apply_random_event()
            state = application.state()
            assert assignor.assign(with_shuffled_listing(state, seed)) == assignor.assign(state), seed
            assert rebalance_until_stable(application, assignor, 60) is not None, (seed, application.history)
        state = application.state()
        solution = assignor.solve(state)
        now = AssignmentColumns.of(state, solution.assignment)
        assert now.active.tolist() == solution.target.active.tolist(), seed


def test_longer_horizon_never_increases_final_traffic() -> None:
    fewer = 0
    for seed in range(12):
        state = state_after_event(seed)
        rates = random_rates(state, seed)
        soon, late = (
            Optimal(minimizes=TrafficUnit.BYTES, rates=rates, horizon_s=horizon).solve(state).traffic
            for horizon in (60, 1_000_000)
        )
        assert late <= soon, seed
        fewer += late < soon
    assert fewer > 1


def test_large_rates_are_rounded_to_units_and_still_proven() -> None:
    for seed in range(15):
        state = state_after_event(seed)
        small = random_rates(state, seed)
        large = TrafficRates(
            {
                name: PartitionRate(known.bytes_per_s * 1_000_000, known.leader_rack)
                for name, known in small.partitions.items()
            },
            reads_from_nearest=small.reads_from_nearest,
        )
        solution = Optimal(minimizes=TrafficUnit.BYTES, rates=large).solve(state)
        assert solution.status is SolutionStatus.OPTIMAL
        copies = len(state.tasks) * (1 + state.assignment_configs.num_standby_replicas)
        assert abs(solution.cost * solution.unit - solution.traffic) <= copies * solution.unit
        assert solution.unit > 1 or not solution.traffic


def test_bytes_per_s_overrides_rates_and_uses_their_price() -> None:
    for seed in range(10):
        state = state_after_event(seed)
        bytes_per_s_of_topics = {"in0": 5_000, "log0": 700, "in1": 90}
        rates = random_rates(state, seed, usd_per_gb=0.01)
        without_rates = Optimal(minimizes=TrafficUnit.BYTES, bytes_per_s=bytes_per_s_of_topics).solve(state)
        with_rates = Optimal(minimizes=TrafficUnit.BYTES, bytes_per_s=bytes_per_s_of_topics, rates=rates).solve(state)
        assert with_rates.assignment == without_rates.assignment
        assert with_rates.traffic == without_rates.traffic
        price, own = (
            Optimal(minimizes=TrafficUnit.DOLLARS, bytes_per_s=bytes_per_s_of_topics, rates=rates, usd_per_gb=usd)
            .solve(state)
            .traffic
            for usd in (None, 0.03)
        )
        assert price == pytest.approx(without_rates.traffic * 86_400 / GB * 0.01)
        assert own == pytest.approx(3 * price)


def test_price_of_zero_moves_nothing() -> None:
    application = RandomApplication.from_seed(2)
    rebalance_until_stable(application, Optimal(), 60)
    state = application.state()
    solution = Optimal(minimizes=TrafficUnit.DOLLARS, rates=random_rates(state, 1), usd_per_gb=0).solve(state)
    assert (solution.cost, solution.bound, solution.traffic) == (0, 0, 0)
    assert moves(state, solution.target) == 0


@pytest.mark.parametrize(
    ("assignor", "message"),
    [
        (Optimal(minimizes=TrafficUnit.BYTES), "cannot minimize bytes: the rates of the topics are unknown"),
        (Optimal(minimizes=TrafficUnit.DOLLARS, bytes_per_s={"in0": 5}), "the price of cross-rack traffic is unknown"),
    ],
)
def test_unknown_rates_or_price_are_reported(assignor: Optimal, message: str) -> None:
    assert assignor.needs_rates
    with pytest.raises(AssignorError, match=message):
        assignor.assign(state_after_event(1))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"minimizes": "packets"}, "minimizes must be one of partitions, bytes, dollars, not 'packets'"),
        ({"minimizes": "bytes", "horizon_s": 0}, "horizon_s must be more than 0, not 0"),
        ({"minimizes": "dollars", "usd_per_gb": -1}, "usd_per_gb must be 0 or more, not -1"),
        ({"minimizes": "bytes", "bytes_per_s": 7}, "must map topics to bytes per second"),
        ({"minimizes": "bytes", "rates": {"orders": 5}}, "rates must be a TrafficRates"),
        ({"minimizes": "bytes", "traffic_cost": 5}, "traffic_cost has no effect with `minimizes: bytes`"),
        ({"minimizes": "bytes", "usd_per_gb": 0.02}, "usd_per_gb has no effect with `minimizes: bytes`"),
        ({"bytes_per_s": {"orders": 5}}, "bytes_per_s has no effect with `minimizes: partitions`"),
    ],
)
def test_invalid_parameter_is_rejected_by_name(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(UnknownAssignorError, match=message):
        registry.make(registry.find("optimal"), parameters)
