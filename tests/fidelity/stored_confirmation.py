"""Confirmations as JSON files, reduced to what the page and the tests compare."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from tests.fidelity.confirmation import Confirmation
from tests.fidelity.step_outcome import (
    TOLERANCE_SHARE,
    count_close_times,
    count_tasks_on_predicted_thread,
    is_close,
)

OUT = Path("out")
TOLERANCE_BYTES = 1_000_000
"""Deviation of restored bytes that never counts: less than a task of 13 MB restores in a second."""


@dataclass(frozen=True, slots=True)
class StoredConfirmation:
    """Prediction and observation of one step and one application; times relative to the event, in milliseconds.

    Attributes:
        kafka: Release.
        experiment: Name of the experiment.
        step: Name of the step.
        application: `application.id`.
        title: Name of the application and its assignor.
        is_streams_group: Whether the group coordinator assigned tasks.
        depends_on_timing: Whether its assignor uses previous owners regardless of lag.
        joined_separately: Whether hosts that should have joined together did not.
        warmed_up_early: Whether a warm-up was caught up before the follow-up rebalance.
        differences: Differences between predicted and observed task distribution.
        tasks: Number of active and standby tasks.
        threads: Number of threads of all processes; 0 if the simulator does not predict tasks by thread.
        active_tasks: Number of active tasks.
        tasks_on_predicted_thread: Number of active tasks on the predicted thread.
        predicted_rebalances_ms: Predicted time of each rebalance.
        range_of_rebalances: Number of rebalances with the shortest and with the longest client times; empty if exact.
        rebalances_ms: Observed time of each rebalance.
        predicted_probing_rounds: Predicted number of probing rebalances.
        probing_rounds: Observed number of probing rebalances.
        predicted_converged_ms: Predicted time at which the last change took effect; None if it never did.
        converged_ms: Observed time of the last change.
        predicted_restored_bytes: Bytes of changelogs that clients read to catch up, as predicted.
        restored_bytes: The same by the clients' own metrics.
        replayed: Number of leader decisions replayed.
        replayed_alike: Number of decisions that the reimplemented assignor repeats.
    """

    kafka: str
    experiment: str
    step: str
    application: str
    title: str
    is_streams_group: bool
    depends_on_timing: bool
    joined_separately: bool
    warmed_up_early: bool
    differences: tuple[str, ...]
    tasks: int
    threads: int
    active_tasks: int
    tasks_on_predicted_thread: int
    predicted_rebalances_ms: tuple[int, ...]
    range_of_rebalances: tuple[int, ...]
    rebalances_ms: tuple[int, ...]
    predicted_probing_rounds: int
    probing_rounds: int
    predicted_converged_ms: int | None
    converged_ms: int | None
    predicted_restored_bytes: int
    restored_bytes: int
    replayed: int
    replayed_alike: int

    @property
    def has_predicted_count(self) -> bool:
        """Whether the number of rebalances is as predicted."""
        return len(self.rebalances_ms) == len(self.predicted_rebalances_ms)

    @property
    def is_within_range(self) -> bool:
        """Whether the number of rebalances is not as predicted, but one that the simulator reports as possible."""
        possible = (len(self.predicted_rebalances_ms), *self.range_of_rebalances)
        return not self.has_predicted_count and min(possible) <= len(self.rebalances_ms) <= max(possible)

    @property
    def times(self) -> int:
        """Number of rebalance times compared: a rebalance that is only predicted or only observed counts."""
        return max(len(self.rebalances_ms), len(self.predicted_rebalances_ms))

    @property
    def close_times(self) -> int:
        """Number of rebalances at the predicted time."""
        return count_close_times(self.predicted_rebalances_ms, self.rebalances_ms)

    @property
    def has_predicted_times(self) -> bool:
        """Whether every rebalance took place at the predicted time."""
        return self.close_times == self.times

    @property
    def converges_as_predicted(self) -> bool:
        """Whether the last change took effect at the predicted time."""
        predicted_ms, observed_ms = self.predicted_converged_ms, self.converged_ms
        if predicted_ms is None or observed_ms is None:
            return predicted_ms == observed_ms
        return is_close(predicted_ms, observed_ms)

    @property
    def restores_as_predicted(self) -> bool:
        """Whether the restored bytes deviate by no more than the larger of 1 MB and 15 %."""
        deviation = abs(self.predicted_restored_bytes - self.restored_bytes)
        return deviation <= max(TOLERANCE_BYTES, TOLERANCE_SHARE * self.restored_bytes)

    @property
    def name(self) -> str:
        """Release, step and application."""
        return f"{self.kafka} {self.application}: {self.step}"

    def misses(self) -> list[str]:
        """Return a phrase for each dimension in which the prediction was wrong."""
        phrases = ["tasks: " + "; ".join(self.differences)] if self.differences else []
        if not (self.has_predicted_count and self.has_predicted_times):
            phrases.append(
                f"rebalances: predicted at {format_times(self.predicted_rebalances_ms)}, "
                f"observed at {format_times(self.rebalances_ms)}"
            )
        if not self.converges_as_predicted:
            phrases.append(
                f"time to converge: predicted {format_times([self.predicted_converged_ms])}, "
                f"observed {format_times([self.converged_ms])}"
            )
        if not self.restores_as_predicted:
            predicted, observed = self.predicted_restored_bytes / 1e6, self.restored_bytes / 1e6
            phrases.append(f"restored: predicted {predicted:.1f} MB, observed {observed:.1f} MB")
        return phrases

    def summary(self) -> str:
        """Return one line: what was observed, and every miss."""
        misses = "; ".join(self.misses()) or "as predicted"
        observed = f"rebalances {format_times(self.rebalances_ms)}, {self.restored_bytes / 1e6:.1f} MB"
        threads = f", {self.tasks_on_predicted_thread}/{self.active_tasks} by thread" if self.threads else ""
        return f"{self.name} [{observed}{threads}]: {misses}"


def format_times(times_ms: Sequence[int | None]) -> str:
    """Return times in seconds, such as `0.2, 61.0 s`."""
    times = [f"{at_ms / 1000:.1f}" for at_ms in times_ms if at_ms is not None]
    return ", ".join(times) + " s" if times else "no time"


def to_stored(confirmation: Confirmation) -> StoredConfirmation:
    """Reduce a confirmation to what is compared."""
    observed, outcome, predicted = confirmation.observed, confirmation.outcome, confirmation.predicted_outcome
    return StoredConfirmation(
        kafka=confirmation.kafka,
        experiment=confirmation.experiment,
        step=confirmation.step,
        application=confirmation.application,
        title=confirmation.title,
        is_streams_group=confirmation.is_streams_group,
        depends_on_timing=confirmation.depends_on_timing,
        joined_separately=confirmation.joined_separately,
        warmed_up_early=confirmation.warmed_up_early,
        differences=tuple(confirmation.differences),
        tasks=sum(len(tasks) for role in (observed.active, observed.standby) for tasks in role.values()),
        threads=sum(map(len, confirmation.predicted_threads.values())),
        active_tasks=sum(map(len, observed.active.values())),
        tasks_on_predicted_thread=count_tasks_on_predicted_thread(confirmation.predicted_threads, confirmation.threads),
        predicted_rebalances_ms=predicted.rebalances_ms,
        range_of_rebalances=tuple(len(possible.rebalances_ms) for possible in confirmation.range),
        rebalances_ms=outcome.rebalances_ms,
        predicted_probing_rounds=confirmation.predicted.probing_rounds,
        probing_rounds=confirmation.probing_rounds,
        predicted_converged_ms=predicted.converged_ms,
        converged_ms=outcome.converged_ms,
        predicted_restored_bytes=predicted.restored_bytes,
        restored_bytes=outcome.restored_bytes,
        replayed=len(confirmation.replay_differences),
        replayed_alike=sum(not differences for differences in confirmation.replay_differences),
    )


def write_confirmations(kafka_version: str, confirmations: Iterable[StoredConfirmation]) -> Path:
    """Store the confirmations of a release, instead of earlier ones of the same experiments; return the file's path."""
    new = list(confirmations)
    experiments = {confirmation.experiment for confirmation in new}
    kept = [stored for stored in read_confirmations(kafka_version) if stored.experiment not in experiments]
    OUT.mkdir(exist_ok=True)
    file = _file(kafka_version)
    rows = [
        {field.name: getattr(stored, field.name) for field in fields(StoredConfirmation)} for stored in [*kept, *new]
    ]
    file.write_text(json.dumps(rows, indent=1) + "\n")
    return file


def read_confirmations(kafka_version: str) -> list[StoredConfirmation]:
    """Return the stored confirmations of a release; none if there is no file."""
    file = _file(kafka_version)
    rows: list[dict[str, Any]] = json.loads(file.read_text()) if file.exists() else []
    return [
        StoredConfirmation(**{name: tuple(value) if isinstance(value, list) else value for name, value in row.items()})
        for row in rows
    ]


def _file(kafka_version: str) -> Path:
    return OUT / f"fidelity-{kafka_version}.json"
