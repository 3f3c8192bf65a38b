"""Predictions from recorded responses of real groups, and from changed ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assignors.model.ids import TaskId
from assignors.model.state import LATEST_OFFSET
from scenarios.kafka.observation.observation import GroupSnapshot
from scenarios.watch.prediction import (
    find_differences,
    lag_of,
    merged_offset_sums,
    predict_classic,
    predict_streams,
    rounds_to_converge,
)
from tests.scenarios.watch.watched_groups import recorded_group

CLASSIC = [("classic.jsonl", "10000"), ("warming_up.jsonl", "100"), ("classic_3_9.jsonl", "10000")]


@pytest.mark.parametrize(("name", "lag"), CLASSIC)
def test_assignment_of_a_real_leader_is_predicted_from_what_its_members_reported(name: str, lag: str) -> None:
    application, snapshot = recorded_group(name, lag=lag)
    predicted = predict_classic(application, snapshot, snapshot.changelog_ends)
    assert find_differences(predicted, snapshot) == ()
    assert len(predicted.active) == 16
    assert predicted.requests_followup == (snapshot.next_rebalance_at_ms is not None)


def test_target_of_a_real_coordinator_is_predicted_from_the_target_before() -> None:
    application, snapshot = recorded_group("streams.jsonl", "kiosk", "streams")
    predicted = predict_streams(application, snapshot, snapshot)
    assert find_differences(predicted, snapshot) == ()
    assert len(predicted.active) == 16


def test_other_config_predicts_another_assignment() -> None:
    application, snapshot = recorded_group("warming_up.jsonl", lag="10000000")
    predicted = predict_classic(application, snapshot, snapshot.changelog_ends)
    assert not predicted.requests_followup
    assert find_differences(predicted, snapshot)


@pytest.mark.parametrize("role", ["active", "standby"])
def test_exchanged_tasks_are_found(role: str) -> None:
    application, snapshot = recorded_group()
    predicted = predict_classic(application, snapshot, snapshot.changelog_ends)
    exchanged = exchange(snapshot, role)
    differences = find_differences(predicted, exchanged)
    assert {difference.role for difference in differences} == {role}
    assert {difference.task for difference in differences} == set(
        tasks_of(snapshot, role, 0) + tasks_of(snapshot, role, 1)
    )
    for difference in differences:
        assert set(difference.predicted).isdisjoint(difference.observed)


def tasks_of(snapshot: GroupSnapshot, role: str, number: int) -> list[str]:
    first = {member.process_id: None for member in snapshot.members}
    process = list(first)[number]
    return [task for member in snapshot.members if member.process_id == process for task in getattr(member, role)]


def exchange(snapshot: GroupSnapshot, role: str) -> GroupSnapshot:
    """Return the snapshot in which two processes have the tasks of each other."""
    a, b = list({member.process_id: None for member in snapshot.members})[:2]
    tasks = {process: [m for m in snapshot.members if m.process_id == process] for process in (a, b)}
    replaced = {}
    for mine, other in ((a, b), (b, a)):
        for member, source in zip(tasks[mine], tasks[other], strict=True):
            held = getattr(source, role)
            replaced[member.id] = replace(member, **{role: held, f"target_{role}": held})
    return replace(snapshot, members=tuple(replaced.get(member.id, member) for member in snapshot.members))


def test_task_that_another_process_owns_is_withheld() -> None:
    application, snapshot = recorded_group()
    owner = next(member for member in snapshot.members if "0_0" in member.active)
    other = next(member for member in snapshot.members if member.process_id != owner.process_id)
    partition = next(name for name, task in application.task_of_partition().items() if str(task) == "0_0")
    moved = [
        replace(member, owned=(*member.owned, partition))
        if member.id == other.id
        else replace(member, owned=tuple(name for name in member.owned if name.partition or name != partition))
        for member in snapshot.members
    ]
    without_0_0 = [
        replace(
            member, owned=tuple(name for name in member.owned if application.task_of_partition()[name] != TaskId(0, 0))
        )
        if member.id == owner.id
        else member
        for member in moved
    ]
    predicted = predict_classic(application, replace(snapshot, members=tuple(without_0_0)), snapshot.changelog_ends)
    assert predicted.withheld == {"0_0"}
    assert "0_0" not in predicted.active


def test_active_task_wins_over_the_copy_that_another_thread_reports() -> None:
    _, snapshot = recorded_group()
    first, second = snapshot.members[:2]
    for sums in ((LATEST_OFFSET, 7), (7, LATEST_OFFSET)):
        members = [
            replace(member, offset_sums={"0_0": offset_sum})
            for member, offset_sum in zip((first, second), sums, strict=True)
        ]
        assert merged_offset_sums(members) == {TaskId(0, 0): LATEST_OFFSET}
    members = [replace(member, offset_sums={"0_0": offset}) for member, offset in ((first, 3), (second, 9))]
    assert merged_offset_sums(members) == {TaskId(0, 0): 9}


def test_lag_is_that_of_the_leader() -> None:
    assert [lag_of(offset, 10) for offset in (-2, -3, 0, 4, 12)] == [-2, -3, 10, 6, 0]


def test_convergence_takes_a_rebalance_for_each_pair_of_warm_ups() -> None:
    application, snapshot = recorded_group("warming_up.jsonl", lag="100")
    predicted = predict_classic(application, snapshot, snapshot.changelog_ends)
    assert rounds_to_converge(application, predicted) == 3
    application, snapshot = recorded_group()
    predicted = predict_classic(application, snapshot, snapshot.changelog_ends)
    assert rounds_to_converge(application, predicted) == 0
