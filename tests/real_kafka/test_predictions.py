"""Predictions from an imported cluster, compared with the behavior of a real Kafka.

Every release runs the experiments of `tests.fidelity.steps` once; each test checks one dimension of the results, which
are stored in out/fidelity-VERSION.json. The page docs/explanation/fidelity.md publishes the exact shares. The limits
here are lower, and times may be late: a busy machine delays applications by seconds. It makes none earlier.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise, product

import pytest

from assignors.kafka_releases import RECORDED_3_9
from tests.fidelity.confirmation import Confirmation
from tests.fidelity.report import MANY_APPLICATIONS
from tests.fidelity.shares import REBALANCES, RESTORED, THREADS, Share
from tests.fidelity.step_outcome import count_close_times, is_close
from tests.fidelity.steps import (
    LATEST,
    RELEASES,
    STREAMS_GROUPS_ONLY,
    applications_of,
    applications_on,
    experiments_on,
    run_steps,
)
from tests.fidelity.stored_confirmation import StoredConfirmation, to_stored, write_confirmations

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

STEPS = {"assignors": 8, "crash": 3, "crash-standby": 3, "close": 4, "threads": 6, "newcomer": 1}
"""Number of confirmed steps of each experiment."""
ALWAYS_MOVING = ("assignors", "crash", "threads")
"""Experiments in which every step moves a task."""

MIN_REBALANCES = 0.92
MIN_TIMES = 0.85
MIN_CONVERGENCE = 0.85
MAX_DELAY_MS = 15_000
"""By how much a busy machine may delay a rebalance or the end of the last move."""
MIN_RESTORED = 0.9
MIN_THREADS = 0.75
FEW = 2
"""How many may always differ from their prediction: a release with few steps would otherwise allow none."""

CLIENT_RELEASES = [version for version in RELEASES if version != STREAMS_GROUPS_ONLY]
TESTED = [(version, application) for version in RELEASES for application in applications_on(version)]
PREDICTABLE = [
    (version, application.id)
    for version, application in TESTED
    # Random process ids can fall into the same bin of a hash map, whose order is that of random member ids.
    if not application.depends_on_timing and application.id != "threads-streams"
]
DEPENDS_ON_TIMING = [(version, application.id) for version, application in TESTED if application.depends_on_timing]
CLASSIC = [(version, application.id) for version, application in TESTED if not application.uses_streams_groups]


@cache
def confirmations_on(version: str) -> Sequence[Confirmation]:
    """Run all experiments on a release and store the result."""
    confirmations = run_steps(version)
    write_confirmations(version, map(to_stored, confirmations))
    return confirmations


def confirmations_of(version: str) -> Mapping[str, list[Confirmation]]:
    """Return the confirmations of a release by application."""
    by_application: dict[str, list[Confirmation]] = {}
    for confirmation in confirmations_on(version):
        by_application.setdefault(confirmation.application, []).append(confirmation)
    return by_application


def stored_of(version: str) -> list[StoredConfirmation]:
    return [to_stored(confirmation) for confirmation in confirmations_on(version)]


def has_few_misses(share: Share, minimum: float) -> bool:
    return share.total - share.correct <= max(FEW, (1 - minimum) * share.total)


def share_of_times(confirmations: Sequence[StoredConfirmation]) -> Share:
    """Return the share of rebalances that were neither early nor later than by `MAX_DELAY_MS`."""
    in_time = [
        count_close_times(stored.predicted_rebalances_ms, stored.rebalances_ms, delay_ms=MAX_DELAY_MS)
        for stored in confirmations
    ]
    return Share(sum(in_time), sum(stored.times for stored in confirmations))


def share_of_convergence(confirmations: Sequence[StoredConfirmation]) -> Share:
    """Return the share of steps whose last move ended neither early nor later than by `MAX_DELAY_MS`."""
    times = [(stored.predicted_converged_ms, stored.converged_ms) for stored in confirmations]
    in_time = [
        predicted_ms == observed_ms
        if predicted_ms is None or observed_ms is None
        else is_close(predicted_ms, observed_ms, delay_ms=MAX_DELAY_MS)
        for predicted_ms, observed_ms in times
    ]
    return Share(sum(in_time), len(times))


def differences_by_step(confirmations: list[Confirmation]) -> dict[str, list[str]]:
    """Return the differences between prediction and observation of the steps that have any."""
    return {confirmation.step: confirmation.differences for confirmation in confirmations if confirmation.differences}


@pytest.mark.parametrize("version", RELEASES)
def test_no_step_is_missing(version: str) -> None:
    counts = {
        (spec.name, application.id): 0
        for spec in experiments_on(version)
        for application in applications_of(spec, version)
    }
    for confirmation in confirmations_on(version):
        counts[confirmation.experiment, confirmation.application] += 1
    assert counts == {(experiment, application): STEPS[experiment] for experiment, application in counts}


@pytest.mark.parametrize(("version", "application"), PREDICTABLE)
def test_observed_assignment_equals_prediction(version: str, application: str) -> None:
    confirmations = confirmations_of(version)[application]
    assert not differences_by_step(
        [confirmation for confirmation in confirmations if not confirmation.joined_separately]
    )
    assert sum(confirmation.joined_separately for confirmation in confirmations) <= 1


@pytest.mark.parametrize(("version", "application"), DEPENDS_ON_TIMING)
def test_timing_dependent_assignor_is_mostly_predicted(version: str, application: str) -> None:
    confirmations = confirmations_of(version)[application]
    differences = differences_by_step(confirmations)
    assert len(differences) <= len(confirmations) // 3, differences


@pytest.mark.parametrize(("version", "application"), CLASSIC)
def test_reimplemented_assignor_repeats_every_leader_decision(version: str, application: str) -> None:
    confirmations = confirmations_of(version)[application]
    replayed = [differences for confirmation in confirmations for differences in confirmation.replay_differences]
    assert len(replayed) >= len(confirmations) // 2
    assert not [differences for differences in replayed if differences]


@pytest.mark.parametrize("version", RELEASES)
def test_every_step_moves_a_task(version: str) -> None:
    for confirmations in confirmations_of(version).values():
        if confirmations[0].experiment in ALWAYS_MOVING:
            distributions = [confirmation.observed.to_json() for confirmation in confirmations]
            assert all(before != after for before, after in pairwise(distributions))


@pytest.mark.parametrize("version", RELEASES)
def test_rebalances_are_mostly_as_predicted(version: str) -> None:
    """Times count where an application has its host almost to itself; a busy machine may delay them."""
    all_steps = stored_of(version)
    alone = [stored for stored in all_steps if stored.experiment != MANY_APPLICATIONS]
    wrong = [stored.summary() for stored in all_steps if not stored.has_predicted_count]
    assert has_few_misses(REBALANCES.share(all_steps), MIN_REBALANCES), wrong
    summaries = [stored.summary() for stored in alone if stored.misses()]
    assert has_few_misses(share_of_times(alone), MIN_TIMES), summaries
    assert has_few_misses(share_of_convergence(alone), MIN_CONVERGENCE), summaries


@pytest.mark.parametrize("version", CLIENT_RELEASES)
def test_restored_bytes_are_mostly_as_predicted(version: str) -> None:
    confirmations = stored_of(version)
    share = RESTORED.share(confirmations)
    assert sum(stored.restored_bytes for stored in confirmations) > 400_000_000
    assert share.ratio >= MIN_RESTORED, [
        stored.summary() for stored in confirmations if not stored.restores_as_predicted
    ]


@pytest.mark.parametrize("version", [RELEASES[0], STREAMS_GROUPS_ONLY])
def test_threads_are_mostly_as_predicted(version: str) -> None:
    threaded = [stored for stored in stored_of(version) if stored.experiment == "threads"]
    share = THREADS.share(threaded)
    assert share.total == sum(stored.active_tasks for stored in threaded)
    assert share.ratio >= MIN_THREADS


@pytest.mark.parametrize(
    ("version", "application"),
    list(product((LATEST, RECORDED_3_9), ("killed-eos", "killed-alos"))),
)
def test_killed_host_restores_what_its_release_loses(version: str, application: str) -> None:
    """Clients of 4.4 lose their memtables and the offsets in them; those of 3.9 have checkpoint files.

    With 3.9 and exactly-once, the file of the end of a restoration stays, too.

    All tasks of 13 MB that the host had are lost, or none, so that seconds more or less do not change the outcome.
    """
    [returned] = [
        confirmation for confirmation in confirmations_of(version)[application] if "returns" in confirmation.step
    ]
    stored = to_stored(returned)
    loses_state = version.startswith("4.4")
    assert (returned.predicted.probing_rounds > 0) == loses_state
    assert (returned.probing_rounds > 0) == loses_state
    assert stored.restores_as_predicted, stored.summary()
    assert (stored.restored_bytes > 40_000_000) == loses_state


@pytest.mark.parametrize("version", CLIENT_RELEASES)
def test_closed_members_leave_at_once_or_after_their_session(version: str) -> None:
    first_ms = {
        confirmation.application: confirmation.outcome.rebalances_ms[0]
        for confirmation in confirmations_on(version)
        if confirmation.experiment == "close" and confirmation.step.endswith("closes")
    }
    assert set(first_ms) == {"close-leave", "close-default", "static-leave", "static-default"}
    assert max(first_ms["close-leave"], first_ms["static-leave"]) < 10_000
    assert 13_000 <= first_ms["close-default"] < 25_000
    assert 28_000 <= first_ms["static-default"] < 40_000


@pytest.mark.parametrize("version", CLIENT_RELEASES)
@pytest.mark.parametrize("application", ["static-default"])
def test_static_members_that_restart_within_their_session_cause_no_rebalance(version: str, application: str) -> None:
    [restarted] = [
        confirmation for confirmation in confirmations_of(version)[application] if "at once" in confirmation.step
    ]
    assert restarted.outcome.rebalances_ms == restarted.predicted_outcome.rebalances_ms == ()
    assert not restarted.differences
