"""What happened in a run: its rounds, its changes, and the life of each task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assignors.model.assignment import UNASSIGNED, AssignmentColumns
from assignors.model.columns import NO_RACK, BoolArray, IntArray
from assignors.model.ids import TaskId
from assignors.model.state import ApplicationState
from assignors.objective.cost import CostAndBound
from assignors.tasks.rack_aware import RackCosts
from simulator.assignment.explanation import RoundExplanation
from simulator.assignment.measures import FailureLosses, Measures
from simulator.brokers.availability import Outage
from simulator.flows.execution import RunTotals
from simulator.flows.intervals import Intervals
from simulator.flows.task_states import TaskStateHistory
from simulator.flows.traffic import TrafficBytes
from simulator.group.rebalance_causes import Cause
from simulator.timeline import TimedChange
from simulator.world.layout import FloatArray, Layout
from simulator.world.world import World

INITIAL_ROUND = 0
"""The number of the round that stands for what was there of an application that was running already."""


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """One rebalance of a run, and what went on until the next.

    Attributes:
        number: 1 for the first rebalance; Kafka's generation. FOUND for what was there before it.
        requested_at_ms: when the rebalance was asked for.
        at_ms: when its assignment was handed out.
        until_ms: when the next one was, or the end of the run.
        settled_at_ms: when everybody had what it decided, None if that never came.
        reason: what called for it.
        causes: the changes that called for it, by time; none if it only follows from the rebalance before.
        members: the clients that took part, rows of the world's clients, by process id.
        owner: shape (T,); the client that is to run each task, UNASSIGNED if none.
        standby: shape (S, 2); task and client of every standby and warm-up.
        withheld: shape (W,); tasks that their new owners only get in the next rebalance.
        thread_moves: tasks that went from one thread of their client to another.
        followup_delay_ms: in how long the assignor asked for another rebalance, None if it did not.
        leader_compute_ms: how long Kafka's leader would compute for it.
        costs: Kafka's own costs of the answer.
        appraisal: what it costs against what was there before, and the bound; None if racks are not known.
        measures: what is measured of it.
        steady: bytes per second once every task runs and every standby keeps up, with leaders and replicas where they
            are when the round begins; when it ends, if it is the last or partitions were reassigned in it.
        bytes: what travelled until the next round.
        restoring: how many tasks were not running right after it.
        warming_up: how many standbys and warm-ups were behind right after it.
        before: what all had come to when it was handed out.
        remote_sources: shape (T, R + 1); how many source partitions each task reads from another rack, by the rack it
            runs in, the last column without; as partitions are placed when it is handed out.
        reasons: why what moved moved; None if nobody asked.
    """

    number: int
    requested_at_ms: int
    at_ms: int
    until_ms: int
    reconciled_at_ms: int | None
    reason: str
    causes: tuple[Cause, ...]
    members: IntArray
    owner: IntArray
    standby: IntArray
    withheld: IntArray
    thread_moves: int
    followup_delay_ms: int | None
    leader_compute_ms: float
    costs: RackCosts
    appraisal: CostAndBound | None
    measures: Measures
    steady_state: TrafficBytes
    bytes: TrafficBytes
    restoring: int
    warming_up: int
    before: RunTotals
    remote_source_counts: IntArray
    reasons: RoundExplanation | None = None

    def standbys(self, num_clients: int) -> BoolArray:
        """Shape (T, N); who holds a standby of what, along the world's clients."""
        standbys = np.zeros((len(self.owner), num_clients), dtype=np.bool_)
        standbys[self.standby[:, 0], self.standby[:, 1]] = True
        return standbys

    def decides_like(self, other: Round) -> bool:
        """Whether both gave the same to the same members."""
        return (
            np.array_equal(self.members, other.members)
            and np.array_equal(self.owner, other.owner)
            and np.array_equal(self.standby, other.standby)
        )

    @property
    def is_final(self) -> bool:
        """Whether nothing follows from it: everybody has what it decided, and nothing more was asked for."""
        return self.followup_delay_ms is None and self.reconciled_at_ms is not None


