"""Validation finds the five errors of KIP-924, all at once."""

from __future__ import annotations

from typing import Any

import pytest

from assignors.errors import InvalidAssignmentError
from assignors.model.assignment import (
    AssignmentColumns,
    AssignmentError,
    KafkaStreamsAssignment,
    TaskAssignment,
    TaskType,
    validate_assignment,
)
from assignors.model.ids import ProcessId, TaskId
from assignors.model.state import ApplicationState, KafkaStreamsState, TaskInfo

A, B, STRANGER = (ProcessId.parse(f"00000000-0000-0000-0000-00000000000{n}") for n in (1, 2, 9))
T00, T01, T10 = TaskId(0, 0), TaskId(0, 1), TaskId(1, 0)
ACTIVE, STANDBY = TaskType.ACTIVE, TaskType.STANDBY


@pytest.fixture
def state() -> ApplicationState:
    lags = {T00: 0, T01: 0}
    return ApplicationState.of(
        tasks=[TaskInfo(T00, True), TaskInfo(T01, True), TaskInfo(T10, False)],
        clients=[KafkaStreamsState(A, task_lags=lags), KafkaStreamsState(B, task_lags=lags)],
    )


def assignment_of(*clients: tuple[ProcessId, dict[TaskId, TaskType]]) -> TaskAssignment:
    return TaskAssignment(tuple(KafkaStreamsAssignment(client, tasks) for client, tasks in clients))


def errors(state: ApplicationState, assignment: TaskAssignment) -> list[AssignmentError]:
    return [problem.error for problem in validate_assignment(state, assignment)]


def test_valid_assignment_has_no_errors(state: ApplicationState) -> None:
    assert errors(state, assignment_of((A, {T00: ACTIVE, T10: ACTIVE}), (B, {T01: ACTIVE, T00: STANDBY}))) == []


def test_unassigned_task_is_valid_for_kafka(state: ApplicationState) -> None:
    assert errors(state, assignment_of((A, {}), (B, {}))) == []


@pytest.mark.parametrize(
    ("assignment", "expected"),
    [
        (assignment_of((A, {T00: ACTIVE}), (B, {T00: ACTIVE})), AssignmentError.ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES),
        (assignment_of((A, {}), (B, {T10: STANDBY})), AssignmentError.INVALID_STANDBY_TASK),
        (assignment_of((A, {})), AssignmentError.MISSING_PROCESS_ID),
        (assignment_of((A, {}), (B, {}), (STRANGER, {})), AssignmentError.UNKNOWN_PROCESS_ID),
        (assignment_of((A, {TaskId(7, 7): ACTIVE}), (B, {})), AssignmentError.UNKNOWN_TASK_ID),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_single_error_is_reported(
    state: ApplicationState, assignment: TaskAssignment, expected: AssignmentError
) -> None:
    assert errors(state, assignment) == [expected]


def test_all_errors_are_reported_with_their_tasks(state: ApplicationState) -> None:
    bad = assignment_of((STRANGER, {TaskId(7, 7): ACTIVE}), (A, {T00: ACTIVE, T10: STANDBY}))
    with pytest.raises(InvalidAssignmentError) as raised:
        AssignmentColumns.of(state, bad)
    for word in ("UNKNOWN_PROCESS_ID", "UNKNOWN_TASK_ID: task 7_7", "INVALID_STANDBY_TASK: task 1_0", f"client {B}"):
        assert word in str(raised.value)


def test_assignment_survives_conversion_to_columns_and_back(state: ApplicationState) -> None:
    assignment = assignment_of((A, {T00: ACTIVE, T10: ACTIVE}), (B, {T01: ACTIVE, T00: STANDBY}))
    assert AssignmentColumns.of(state, assignment).to_assignment(state) == assignment


class Wrong(TaskAssignment):
    """An assignment with entries of any type, as an assignor without type checks may return."""


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, "returned None, expected a TaskAssignment"),
        ({"0_0": "A"}, "returned a dict, expected a TaskAssignment"),
        (Wrong([None]), "has None, expected a KafkaStreamsAssignment"),
        (assignment_of(("A", {}), (B, {})), "process_id is a str, expected a ProcessId"),
        (assignment_of((A, [T00]), (B, {})), "is a list, expected a mapping"),
        (assignment_of((A, {"0_0": ACTIVE}), (B, {})), "has a str: a TaskType, expected TaskId: TaskType"),
        (assignment_of((A, {T00: "ACTIVE"}), (B, {})), "has a TaskId: a str, expected TaskId: TaskType"),
        (TaskAssignment([KafkaStreamsAssignment(A, {}, -1)]), "is -1, expected milliseconds"),
        (TaskAssignment([KafkaStreamsAssignment(A, {}, "1s")]), "is a str, expected milliseconds"),
    ],
)
def test_wrong_type_is_rejected(state: ApplicationState, returned: Any, message: str) -> None:
    with pytest.raises(InvalidAssignmentError, match=message):
        AssignmentColumns.of(state, returned)
