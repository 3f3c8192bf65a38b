"""Tasks make only allowed transitions, and their history can be described."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from assignors.model.assignment import UNASSIGNED
from assignors.model.ids import TaskId
from simulator.errors import IllegalTransitionError
from simulator.flows.task_states import TaskState, TaskStateHistory

IDS = (TaskId(0, 0), TaskId(0, 1), TaskId(1, 0))
U, A, S, R, V = TaskState.UNASSIGNED, TaskState.ASSIGNED, TaskState.RESTORING, TaskState.RUNNING, TaskState.REVOKED
B = TaskState.BLOCKED
ALLOWED = {
    *((U, A), (V, A), (V, U)),
    *itertools.product((A,), (S, R, B, V, U)),
    *itertools.product((S,), (R, B, V, U)),
    *itertools.product((R,), (B, V, U)),
    *itertools.product((B,), (R, V, U)),
}
PATHS: dict[TaskState, tuple[TaskState, ...]] = {U: (), A: (A,), S: (A, S), R: (A, R), B: (A, R, B), V: (A, R, V)}


def empty_history() -> TaskStateHistory:
    return TaskStateHistory(IDS, ("c0", "c1"))


def enter(history: TaskStateHistory, at_ms: int, state: TaskState, tasks: list[int], client: int = 0) -> None:
    client_row = UNASSIGNED if state is U else client
    history.enter(at_ms, state, np.array(tasks, dtype=np.int64), np.full(len(tasks), client_row))


def history_after(before: TaskState) -> TaskStateHistory:
    history = empty_history()
    for number, state in enumerate(PATHS[before]):
        enter(history, number * 1000, state, [1])
    return history


@pytest.mark.parametrize(("before", "state"), list(itertools.product(TaskState, TaskState)))
def test_transition_is_made_or_rejected(before: TaskState, state: TaskState) -> None:
    history = history_after(before)
    if (before, state) in ALLOWED:
        enter(history, 9_000, state, [1])
        assert history.state.tolist() == [U, state, U]
    else:
        with pytest.raises(IllegalTransitionError, match=f"^task 0_1 cannot go from {before} to {state} at 9 s: "):
            enter(history, 9_000, state, [1])
        assert history.state[1] == before, "the state does not change"
        assert len(history.transitions) == len(PATHS[before])


def test_error_of_rejected_transition_describes_the_history() -> None:
    history = history_after(V)
    with pytest.raises(IllegalTransitionError) as error:
        enter(history, 9_500, R, [1])
    assert str(error.value) == (
        "task 0_1 cannot go from revoked to running at 9.5 s: "
        "0 s: assigned on c0; 1 s: running on c0; 2 s: revoked on c0"
    )


def test_error_without_history_says_so() -> None:
    with pytest.raises(IllegalTransitionError, match=r"to running at 1 s: no transition yet$"):
        enter(empty_history(), 1_000, R, [2])


def test_error_names_the_task_that_cannot_make_the_transition() -> None:
    history = history_after(A)
    with pytest.raises(IllegalTransitionError, match=r"^task 1_0 cannot go from unassigned to running"):
        enter(history, 5_000, R, [1, 2])
    assert history.state.tolist() == [U, A, U], "no task makes the transition"


def test_transition_of_no_tasks_is_ignored() -> None:
    history = empty_history()
    enter(history, 0, R, [])
    assert history.transitions == []


def test_description_has_one_line_for_each_transition() -> None:
    history = empty_history()
    enter(history, 6_000, A, [0, 1], client=1)
    enter(history, 6_000, R, [0], client=1)
    enter(history, 6_000, S, [1], client=1)
    enter(history, 60_500, R, [1], client=1)
    enter(history, 70_000, U, [1])
    enter(history, 80_000, A, [1], client=0)
    assert history.describe(0) == ["6 s: running on c1"]
    assert history.describe(1) == [
        "6 s: restoring on c1",
        "60.5 s: running on c1",
        "70 s: unassigned",
        "80 s: assigned on c0",
    ]
    assert history.describe(2) == []
