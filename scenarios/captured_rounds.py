"""A run of which all is kept that an assignor was shown, and answered."""

from __future__ import annotations

from dataclasses import dataclass, field

from assignors.model.assignment import AssignmentColumns, TaskAssignment, TaskAssignor
from assignors.model.state import ApplicationState
from assignors.recording.recorder import Recorder
from scenarios.assignor_specs import AssignorSpec, make_assignor
from scenarios.load import Scenario
from simulator.assignment.explanation import ExplanationRequest
from simulator.results.trace import INITIAL_ROUND, Round, Trace
from simulator.run import simulate


@dataclass(frozen=True, slots=True, eq=False)
class CapturedRound:
    """What an assignor was shown for a round, and what it answered."""

    round: Round
    state: ApplicationState
    columns: AssignmentColumns


@dataclass(slots=True)
class _Watched:
    """An assignor that remembers what it was shown and what it answered."""

    assignor: TaskAssignor
    answers: list[tuple[ApplicationState, TaskAssignment]] = field(default_factory=list)

    def assign(self, state: ApplicationState) -> TaskAssignment:
        return self._remember(state, self.assignor.assign(state))

    def _remember(self, state: ApplicationState, assignment: TaskAssignment) -> TaskAssignment:
        self.answers.append((state, assignment))
        return assignment


@dataclass(slots=True)
class _WatchedRecorded(_Watched):
    """The same of one that tells how it decides."""

    def assign_recorded(self, state: ApplicationState, recorder: Recorder) -> TaskAssignment:
        return self._remember(state, self.assignor.assign_recorded(state, recorder))  # type: ignore[attr-defined]


def capture_rounds(
    scenario: Scenario, assignor_spec: AssignorSpec, seed: int | None = None
) -> tuple[CapturedRound, ...]:
    """Run a scenario, and keep what the assignor was shown for each round, and answered.

    Args:
        scenario: what to simulate.
        contestant: the assignor.
        seed: the scenario's first if None.
    """
    return run_and_capture(scenario, assignor_spec, seed)[1]


def run_and_capture(
    scenario: Scenario, assignor_spec: AssignorSpec, seed: int | None = None, question: ExplanationRequest | None = None
) -> tuple[Trace, tuple[CapturedRound, ...]]:
    """As `watch`, with all that happened.

    Args:
        scenario: what to simulate.
        contestant: the assignor.
        seed: the scenario's first if None.
        question: as in `simulate`, without break-evens: for these an assignor is asked more than once a round.
    """
    choice, info = assignor_spec.choice, assignor_spec.info
    world = scenario.world(scenario.seeds[0] if seed is None else seed, choice.configs, choice.protocol)
    made = make_assignor(assignor_spec, world)
    watched = _WatchedRecorded(made) if hasattr(made, "assign_recorded") else _Watched(made)
    trace = simulate(world, watched, info.weights, question=question)
    decided = [each for each in trace.rounds if each.number != INITIAL_ROUND]
    # An answer that was not valid ended the run, and made no round.
    return trace, tuple(
        CapturedRound(round_, state, AssignmentColumns.of(state, assignment))
        for round_, (state, assignment) in zip(decided, watched.answers, strict=False)
    )
