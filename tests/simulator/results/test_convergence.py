"""Whole runs of a small world, and what is said of how they ended."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import pytest

from assignors.model.assignment import KafkaStreamsAssignment, TaskAssignment, TaskType
from assignors.model.state import ApplicationState
from assignors.tasks.streams_group_sticky import StreamsGroupSticky
from simulator.results.convergence import Verdict, convergence
from simulator.world.disturbances import Crash, Join, Leave
from simulator.world.world import GroupProtocol
from tests.simulator.small_world_runs import SECOND, ran_on, run
from tests.simulator.world_builders import (
    HOUR,
    MINUTE,
    client,
    with_clients,
    with_configs,
    with_group,
    with_late,
    world,
)


@dataclass(frozen=True)
class BackAndForth:
    """Gives all tasks to the client that has the fewest, and never has enough."""

    def assign(self, state: ApplicationState) -> TaskAssignment:
        had = [len(tasks) for tasks in state.previous_active]
        chosen = had.index(min(had))
        return TaskAssignment(
            tuple(
                KafkaStreamsAssignment(
                    process_id, dict.fromkeys(state.tasks.ids, TaskType.ACTIVE) if c == chosen else {}, 10 * MINUTE
                )
                for c, process_id in enumerate(state.clients.ids)
            )
        )


def test_an_assignor_that_goes_back_and_forth_is_told_to_cycle_and_what_it_repeats() -> None:
    trace = run(world(2), assignor=BackAndForth())
    verdict = convergence(trace)
    assert verdict.verdict is Verdict.CYCLING
    assert verdict.round is not None
    assert verdict.repeats is not None
    by_number = {each.number: each for each in trace.rounds}
    repeated, between, repeats = (by_number[number] for number in (verdict.repeats, verdict.round - 1, verdict.round))
    assert repeats.decides_like(repeated)
    assert not repeats.decides_like(between)


def test_a_run_that_is_still_probing_at_the_end_is_told_to() -> None:
    late = dataclasses.replace(with_late(world(), "late"), duration_ms=HOUR + 11 * MINUTE)
    assert convergence(run(late, Join(HOUR, ("late",)))).verdict is Verdict.PROBING


@pytest.mark.parametrize("protocol", GroupProtocol)
def test_a_run_that_ends_before_a_crash_is_noticed_is_not_stable(protocol: GroupProtocol) -> None:
    base = dataclasses.replace(with_group(world(), protocol=protocol), duration_ms=HOUR + 30 * SECOND)
    verdict = convergence(run(base, Crash(HOUR, ("c1",)), assignor=StreamsGroupSticky()))
    assert verdict.verdict is Verdict.REBALANCING


@dataclass(frozen=True)
class Forgetful:
    """Forgets that there are clients at all."""

    def assign(self, state: ApplicationState) -> TaskAssignment:
        return TaskAssignment(())


def test_an_invalid_answer_ends_the_run_and_says_what_was_wrong() -> None:
    trace = run(world(2), assignor=Forgetful())
    assert trace.failure is not None
    assert trace.failure.startswith("round 1: Forgetful: MISSING_PROCESS_ID")
    assert trace.failure.count("MISSING_PROCESS_ID") == 2
    verdict = convergence(trace)
    assert (verdict.verdict, verdict.cause) == (Verdict.FAILED, trace.failure)


@pytest.mark.parametrize("protocol", GroupProtocol)
def test_nobody_there_is_an_empty_run(protocol: GroupProtocol) -> None:
    trace = run(with_group(with_clients(world(), starts=False), protocol=protocol))
    assert trace.rounds == ()
    assert convergence(trace).verdict is Verdict.EMPTY


def test_a_story_tells_where_a_task_was() -> None:
    trace = run(world(), Leave(HOUR, ("c1",), leaves_group=True))
    task = int(ran_on(trace, 1)[0])
    told = trace.describe_task(str(trace.layout.tasks.ids[task]))
    assert told[0].endswith("runs on c1")
    assert "(c1 left): " in told[1]
    with pytest.raises(KeyError, match="unknown task '9_9' of app"):
        trace.describe_task("9_9")


def test_a_client_that_stands_by_is_told_of_in_the_story() -> None:
    trace = run(with_configs(world(), num_standby_replicas=1))
    [task, stands_by] = trace.rounds[0].standby[0].tolist()
    [told] = trace.describe_task(str(trace.layout.tasks.ids[task]))
    assert f"standby on {trace.world.clients[stands_by].name}" in told


def test_a_client_is_known_by_its_name_wherever_it_stands_in_the_list() -> None:
    base = world()
    turned = dataclasses.replace(base, clients=base.clients[::-1])
    names = [
        [trace.world.clients[row].name for row in trace.rounds[0].owner.tolist()] for trace in (run(base), run(turned))
    ]
    assert names[0] == names[1], "Kafka's order is that of process ids"
    assert client("c0", "az1").process_id == base.clients[0].process_id
