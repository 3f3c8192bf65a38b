"""A part of the leaderboard is computed again; the pages show the stored results."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from scenarios.suite.benchmark import benchmark_cases
from tools.benchmark import pages, runs, store
from tools.benchmark.entries import ENTRIES

pytestmark = pytest.mark.answers

REFRESH = "run `make leaderboard`"
CASES = ("cold-1", "leave-3", "placements-2", "uniform-5", "cross_zone_bill")
RECOMPUTED = ("high_availability", "legacy_sticky min_traffic", "streams_group_sticky@4.4", "incremental")
PAGES = ("README", "instances", "leaderboard", "ha-against-sticky", "strategies-against-the-optimum")
PAGE_NAMES = (*PAGES, "brokers-4.3-against-4.4")


@cache
def made() -> dict[Path, bytes]:
    return pages.files()


def test_every_entry_ran_in_every_scenario() -> None:
    stored = [(row["entry"], row["family"], row["case"]) for row in store.read_table(store.RUNS)]
    assert stored == [(entry.name, case.family, case.name) for entry in ENTRIES for case in benchmark_cases()], REFRESH


def test_a_part_of_the_runs_gives_the_same_bytes() -> None:
    cases = [case for case in benchmark_cases() if case.name.partition(",")[0] in CASES]
    assert len(cases) == len(CASES)
    entries = [entry for entry in ENTRIES if entry.name in RECOMPUTED]
    names = {case.name for case in cases}
    stored = [row for row in store.read_table(store.RUNS) if row["entry"] in RECOMPUTED and row["case"] in names]
    assert runs.csv_text(runs.measure(cases, entries, workers=1)) == runs.csv_text(stored), REFRESH


@pytest.mark.parametrize("name", PAGE_NAMES)
def test_a_page_shows_the_stored_results(name: str) -> None:
    path = pages.FOLDER / f"{name}.md"
    assert path.read_text(encoding="utf-8") == made()[path].decode(), REFRESH


def test_the_figures_show_the_stored_results_and_there_are_no_others() -> None:
    figures = {path: content for path, content in made().items() if path.suffix == ".svg"}
    stored = {path: path.read_bytes() for path in (pages.FOLDER / "pictures").iterdir()}
    assert stored == figures, REFRESH


def test_all_pages_are_tested() -> None:
    assert {path.stem for path in pages.FOLDER.glob("*.md")} == set(PAGE_NAMES)
