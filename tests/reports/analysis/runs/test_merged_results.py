"""Several result directories on one page."""

from __future__ import annotations

from reports.analysis.runs.run_rows import ResultDirectory, merge_results
from reports.render.page import page
from tests.reports.sample_player_runs import player_runs
from tests.reports.sample_runs import MANIFEST


def labels(*results: ResultDirectory) -> dict[str, set[str]]:
    tables, _ = merge_results(results)
    return {name: set(tables[name]["assignor"].to_pylist()) for name in tables if tables[name].num_rows}


def test_single_directory_is_unchanged() -> None:
    tables, manifests = merge_results([ResultDirectory("out/one", player_runs(), MANIFEST)])
    assert tables == player_runs()
    assert manifests == [MANIFEST]


def test_distinct_labels_are_kept() -> None:
    renamed = player_runs({"eager": "keen", "calm": "cool"})
    merged = labels(ResultDirectory("one", player_runs(), {}), ResultDirectory("two", renamed, {}))
    assert set(map(frozenset, merged.values())) == {frozenset({"eager", "calm", "keen", "cool"})}


def test_equal_labels_are_prefixed_with_directory() -> None:
    merged = labels(ResultDirectory("before", player_runs(), {}), ResultDirectory("after", player_runs(), {}))
    expected = {f"{name}: {label}" for name in ("before", "after") for label in ("eager", "calm")}
    assert set(map(frozenset, merged.values())) == {frozenset(expected)}


def test_page_of_two_directories_shows_both_manifests() -> None:
    tables, manifests = merge_results(
        [ResultDirectory("before", player_runs(), MANIFEST), ResultDirectory("after", player_runs(), MANIFEST)]
    )
    text = page(tables, *manifests)
    assert text.count("assignor-sim run rack_outage --seed 7") == 2
    assert '<h3><bdi dir="auto">before</bdi></h3>' in text
