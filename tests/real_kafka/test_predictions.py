"""Predictions from an imported cluster, compared with the behavior of a real Kafka.

Every release runs the steps of `tools.fidelity.steps` once; each test checks the result of one application. Predictions
and observations are stored in out/fidelity-VERSION.json.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import pairwise

import pytest

from tools.fidelity.experiment import Confirmation
from tools.fidelity.report import write_confirmations
from tools.fidelity.steps import WARMING_UP, applications_on, run_steps

RELEASES = ("4.3.1", "3.9.1")
TESTED = [(version, application) for version in RELEASES for application in applications_on(version)]
PREDICTABLE = [(version, application.id) for version, application in TESTED if not application.depends_on_timing]
DEPENDS_ON_TIMING = [(version, application.id) for version, application in TESTED if application.depends_on_timing]
CLASSIC = [(version, application.id) for version, application in TESTED if not application.uses_streams_groups]


@cache
def confirmations_of(version: str) -> Mapping[str, list[Confirmation]]:
    """Run all steps on a release; return the confirmations by application."""
    confirmations = run_steps(version)
    write_confirmations(version, confirmations)
    by_application: dict[str, list[Confirmation]] = {}
    for confirmation in confirmations:
        by_application.setdefault(confirmation.application, []).append(confirmation)
    return by_application


def differences_by_step(confirmations: list[Confirmation]) -> dict[str, list[str]]:
    """Return the differences between prediction and observation of the steps that have any."""
    return {confirmation.step: confirmation.differences for confirmation in confirmations if confirmation.differences}


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
    assert len(replayed) >= len(confirmations)
    assert not [differences for differences in replayed if differences]


@pytest.mark.parametrize("version", RELEASES)
def test_every_step_moves_a_task(version: str) -> None:
    by_application = confirmations_of(version)
    steps = {confirmation.step for confirmations in by_application.values() for confirmation in confirmations}
    assert len(steps) >= 8
    for confirmations in by_application.values():
        distributions = [confirmation.observed.to_json() for confirmation in confirmations]
        assert all(before != after for before, after in pairwise(distributions))


@pytest.mark.parametrize("version", RELEASES)
def test_number_of_rebalances_is_mostly_as_predicted(version: str) -> None:
    is_equal = [
        confirmation.rounds == confirmation.predicted.rounds
        for confirmations in confirmations_of(version).values()
        for confirmation in confirmations
    ]
    assert sum(is_equal) >= 0.8 * len(is_equal)


@pytest.mark.parametrize("version", RELEASES)
def test_number_of_probing_rebalances_is_as_predicted(version: str) -> None:
    for confirmation in confirmations_of(version)[WARMING_UP]:
        predicted = confirmation.predicted
        assert predicted.probing_rounds >= 1
        if confirmation.warmed_up_early:
            # A restoration that ended before a follow-up rebalance can only save probing rebalances.
            assert confirmation.probing_rounds <= predicted.probing_rounds
        else:
            assert confirmation.rounds == predicted.rounds > 2
            assert confirmation.probing_rounds == predicted.probing_rounds


@pytest.mark.parametrize(
    ("version", "application"), [("4.3.1", "killed-eos"), ("4.3.1", "killed-alos"), ("3.9.1", "killed-alos")]
)
def test_killed_host_warms_up_again_if_its_release_loses_its_state(version: str, application: str) -> None:
    """Clients of 4.3 lose their memtables; those of 3.9 have a checkpoint file of the end of each restoration.

    With 3.9 and exactly-once, that file stays, too, but an import does not know when restoration ended.
    """
    [returned] = [
        confirmation for confirmation in confirmations_of(version)[application] if "returns" in confirmation.step
    ]
    assert (returned.predicted.probing_rounds > 0) == version.startswith("4.3")
    if not returned.warmed_up_early:
        assert returned.probing_rounds == returned.predicted.probing_rounds
