"""The reasons of moves, derived from members, copies and racks."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from assignors.model.assignment import UNASSIGNED, KafkaStreamsAssignment, TaskAssignment, TaskType
from assignors.model.ids import TaskId
from assignors.model.state import ApplicationState
from simulator.processes.simulation import simulate
from simulator.results.run_summary import REASONS, MoveReason, RoundMoves, round_moves
from simulator.results.trace import Trace
from simulator.world.changes import Disturbance
from simulator.world.disturbances import BrokerLoss, Leave, ReplicaMove
from simulator.world.world import World
from tests.simulator.world_builders import HOUR, MINUTE, world

TASK = TaskId(1, 0)
"""A stateful task that reads views-0, whose only replica is on broker 0 in az1."""

Place = tuple[int, tuple[int, ...]]


@dataclass(frozen=True)
class ScriptedAssignor:
    """Assigns one task to one place after another, and all other tasks to the first client.

    A place is the row of the owner and the rows of the standbys, in the order of process ids.
    """

    places: tuple[Place, ...]
    steps: list[int]

    def assign(self, state: ApplicationState) -> TaskAssignment:
        """Continue with the next place if the task has reached the current one."""
        ids = state.clients.ids
        task_row = state.tasks.ids.index(TASK)
        owners = [client for client, tasks in enumerate(state.previous_active) if state.tasks.ids[task_row] in tasks]
        step = self.steps[-1] if self.steps else -1
        if step < 0 or [ids[client] for client in owners] == [ids[self.places[step][0]]]:
            step = min(step + 1, len(self.places) - 1)
        self.steps.append(step)
        owner, standbys = self.places[step]
        tasks_of: Mapping[int, dict[TaskId, TaskType]] = {client: {} for client in range(len(ids))}
        tasks_of[0].update({task: TaskType.ACTIVE for task in state.tasks.ids if task != TASK})
        tasks_of[owner][TASK] = TaskType.ACTIVE
        for client in standbys:
            tasks_of[client][TASK] = TaskType.STANDBY
        followup_ms = 10 * MINUTE if step < len(self.places) - 1 else None
        return TaskAssignment(
            tuple(KafkaStreamsAssignment(ids[client], tasks, followup_ms) for client, tasks in tasks_of.items())
        )


def with_clients_in_kafka_order(base: World) -> World:
    """Return the world with its clients in Kafka's order, so that rows of clients and members are equal."""
    return dataclasses.replace(base, clients=tuple(sorted(base.clients, key=lambda client: client.process_id)))


def move_history(
    base: World, *places: Place, disturbances: tuple[Disturbance, ...] = ()
) -> list[tuple[int, int, MoveReason]]:
    """Return source, target and reason of each move of the task."""
    trace = simulate(dataclasses.replace(base, disturbances=disturbances), ScriptedAssignor(places, []))
    assert trace.failure is None
    row = trace.layout.tasks.ids.index(TASK)
    return [
        (source, target, REASONS[reason])
        for moves in round_moves(trace)
        for task, source, target, reason in zip(
            moves.tasks.tolist(), moves.sources.tolist(), moves.targets.tolist(), moves.reasons.tolist(), strict=True
        )
        if task == row
    ]


BASE = with_clients_in_kafka_order(world())
IN_AZ1 = [row for row, client in enumerate(BASE.clients) if client.rack == "az1"]
ELSEWHERE = [row for row, client in enumerate(BASE.clients) if client.rack != "az1"]


def test_task_that_stays_does_not_move() -> None:
    assert move_history(BASE, (1, ()), (1, ())) == []


def test_move_to_a_standby_is_a_promotion() -> None:
    near, far = IN_AZ1[0], ELSEWHERE[0]
    assert move_history(BASE, (far, (near,)), (near, ())) == [(far, near, MoveReason.PROMOTED)]


def test_move_to_an_earlier_owner_is_a_return() -> None:
    near, far = IN_AZ1[0], ELSEWHERE[0]
    moves = move_history(BASE, (near, ()), (far, ()), (near, ()))
    assert moves == [(near, far, MoveReason.BALANCE), (far, near, MoveReason.RETURNED)]


