"""Why tasks moved, derived from members, copies and racks."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from assignors.model.assignment import UNASSIGNED, KafkaStreamsAssignment, TaskAssignment, TaskType
from assignors.model.ids import TaskId
from assignors.model.state import ApplicationState
from simulator.results.moves import REASONS, MoveReason, RoundMoves, round_moves
from simulator.results.trace import Trace
from simulator.run import simulate
from simulator.world.disturbances import BrokerLoss, Disturbance, Leave, ReplicaMove
from simulator.world.world import World
from tests.simulator.world_builders import HOUR, MINUTE, world

TASK = TaskId(1, 0)
"""Has state, and reads views-0, which is on broker 0 in az1 alone."""

Place = tuple[int, tuple[int, ...]]


@dataclass(frozen=True)
class Script:
    """Puts one task where it is told, one place after another; all other tasks go to the first client.

    A place is the client that runs it, by process id, and those that stand by.
    """

    places: tuple[Place, ...]
    told: list[int]

    def assign(self, state: ApplicationState) -> TaskAssignment:
        """Go on to the next place unless the task has not come to the last one yet."""
        ids = state.clients.ids
        row = state.tasks.ids.index(TASK)
        had = [column for column, tasks in enumerate(state.previous_active) if state.tasks.ids[row] in tasks]
        at = self.told[-1] if self.told else -1
        if at < 0 or [ids[column] for column in had] == [ids[self.places[at][0]]]:
            at = min(at + 1, len(self.places) - 1)
        self.told.append(at)
        runs, standbys = self.places[at]
        given: Mapping[int, dict[TaskId, TaskType]] = {column: {} for column in range(len(ids))}
        given[0].update({task: TaskType.ACTIVE for task in state.tasks.ids if task != TASK})
        given[runs][TASK] = TaskType.ACTIVE
        for column in standbys:
            given[column][TASK] = TaskType.STANDBY
        followup_ms = 10 * MINUTE if at < len(self.places) - 1 else None
        return TaskAssignment(
            tuple(KafkaStreamsAssignment(ids[column], tasks, followup_ms) for column, tasks in given.items())
        )


def by_process_id(base: World) -> World:
    """The world with its clients in Kafka's order, so that rows and columns are the same."""
    return dataclasses.replace(base, clients=tuple(sorted(base.clients, key=lambda each: each.process_id)))


def moved(base: World, *places: Place, happens: tuple[Disturbance, ...] = ()) -> list[tuple[int, int, MoveReason]]:
    """From where to where the task went, and why."""
    trace = simulate(dataclasses.replace(base, disturbances=happens), Script(places, []))
    assert trace.failure is None
    row = trace.layout.tasks.ids.index(TASK)
    return [
        (source, target, REASONS[reason])
        for each in round_moves(trace)
        for task, source, target, reason in zip(
            each.tasks.tolist(), each.sources.tolist(), each.targets.tolist(), each.reasons.tolist(), strict=True
        )
        if task == row
    ]


BASE = by_process_id(world())
IN_AZ1 = [row for row, each in enumerate(BASE.clients) if each.rack == "az1"]
ELSEWHERE = [row for row, each in enumerate(BASE.clients) if each.rack != "az1"]


def test_a_task_that_stays_does_not_move() -> None:
    assert moved(BASE, (1, ()), (1, ())) == []


def test_a_task_that_goes_to_who_stood_by_was_promoted() -> None:
    near, far = IN_AZ1[0], ELSEWHERE[0]
    assert moved(BASE, (far, (near,)), (near, ())) == [(far, near, MoveReason.PROMOTED)]


def test_a_task_that_goes_where_it_ran_before_returned() -> None:
    near, far = IN_AZ1[0], ELSEWHERE[0]
    told = moved(BASE, (near, ()), (far, ()), (near, ()))
    assert told == [(near, far, MoveReason.BALANCE), (far, near, MoveReason.RETURNED)]


def test_a_task_that_goes_where_fewer_partitions_are_remote_goes_for_the_rack() -> None:
    assert moved(BASE, (ELSEWHERE[0], ()), (IN_AZ1[0], ())) == [(ELSEWHERE[0], IN_AZ1[0], MoveReason.RACK)]


