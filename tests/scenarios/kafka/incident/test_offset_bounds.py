"""End offsets that reported offsets imply."""

from __future__ import annotations

from assignors.model.configs import AssignmentConfigs
from assignors.model.ids import ProcessId, TaskId
from assignors.model.state import LATEST_OFFSET
from scenarios.kafka.incident.recomputation import EndOffsets, KnownCluster, OffsetBounds, StateBuilder
from scenarios.kafka.incident.recorded import RecordedGroup, RecordedMember, RecordedRebalance

ONE = "00000000-0000-0000-0000-000000000001"
TWO = "00000000-0000-0000-0000-000000000002"


def rebalance(number: int, sums: dict[str, dict[str, int]]) -> RecordedRebalance:
    members = tuple(
        RecordedMember(process[-1], process, "app", active=("1_0",) if process == ONE else (), offset_sums=offsets)
        for process, offsets in sums.items()
    )
    return RecordedRebalance(number, number * 1_000, members)


NIGHT = (
    rebalance(1, {ONE: {"1_0": LATEST_OFFSET}, TWO: {}}),
    rebalance(2, {ONE: {"1_0": LATEST_OFFSET}, TWO: {"1_0": 500}}),
    rebalance(3, {ONE: {"1_0": 20_000}, TWO: {"1_0": 900}}),
    rebalance(4, {ONE: {"1_0": LATEST_OFFSET}, TWO: {"1_0": 20_000}}),
)


def test_end_is_the_largest_report_until_then_or_the_smallest_after() -> None:
    bounds = OffsetBounds(NIGHT)
    assert bounds.at("1_0", 1) == EndOffsets(500, is_certain=False)
    assert bounds.at("1_0", 2) == EndOffsets(500, is_certain=False)
    assert bounds.at("1_0", 3) == EndOffsets(20_000, is_certain=True)
    assert bounds.at("1_0", 4) == EndOffsets(20_000, is_certain=True)
    assert bounds.at("9_9", 4) == EndOffsets(0, is_certain=False)


def lags(number: int, **fields: object) -> tuple[dict[str, int], tuple[str, ...]]:
    """Return the lag of task 1_0 by process, and the uncertain tasks, in one rebalance."""
    from dataclasses import replace

    group = RecordedGroup("g", "classic", NIGHT, {}, frozenset({1}), has_records=True)
    built = StateBuilder(group, AssignmentConfigs(), KnownCluster()).build(replace(NIGHT[number - 1], **fields))  # type: ignore[arg-type]
    states = built.state.kafka_streams_states
    return {
        process: states[ProcessId.parse(process)].lag_for(TaskId(1, 0)) for process in (ONE, TWO)
    }, built.uncertain_lags


def test_lags_follow_from_the_reports() -> None:
    assert lags(3) == ({ONE: 0, TWO: 19_100}, ())
    assert lags(4) == ({ONE: LATEST_OFFSET, TWO: 0}, ())


def test_lag_that_could_be_larger_is_uncertain() -> None:
    assert lags(2) == ({ONE: LATEST_OFFSET, TWO: 0}, ("1_0",))


def test_logged_lags_replace_estimates() -> None:
    assert lags(2, lags={ONE: {"1_0": -2}, TWO: {"1_0": 7}}) == ({ONE: -2, TWO: 7}, ())