def test_move_with_fewer_remote_partitions_is_for_the_rack() -> None:
    assert move_history(BASE, (ELSEWHERE[0], ()), (IN_AZ1[0], ())) == [(ELSEWHERE[0], IN_AZ1[0], MoveReason.RACK)]


def test_later_broker_events_do_not_change_reasons() -> None:
    places = ((ELSEWHERE[0], ()), (IN_AZ1[0], ()))
    all_brokers = tuple(broker.id for broker in BASE.cluster.brokers)
    after_loss = move_history(BASE, *places, disturbances=(BrokerLoss(11 * HOUR, all_brokers),))
    after_replica_move = move_history(BASE, *places, disturbances=(ReplicaMove(11 * HOUR, "views", 0, (1,)),))
    assert after_loss == after_replica_move == [(ELSEWHERE[0], IN_AZ1[0], MoveReason.RACK)]


def test_other_moves_are_for_balance() -> None:
    assert move_history(BASE, (IN_AZ1[0], ()), (IN_AZ1[1], ())) == [(IN_AZ1[0], IN_AZ1[1], MoveReason.BALANCE)]
    assert move_history(BASE, (ELSEWHERE[0], ()), (ELSEWHERE[1], ())) == [
        (ELSEWHERE[0], ELSEWHERE[1], MoveReason.BALANCE)
    ]


def test_lost_member_precedes_all_other_reasons() -> None:
    """The owner leaves, and its standby in the rack of the source partition takes over."""
    base = with_clients_in_kafka_order(world(3))
    leaving = base.clients[2]
    near = next(row for row in (0, 1) if base.clients[row].rack == "az1" or leaving.rack == "az1")

    @dataclass(frozen=True)
    class StandbyTakesOver:
        def assign(self, state: ApplicationState) -> TaskAssignment:
            ids = state.clients.ids
            owner = 2 if len(ids) == 3 else near
            tasks_of = [dict.fromkeys(state.tasks.ids, TaskType.ACTIVE) if c == owner else {} for c in range(len(ids))]
            if owner == 2:
                tasks_of[near][TASK] = TaskType.STANDBY
            return TaskAssignment(tuple(KafkaStreamsAssignment(i, g, None) for i, g in zip(ids, tasks_of, strict=True)))

    trace = simulate(dataclasses.replace(base, disturbances=(Leave(HOUR, (leaving.name,)),)), StandbyTakesOver())
    [moves] = round_moves(trace)
    assert len(moves.tasks) == 18
    assert {REASONS[reason] for reason in moves.reasons.tolist()} == {MoveReason.MEMBER_LOST}
    assert len(moves.standbys) == 0


def test_new_standbys_are_listed_once() -> None:
    places: tuple[Place, ...] = ((0, (1,)), (0, (1, 2)), (0, (2,)))
    trace = simulate(BASE, ScriptedAssignor(places, []))
    history: list[RoundMoves] = list(round_moves(trace))
    row = trace.layout.tasks.ids.index(TASK)
    assert [moves.standbys.tolist() for moves in history] == [[[row, 2]], []]
    assert not any(len(moves.tasks) for moves in history)


def test_moves_from_and_to_unassigned() -> None:
    trace = two_rounds([0] * 18, [0] * 17 + [UNASSIGNED])
    [change] = round_moves(trace)
    assert (change.tasks.tolist(), change.sources.tolist(), change.targets.tolist()) == ([17], [0], [UNASSIGNED])
    [change] = round_moves(two_rounds([0] * 17 + [UNASSIGNED], [0] * 18))
    assert (change.sources.tolist(), change.targets.tolist()) == ([UNASSIGNED], [0])
    assert REASONS[change.reasons[0]] is not MoveReason.RETURNED


def two_rounds(first: list[int], second: list[int]) -> Trace:
    """Return a run of two rounds with the given owners."""
    trace = simulate(
        dataclasses.replace(BASE, disturbances=(ReplicaMove(HOUR, "views", 0, (0, 1)),)),
        ScriptedAssignor(((0, ()),), []),
    )
    rounds = [
        dataclasses.replace(round_, owner=np.array(owner), standby=np.zeros((0, 2), dtype=np.int64))
        for round_, owner in zip(trace.rounds[:2], (first, second), strict=True)
    ]
    return dataclasses.replace(trace, rounds=tuple(rounds))
