"""Several directories of results on one page."""

from __future__ import annotations

import pytest

from reports.analysis.comparison import TableError
from reports.analysis.runs.merged_results import REQUIRED_TABLES, ResultDirectory, merge_results
from reports.render.page import page
from tests.reports.sample_player_runs import player_runs
from tests.reports.sample_runs import MANIFEST


def labels(*results: ResultDirectory) -> dict[str, set[str]]:
    made, _ = merge_results(results)
    return {name: set(made[name]["assignor"].to_pylist()) for name in REQUIRED_TABLES if name != "cycles"}


def test_one_directory_stays_as_it_is() -> None:
    tables, manifests = merge_results([ResultDirectory("out/one", player_runs(), MANIFEST)])
    assert tables == player_runs()
    assert manifests == [MANIFEST]


def test_runs_of_different_assignors_keep_their_labels() -> None:
    other = player_runs({"eager": "keen", "calm": "cool"})
    found = labels(ResultDirectory("one", player_runs(), {}), ResultDirectory("two", other, {}))
    assert set(map(frozenset, found.values())) == {frozenset({"eager", "calm", "keen", "cool"})}


def test_runs_that_would_be_taken_for_one_another_are_told_apart_by_directory() -> None:
    found = labels(ResultDirectory("before", player_runs(), {}), ResultDirectory("after", player_runs(), {}))
    every = {f"{name}: {label}" for name in ("before", "after") for label in ("eager", "calm")}
    assert set(map(frozenset, found.values())) == {frozenset(every)}


def test_a_page_of_two_directories_says_how_each_was_made() -> None:
    tables, manifests = merge_results(
        [ResultDirectory("before", player_runs(), MANIFEST), ResultDirectory("after", player_runs(), MANIFEST)]
    )
    text = page(tables, *manifests)
    assert text.count("assignor-sim run rack_outage --seed 7") == 2
    assert '<h3><bdi dir="auto">before</bdi></h3>' in text


def test_results_of_an_older_version_are_named_with_what_they_lack() -> None:
    old = {name: table for name, table in player_runs().items() if name != "clients"}
    with pytest.raises(TableError, match="old: table 'clients' is missing; run the scenario again"):
        merge_results([ResultDirectory("new", player_runs(), {}), ResultDirectory("old", old, {})])
