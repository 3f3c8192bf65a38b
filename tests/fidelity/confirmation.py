"""Confirmations: prediction and observation of one step and one application."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.fidelity.prediction import GroupPrediction, TaskDistribution
from tests.fidelity.step_outcome import StepOutcome, Threads

BLACKOUT = "all crash and return with other configs"


@dataclass(frozen=True, slots=True)
class Confirmation:
    """Prediction and observation of one step and one application.

    Attributes:
        kafka: Release.
        experiment: Name of the experiment.
        step: Name of the step.
        application: `application.id`.
        title: Name of the application and its assignor in tables.
        predicted: Predicted task distribution and number of rebalances.
        predicted_outcome: Predicted times and restored bytes.
        range: Outcomes with the shortest and the longest client times; empty if they are exact.
        observed: Observed task distribution.
        outcome: Observed times and restored bytes.
        threads: Observed active tasks of each thread, by process id.
        is_streams_group: Whether the group coordinator assigned tasks; then no leader logged its decisions.
        depends_on_timing: Whether its assignor uses previous owners regardless of lag.
        probing_rounds: Observed number of rebalances a probing interval or more after their predecessor.
        warmed_up_early: Whether a follow-up rebalance, not a probing one, already found a warm-up replica caught up.
        gave_up_task: Whether a host gave up an active task that it had received since its last start.
        replay_differences: For each decision that a leader logged, the differences to the reimplemented assignor's
            decision; empty if equal.
    """

    kafka: str
    experiment: str
    step: str
    application: str
    title: str
    predicted: GroupPrediction
    predicted_outcome: StepOutcome
    range: Sequence[StepOutcome]
    observed: TaskDistribution
    outcome: StepOutcome
    threads: Threads
    is_streams_group: bool
    depends_on_timing: bool
    probing_rounds: int
    warmed_up_early: bool
    gave_up_task: bool
    replay_differences: tuple[tuple[str, ...], ...]

    @property
    def rounds(self) -> int:
        """Observed number of rebalances."""
        return len(self.outcome.rebalances_ms)

    @property
    def joined_separately(self) -> bool:
        """Whether hosts that should have returned together joined in several rebalances, moving tasks between them."""
        return self.step == BLACKOUT and self.gave_up_task

    @property
    def differences(self) -> list[str]:
        """Differences between the predicted and the observed task distribution."""
        return self.predicted.tasks.differences(self.observed)

    @property
    def predicted_threads(self) -> Threads:
        """Predicted active tasks of each thread, by process id; empty if the simulator does not predict them."""
        threads: Mapping[str, tuple[frozenset[str], ...]] = getattr(self.predicted, "threads", {})
        return threads