def test_what_becomes_of_brokers_later_changes_no_reason() -> None:
    places = ((ELSEWHERE[0], ()), (IN_AZ1[0], ()))
    every = tuple(broker.id for broker in BASE.cluster.brokers)
    lost = moved(BASE, *places, happens=(BrokerLoss(11 * HOUR, every),))
    elsewhere = moved(BASE, *places, happens=(ReplicaMove(11 * HOUR, "views", 0, (1,)),))
    assert lost == elsewhere == [(ELSEWHERE[0], IN_AZ1[0], MoveReason.RACK)]


def test_a_task_that_goes_anywhere_else_goes_for_balance() -> None:
    assert moved(BASE, (IN_AZ1[0], ()), (IN_AZ1[1], ())) == [(IN_AZ1[0], IN_AZ1[1], MoveReason.BALANCE)]
    assert moved(BASE, (ELSEWHERE[0], ()), (ELSEWHERE[1], ())) == [(ELSEWHERE[0], ELSEWHERE[1], MoveReason.BALANCE)]


def test_that_a_client_was_gone_comes_before_all_other_reasons() -> None:
    """The last client by process id runs it, leaves, and who stood by for it, nearer by, has it then."""
    base = by_process_id(world(3))
    gone = base.clients[2]
    near = next(row for row in (0, 1) if base.clients[row].rack == "az1" or gone.rack == "az1")

    @dataclass(frozen=True)
    class Successor:
        def assign(self, state: ApplicationState) -> TaskAssignment:
            ids = state.clients.ids
            runs = 2 if len(ids) == 3 else near
            given = [dict.fromkeys(state.tasks.ids, TaskType.ACTIVE) if c == runs else {} for c in range(len(ids))]
            if runs == 2:
                given[near][TASK] = TaskType.STANDBY
            return TaskAssignment(tuple(KafkaStreamsAssignment(i, g, None) for i, g in zip(ids, given, strict=True)))

    trace = simulate(dataclasses.replace(base, disturbances=(Leave(HOUR, (gone.name,)),)), Successor())
    [lost] = round_moves(trace)
    assert len(lost.tasks) == 18
    assert {REASONS[reason] for reason in lost.reasons.tolist()} == {MoveReason.MEMBER_LOST}
    assert len(lost.standbys) == 0


def test_standbys_that_are_new_are_told_once() -> None:
    places: tuple[Place, ...] = ((0, (1,)), (0, (1, 2)), (0, (2,)))
    trace = simulate(BASE, Script(places, []))
    told: list[RoundMoves] = list(round_moves(trace))
    row = trace.layout.tasks.ids.index(TASK)
    assert [each.standbys.tolist() for each in told] == [[[row, 2]], []]
    assert not any(len(each.tasks) for each in told)


def test_what_nobody_ran_before_or_after_is_told_as_such() -> None:
    trace = two_rounds([0] * 18, [0] * 17 + [UNASSIGNED])
    [change] = round_moves(trace)
    assert (change.tasks.tolist(), change.sources.tolist(), change.targets.tolist()) == ([17], [0], [UNASSIGNED])
    [change] = round_moves(two_rounds([0] * 17 + [UNASSIGNED], [0] * 18))
    assert (change.sources.tolist(), change.targets.tolist()) == ([UNASSIGNED], [0])
    assert REASONS[change.reasons[0]] is not MoveReason.RETURNED


def two_rounds(first: list[int], second: list[int]) -> Trace:
    """A run of two rounds that is made to have decided this."""
    trace = simulate(
        dataclasses.replace(BASE, disturbances=(ReplicaMove(HOUR, "views", 0, (0, 1)),)), Script(((0, ()),), [])
    )
    rounds = [
        dataclasses.replace(each, owner=np.array(owner), standby=np.zeros((0, 2), dtype=np.int64))
        for each, owner in zip(trace.rounds[:2], (first, second), strict=True)
    ]
    return dataclasses.replace(trace, rounds=tuple(rounds))