def num_rebalances(rounds: Sequence[Round]) -> int:
    """How many of these rounds are rebalances: all but what was found."""
    return sum(each.number != INITIAL_ROUND for each in rounds)


def first_final_place(rounds: Sequence[Round]) -> int:
    """Return the place of the first of the last rounds that all decided the same; there must be a round."""
    return next((place for place in range(len(rounds) - 1, 0, -1) if not rounds[place - 1].decides_like(rounds[-1])), 0)


@dataclass(frozen=True, slots=True, eq=False)
class CapturedRound:
    """The input and output of the assignor in one rebalance.

    Attributes:
        round: the rebalance.
        state: the assignor's input.
        columns: the assignment, along the rows of `state`.
    """

    round: Round
    state: ApplicationState
    columns: AssignmentColumns


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """A finished run.

    Attributes:
        world: what was simulated.
        layout: the rows.
        rounds: the rebalances, in order; before them, what was found if the application was running already.
        changes: what the scenario did, in order.
        after: what all had come to in the end.
        max_processing_delay_s: shape (T,); the most input that ever waited, in seconds of usual input.
        failure_losses: what the loss of racks or clients would take with it in the end; None if nothing was assigned.
        lives: the life of every task.
        client_racks: shape (N,); where each client stands, a column of the layout's racks, NO_RACK if not known.
        outages: when partitions that tasks read or write were unavailable.
        end_ms: when the run ended.
        catching_up: as in `Execution`.
        unanswered: the changes that call for a rebalance that had not taken effect by the end.
        failure: why the run ended early, if an assignor failed.
        hindrance: what kept the group from ever coming to rest, if something did.
        unfinished: whether a rebalance was under way at the end.
        captured_rounds: the assignor's input and output of each rebalance; empty unless the run captured them.
    """

    world: World
    layout: Layout
    rounds: Sequence[Round]
    changes: Sequence[TimedChange]
    after: RunTotals
    max_processing_delay_s: FloatArray
    failure_losses: FailureLosses | None
    lives: TaskStateHistory
    client_racks: IntArray
    end_ms: int
    catching_up: Intervals
    outages: Sequence[Outage] = ()
    pending: tuple[Cause, ...] = ()
    failure: str | None = None
    blocking_cause: str | None = None
    unfinished: bool = False
    captured_rounds: Sequence[CapturedRound] = ()

    @property
    def downtime_ms(self) -> IntArray:
        """Shape (T,); for how long each task was not processed, from the first assignment on."""
        return self.after.downtime_ms - (self.rounds[0].before.downtime_ms if self.rounds else self.after.downtime_ms)

    @property
    def unqueryable_ms(self) -> IntArray:
        """Shape (T,); for how long queries found no copy of each task, from the first assignment on."""
        before = self.rounds[0].before.unqueryable_ms if self.rounds else self.after.unqueryable_ms
        return self.after.unqueryable_ms - before

    def knows_racks(self, each: Round) -> bool:
        """Whether it is known where all clients of a round stand."""
        return not (self.client_racks[each.members] == NO_RACK).any()

    def story(self, task: str) -> list[str]:
        """Tell one task's life: each step it took, and where it stood by, in order of time.

        Raises:
            KeyError: the application has no such task.
        """
        try:
            row = self.layout.tasks.ids.index(TaskId.parse(task))
        except ValueError:
            raise KeyError(f"'{task}' is not a task of {self.world.application.id}") from None
        told: list[str] = []
        before = ""
        for each in self.rounds:
            now = self._whereabouts(each, row)
            if now != before:
                told.append(f"{each.at_ms / 1000:.0f} s, round {each.number} ({each.reason}): {now}")
            before = now
        return told

    def _whereabouts(self, each: Round, row: int) -> str:
        clients = self.world.clients
        owner = int(each.owner[row])
        runs = "nobody runs it" if owner == UNASSIGNED else f"runs on {clients[owner].name}"
        if row in each.withheld:
            runs = f"waits to run on {clients[owner].name} until it is free"
        standbys = [clients[n].name for n in np.flatnonzero(each.standbys(len(clients))[row])]
        return runs + (f", standby on {', '.join(standbys)}" if standbys else "")
