"""Recomputation of rebalances of real groups: the assignor returns what Kafka assigned."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assignors import registry
from assignors.model.configs import AssignmentConfigs
from scenarios.kafka.incident.classic_records import classic_rebalances
from scenarios.kafka.incident.coordinated_records import streams_rebalances
from scenarios.kafka.incident.recomputation import (
    KnownCluster,
    Mismatch,
    OffsetInfluence,
    RecomputedTarget,
    RecordedCopies,
    StateBuilder,
    compare,
    recompute,
    recompute_target,
)
from scenarios.kafka.incident.recorded import RecordedGroup, RecordedRebalance
from tests.scenarios.kafka.incident.recorded_segments import CLASSIC, FOLDERS, STREAMS, WITH_STREAMS, records

ONE_STANDBY = AssignmentConfigs(num_standby_replicas=1)


def classic(release: str) -> RecordedGroup:
    return classic_rebalances(CLASSIC, records(release, CLASSIC))


def streams(release: str) -> RecordedGroup:
    passes_owned_tasks = release.startswith("4.4")
    return streams_rebalances(STREAMS, records(release, STREAMS), passes_owned_tasks=passes_owned_tasks)


def mismatches(
    group: RecordedGroup, assignor: str, configs: AssignmentConfigs = ONE_STANDBY
) -> dict[int, tuple[Mismatch, ...]]:
    """Return the mismatches of each rebalance with members."""
    builder = StateBuilder(group, configs, KnownCluster())
    made = registry.make(registry.load(assignor))
    with_members = [rebalance for rebalance in group.rebalances if rebalance.members]
    return {
        rebalance.number: compare(rebalance, recompute(rebalance, builder.build(rebalance), made))
        for rebalance in with_members
    }


@pytest.mark.parametrize("release", FOLDERS)
def test_high_availability_returns_every_generation(release: str) -> None:
    result = mismatches(classic(release), "high_availability")
    assert len(result) >= 15
    assert {number: differing for number, differing in result.items() if differing} == {}


@pytest.mark.parametrize(("release", "assignor"), [("4.2.2", "4.2"), ("4.3.1", "4.3")])
def test_assignor_of_brokers_returns_every_target(release: str, assignor: str) -> None:
    result = mismatches(streams(release), f"streams_group_sticky@{assignor}")
    assert len(result) >= 15
    assert {number: differing for number, differing in result.items() if differing} == {}


def targets(release: str, assignor: str, group: RecordedGroup | None = None) -> dict[int, RecomputedTarget]:
    """Return each target assignment, recomputed with the offsets that clients may have reported."""
    group = group or streams(release)
    builder, copies = StateBuilder(group, ONE_STANDBY, KnownCluster()), RecordedCopies(group.stateful)
    made = registry.make(registry.load(f"streams_group_sticky@{assignor}"))
    result = {}
    for rebalance in group.rebalances:
        if rebalance.members:
            possible = list(copies.possible(rebalance))
            result[rebalance.number] = recompute_target(rebalance, builder.build(rebalance), made, possible)
            copies.note(rebalance)
    return result


def test_offsets_that_are_not_recorded_explain_differences_from_4_4_on() -> None:
    group = streams("4.4.0")
    without = mismatches(group, "streams_group_sticky@4.4")
    result = targets("4.4.0", "4.4")
    # Which targets depend on the offsets that clients report is a property of the recorded night.
    assert sum(not differing for differing in without.values()) == 14
    assert sum(not target.mismatches for target in result.values()) == 19
    for rebalance in group.rebalances:
        if not rebalance.members:
            continue
        target, differing = result[rebalance.number], without[rebalance.number]
        assert len(target.mismatches) <= len(differing)
        assert compare(rebalance, target.recomputed) == target.mismatches
        expected = OffsetInfluence.UNKNOWN if target.mismatches else OffsetInfluence.EXPLAINED
        if not differing:
            expected = target.influence
        assert target.influence is expected
        state = target.recomputed.rebuilt.state
        for process, threads in zip(state.clients.ids, state.thread_offsets, strict=False):
            for member, reported in zip(rebalance.by_process()[str(process)], threads, strict=True):
                assert not set(map(str, reported)) & set(member.previous_active)


@pytest.mark.parametrize(("release", "assignor"), [("4.2.2", "4.2"), ("4.3.1", "4.3")])
def test_offsets_have_no_influence_before_4_4(release: str, assignor: str) -> None:
    assert {(target.influence, target.mismatches) for target in targets(release, assignor).values()} == {
        (OffsetInfluence.NONE, ())
    }


def test_offsets_do_not_explain_an_assignment_that_no_offsets_cause() -> None:
    group = streams("4.4.0")
    rebalance = group.rebalances[1]
    [first, second, *others] = rebalance.members
    swapped = replace(
        rebalance,
        members=(replace(first, active=second.active), replace(second, active=first.active), *others),
    )
    changed = replace(group, rebalances=(group.rebalances[0], swapped))
    target = targets("4.4.0", "4.4", changed)[rebalance.number]
    assert target.mismatches
    assert target.influence is not OffsetInfluence.EXPLAINED


@pytest.mark.parametrize("release", WITH_STREAMS)
def test_order_of_the_coordinator_is_that_of_its_members(release: str) -> None:
    for rebalance in streams(release).rebalances:
        assert sorted(rebalance.coordinator_order) == [member.id for member in rebalance.members]


def test_other_setting_and_other_assignor_do_not_match() -> None:
    group = classic("4.3.1")
    assert any(mismatches(group, "high_availability", AssignmentConfigs()).values())
    assert any(mismatches(group, "sticky_task_assignor").values())


def test_moved_task_is_a_mismatch() -> None:
    group = classic("4.3.1")
    rebalance = group.rebalances[-1]
    [first, second, *others] = rebalance.members
    task = first.active[0]
    moved = (
        replace(first, active=first.active[1:]),
        replace(second, active=(*second.active, task), process_id=others[-1].process_id),
        *others,
    )
    changed: RecordedRebalance = replace(rebalance, members=moved)
    answer = recompute(
        rebalance,
        StateBuilder(group, ONE_STANDBY, KnownCluster()).build(rebalance),
        registry.make(registry.load("high_availability")),
    )
    assert compare(rebalance, answer) == ()
    assert (task, "active") in {(mismatch.task, mismatch.role) for mismatch in compare(changed, answer)}


def test_assignor_without_answer_has_an_error() -> None:
    group = streams("4.3.1")
    rebalance = group.rebalances[0]
    builder = StateBuilder(group, ONE_STANDBY, KnownCluster())

    class Failing:
        def assign(self, state: object) -> object:
            from assignors.errors import AssignorError

            raise AssignorError("no quorum")

    answer = recompute(rebalance, builder.build(rebalance), Failing())  # type: ignore[arg-type]
    assert (answer.error, answer.columns, answer.active) == ("no quorum", None, {})
