"""The checks of single states: Kafka's assignor passes them, and each deliberate mistake fails the right one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from assignors import registry
from assignors.contract import (
    Invariant,
    MakeAssignor,
    carried_out,
    check_relabeled,
    check_state,
    compute,
    is_same,
    relabeled,
    settle,
    violation_of,
)
from assignors.errors import AssignorError
from assignors.model.assignment import AssignmentColumns
from assignors.model.ids import ProcessId, TaskId, TopicPartition
from assignors.model.state import LATEST_OFFSET, ApplicationState, KafkaStreamsState, TaskInfo, TaskTopicPartition
from assignors.tasks.high_availability import HighAvailability
from assignors.tasks.streams_group_sticky import StreamsGroupSticky
from simulator.random_streams import random_stream
from tests.contract import broken_assignors as broken
from tools.known_problems import LARGER, SMALLEST, UnsettledGroup

RACKS = ("r1", "r2", "r3")


def a_state(seed: int, clients: int = 4, tasks: int = 6) -> ApplicationState:
    rng = random_stream(seed, "test of invariants")
    infos = []
    for partition in range(tasks):
        racks = tuple(RACKS[column] for column in rng.permutation(3)[:2].tolist())
        source = TaskTopicPartition(TopicPartition("in", partition), True, False, racks)
        changelog = TaskTopicPartition(TopicPartition("log", partition), False, True, racks)
        infos.append(TaskInfo(TaskId(0, partition), bool(partition % 3), (source, changelog)))
    lags = {info.id: 100_000 for info in infos if info.is_stateful}
    ids = rng.integers(-(2**63), 2**63, size=(clients, 2)).tolist()
    members = [
        KafkaStreamsState(ProcessId(*id_), 1 + number % 2, RACKS[number % 3], {"zone": "a"}, task_lags=lags)
        for number, id_ in enumerate(ids)
    ]
    return ApplicationState.of(infos, members)


def violated(make: MakeAssignor, states: int = 8) -> set[Invariant]:
    violations = set()
    for seed in range(states):
        state = a_state(seed)
        assignor = make()
        try:
            for _ in range(5):
                answer = compute(state, assignor)
                violations |= {violation.invariant for violation in check_state(state, make, answer)}
                state = carried_out(state, answer)
        except AssignorError as error:
            violations.add(violation_of(error).invariant)
        violations |= {violation.invariant for violation in settle(a_state(seed), make).violations}
    return violations


@pytest.mark.parametrize("name", ["high_availability", "legacy_sticky", "sticky_task_assignor", "optimal"])
def test_assignors_that_kafka_ships_violate_nothing(name: str) -> None:
    assert violated(registry.find(name).make) == set()


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (broken.Oscillates, {Invariant.IDEMPOTENT, Invariant.NO_OSCILLATION}),
        (broken.DependsOnOrder, {Invariant.ORDER_INDEPENDENT}),
        (broken.ChangesState, {Invariant.PURE}),
        (broken.KeepsState, {Invariant.DETERMINISTIC}),
        (broken.Raises, {Invariant.VALID}),
    ],
)
def test_a_mistake_violates_its_invariant(make: MakeAssignor, expected: set[Invariant]) -> None:
    info = registry.resolve(make).info
    assert expected <= violated(lambda: registry.make_contained(info))


def test_text_of_an_exception_does_not_decide_about_the_invariant() -> None:
    info = registry.resolve(broken.RaisesMisleadingText).info
    assert violated(lambda: registry.make_contained(info)) == {Invariant.VALID}


def test_a_task_that_one_group_in_500_lacks_is_found_among_other_process_ids() -> None:
    rng = random_stream(1, "relabeling")
    violations = [violation for _, violation in check_relabeled(a_state(1), broken.DropsTask, rng, 2_000)]
    assert 1 <= len(violations) <= 15
    assert {violation.invariant for violation in violations} == {Invariant.COMPLETE}


def test_other_process_ids_change_no_answer_of_an_assignor_that_only_orders_them() -> None:
    for seed in range(20):
        state = a_state(seed)
        other = relabeled(state, random_stream(seed, "ids"))
        answers = [compute(asked, HighAvailability()) for asked in (state, other)]
        assert (answers[0].active == answers[1].active).all()
        assert (answers[0].standby == answers[1].standby).all()
        assert list(other.clients.ids) == sorted(other.clients.ids)


def test_a_carried_out_assignment_is_what_clients_then_report() -> None:
    state = a_state(3)
    answer = compute(state, HighAvailability())
    following = carried_out(state, answer)
    for row, task in enumerate(state.tasks.ids):
        owner = int(answer.active[row])
        assert task in following.previous_active[owner]
        if state.tasks.stateful[row]:
            assert following.lags[row, owner] == LATEST_OFFSET
    assert (following.lags[state.tasks.stateful][following.lags[state.tasks.stateful] >= 0] > 10_000).any()


@pytest.mark.parametrize("group", [SMALLEST, LARGER])
def test_streams_group_of_kafka_4_4_oscillates_between_the_same_two_assignments(group: UnsettledGroup) -> None:
    assignor = StreamsGroupSticky(release="4.4")
    state = group.after_departure(assignor)
    settling = settle(state, lambda: assignor)
    assert settling.rounds is None
    assert Invariant.NO_OSCILLATION in {violation.invariant for violation in settling.violations}
    answers = group.answers(assignor, 20)
    assert all(is_same(answer, later) for answer, later in zip(answers[-6:], answers[-4:], strict=False))
    assert not is_same(answers[-1], answers[-2])
    before = StreamsGroupSticky(release="4.3")
    assert settle(group.after_departure(before), lambda: before).rounds is not None


def test_group_whose_tasks_only_move_between_threads_has_not_settled() -> None:
    first = AssignmentColumns(np.array([0, 1]), np.zeros((2, 2), np.bool_), None, np.array([[0, 1], [0, 0]]))
    later = replace(first, thread=np.array([[1, 1], [0, 0]]))
    elsewhere = replace(first, thread=np.array([[0, 0], [1, 0]]))
    assert not is_same(first, later)
    assert is_same(first, elsewhere), "no task is on the threads that differ"
    assert is_same(first, replace(later, thread=None))
