"""Experiments can be chosen by name."""

from __future__ import annotations

import pytest

from tests.fidelity.steps import EXPERIMENTS, RELEASES, STREAMS_GROUPS_ONLY, applications_on, experiments_on


def test_releases_run_their_experiments() -> None:
    latest, previous, groups = ({spec.name for spec in experiments_on(release)} for release in RELEASES)
    assert latest == {spec.name for spec in EXPERIMENTS} > previous
    assert groups == {"assignors", "threads"}
    assert all(application.uses_streams_groups for application in applications_on(STREAMS_GROUPS_ONLY))
    assert [spec.name for spec in experiments_on(RELEASES[1], ["newcomer"])] == ["newcomer"]
    with pytest.raises(ValueError, match="unknown experiment 'crush'"):
        experiments_on(RELEASES[0], ["crush"])


@pytest.mark.parametrize("release", RELEASES)
def test_applications_have_distinct_ids(release: str) -> None:
    ids = [application.id for application in applications_on(release)]
    assert len(ids) == len(set(ids))
    assert any("streams" in name for name in ids) == (release != "3.9.1")


def test_hosts_of_different_experiments_differ() -> None:
    names = [f"{spec.name}{number}" for spec in EXPERIMENTS for number in range(spec.num_hosts)]
    assert len(names) == len(set(names))
