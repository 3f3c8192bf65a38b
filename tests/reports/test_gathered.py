"""Several directories of results on one page."""

from __future__ import annotations

import pytest

from reports.comparison import TableError
from reports.page.page import page
from reports.runs.gathered import NEEDED, Results, gathered
from tests.reports.lively import lively
from tests.reports.plausible import MANIFEST


def labels(*results: Results) -> dict[str, set[str]]:
    made, _ = gathered(results)
    return {name: set(made[name]["assignor"].to_pylist()) for name in NEEDED if name != "cycles"}


def test_one_directory_stays_as_it_is() -> None:
    tables, manifests = gathered([Results("out/one", lively(), MANIFEST)])
    assert tables == lively()
    assert manifests == [MANIFEST]


def test_runs_of_different_assignors_keep_their_labels() -> None:
    other = lively({"eager": "keen", "calm": "cool"})
    found = labels(Results("one", lively(), {}), Results("two", other, {}))
    assert set(map(frozenset, found.values())) == {frozenset({"eager", "calm", "keen", "cool"})}


def test_runs_that_would_be_taken_for_one_another_are_told_apart_by_directory() -> None:
    found = labels(Results("before", lively(), {}), Results("after", lively(), {}))
    every = {f"{name}: {label}" for name in ("before", "after") for label in ("eager", "calm")}
    assert set(map(frozenset, found.values())) == {frozenset(every)}


def test_a_page_of_two_directories_says_how_each_was_made() -> None:
    tables, manifests = gathered([Results("before", lively(), MANIFEST), Results("after", lively(), MANIFEST)])
    text = page(tables, *manifests)
    assert text.count("assignor-sim run rack_outage --seed 7") == 2
    assert '<h3><bdi dir="auto">before</bdi></h3>' in text


def test_results_of_an_older_version_are_named_with_what_they_lack() -> None:
    old = {name: table for name, table in lively().items() if name != "clients"}
    with pytest.raises(TableError, match="old: the table 'clients' is missing; run it again"):
        gathered([Results("new", lively(), {}), Results("old", old, {})])
