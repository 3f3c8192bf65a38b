"""An application's state in columns, and its accessors of KIP-924."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignors.errors import ConfigError, IllegalStateError
from assignors.model.columns import NO_RACK, Ragged, distinct, is_among
from assignors.model.configs import AssignmentConfigs, RackAwareStrategy
from assignors.model.ids import ProcessId, TaskId, TopicPartition
from assignors.model.state import LATEST_OFFSET, ApplicationState, KafkaStreamsState, TaskInfo, TaskTopicPartition

LOW = ProcessId.parse("80000000-0000-0000-0000-000000000000")
ZERO = ProcessId.parse("00000000-0000-0000-0000-000000000000")
HIGH = ProcessId.parse("00000000-0000-0000-0000-000000000001")


def partition(name: str, racks: tuple[str | None, ...] | None, *, changelog: bool = False) -> TaskTopicPartition:
    return TaskTopicPartition(TopicPartition.parse(name), not changelog, changelog, racks)


@pytest.fixture
def state() -> ApplicationState:
    tasks = [
        TaskInfo(TaskId(10, 0), False, (partition("a-b-0", ("r1", "r2")),)),
        TaskInfo(TaskId(2, 0), True, (partition("c-0", ("r2",)), partition("log-0", ("r3",), changelog=True))),
    ]
    lags = {TaskId(2, 0): 7}
    clients = [
        KafkaStreamsState(HIGH, rack_id="r1", task_lags=lags),
        KafkaStreamsState(ZERO, task_lags=lags, num_processing_threads=3),
        KafkaStreamsState(LOW, rack_id="r2", task_lags={TaskId(2, 0): LATEST_OFFSET}, client_tags={"zone": "x"}),
    ]
    return ApplicationState.of(tasks, clients)


def test_tasks_are_ordered_by_number_and_clients_as_signed_uuids(state: ApplicationState) -> None:
    assert [str(task) for task in state.tasks.ids] == ["2_0", "10_0"]
    assert state.clients.ids == (LOW, ZERO, HIGH)


def test_remote_partitions_are_counted_by_rack_and_all_are_remote_to_client_without_rack(
    state: ApplicationState,
) -> None:
    assert state.remote_partitions(state.tasks.source).tolist() == [[0, 1, 1], [0, 1, 0]]
    assert state.remote_partitions(state.tasks.changelog).tolist() == [[1, 1, 1], [0, 0, 0]]


def test_kip_924_accessors_return_the_input(state: ApplicationState) -> None:
    low = state.kafka_streams_states[LOW]
    assert (low.rack_id, low.client_tags, low.lag_for(TaskId(2, 0))) == ("r2", {"zone": "x"}, LATEST_OFFSET)
    assert state.kafka_streams_states[ZERO].num_processing_threads == 3
    info = state.all_tasks[TaskId(2, 0)]
    assert info.is_stateful
    assert [(str(p.topic_partition), p.is_source, p.rack_ids) for p in info.topic_partitions] == [
        ("c-0", True, ("r2",)),
        ("log-0", False, ("r3",)),
    ]


def test_lag_of_stateless_task_raises_as_in_kafka(state: ApplicationState) -> None:
    with pytest.raises(IllegalStateError, match="Tried to lookup lag for unknown task 10_0"):
        state.kafka_streams_states[LOW].lag_for(TaskId(10, 0))


def test_columns_are_read_only(state: ApplicationState) -> None:
    with pytest.raises(ValueError, match="read-only"):
        state.lags[0, 0] = 1


def test_client_without_rack_differs_from_partition_without_racks() -> None:
    tasks = [
        TaskInfo(TaskId(0, 0), False, (partition("known-0", ("r1",)),)),
        TaskInfo(TaskId(0, 1), False, (partition("half-0", ("r1", None)),)),
        TaskInfo(TaskId(0, 2), False, (partition("none-0", ()),)),
        TaskInfo(TaskId(0, 3), False, (partition("unknown-0", None),)),
    ]
    state = ApplicationState.of(tasks, [KafkaStreamsState(ZERO)])
    assert state.partitions.racks_known.tolist() == [True, False, False, False]
    assert state.clients.rack.tolist() == [NO_RACK]


def test_known_racks_of_partition_with_some_rackless_replicas_are_kept() -> None:
    racks_of = {"half": ("r2", None, "r1", "r2"), "none": (None, None), "unknown": None}
    tasks = [
        TaskInfo(TaskId(0, row), False, (partition(f"{name}-0", racks),))
        for row, (name, racks) in enumerate(racks_of.items())
    ]
    state = ApplicationState.of(tasks, [KafkaStreamsState(ZERO, rack_id="r1")])
    assert [info.topic_partitions[0].rack_ids for info in state.all_tasks.values()] == [("r1", "r2"), None, None]


@given(st.lists(st.lists(st.integers(0, 4), max_size=4), max_size=6))
def test_ragged_rows_are_summed(rows: list[list[int]]) -> None:
    ragged = Ragged.of(rows)
    weights = np.array([1, 10, 100, 1000, 10000])
    assert ragged.sum(weights).tolist() == [sum(int(weights[i]) for i in row) for row in rows]
    assert [ragged.row(i).tolist() for i in range(len(rows))] == rows


@pytest.mark.parametrize(
    ("text", "parse"),
    [
        ("0-1", TaskId.parse),
        ("1_", TaskId.parse),
        ("-1_0", TaskId.parse),
        ("xyz", ProcessId.parse),
        ("topic", TopicPartition.parse),
    ],
)
def test_malformed_ids_are_rejected(text: str, parse: object) -> None:
    with pytest.raises(ValueError, match=f"'{text}' is not a"):
        parse(text)  # type: ignore[operator]


@given(st.uuids())
def test_process_id_round_trips_as_text(value: object) -> None:
    assert str(ProcessId.parse(str(value))) == str(value)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("max_warmup_replicas", 0, "Invalid value 0 for configuration max.warmup.replicas: Value must be at least 1"),
        ("acceptable_recovery_lag", -1, "acceptable.recovery.lag"),
        ("num_standby_replicas", -1, "num.standby.replicas"),
        ("probing_rebalance_interval_ms", 59_999, "at least 60000"),
    ],
)
def test_invalid_configs_are_rejected_as_in_kafka(key: str, value: int, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        AssignmentConfigs(**{key: value})  # type: ignore[arg-type]


def test_strategies_have_their_kip_925_names() -> None:
    assert RackAwareStrategy.parse("min_cost") is RackAwareStrategy.MIN_TRAFFIC
    assert RackAwareStrategy.parse("balanced_min_cost") is RackAwareStrategy.BALANCE_SUBTOPOLOGY
    with pytest.raises(ConfigError, match="'cheap' is not a rack"):
        RackAwareStrategy.parse("cheap")


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 9)), st.lists(st.integers(0, 9)))
def test_distinct_values_and_membership_are_those_of_numpy(numbers: list[int], others: list[int]) -> None:
    values, known = np.array(numbers, dtype=np.int64), np.array(others, dtype=np.int64)
    assert distinct(values).tolist() == np.unique(values).tolist()
    assert is_among(values, distinct(known)).tolist() == np.isin(values, known).tolist()
