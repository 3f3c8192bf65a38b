"""A part of the leaderboard is computed again; the page shows the stored results."""

from __future__ import annotations

import pytest

from scenarios.suite.standard import benchmark_cases
from tools.benchmark_instances import ENTRIES
from tools.leaderboard import BEGIN, END, PAGE, RUNS, Leaderboard, csv_text, measure, page, read_rows

pytestmark = pytest.mark.answers

REFRESH = "run `make leaderboard`"
CASES = ("cold-1", "leave-3", "placements-2", "uniform-5", "cross_zone_bill")
RECOMPUTED = ("high_availability", "legacy_sticky min_traffic", "streams_group_sticky@4.4", "incremental")


def test_every_entry_ran_in_every_scenario() -> None:
    stored = [(row["entry"], row["family"], row["case"]) for row in read_rows(RUNS)]
    cases = [(case.family, case.name) for case in benchmark_cases()]
    assert stored == [(entry.name, *case) for entry in ENTRIES for case in cases], REFRESH


def test_a_part_of_the_runs_gives_the_same_bytes() -> None:
    cases = [case for case in benchmark_cases() if case.name.partition(",")[0] in CASES]
    assert len(cases) == len(CASES)
    entries = [entry for entry in ENTRIES if entry.name in RECOMPUTED]
    names = {case.name for case in cases}
    stored = [row for row in read_rows(RUNS) if row["entry"] in RECOMPUTED and row["case"] in names]
    assert csv_text(measure(cases, entries, workers=1)) == csv_text(stored), REFRESH


def test_page_shows_the_stored_results() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == page(text, Leaderboard().tables()), REFRESH


def test_text_outside_the_tables_is_kept() -> None:
    begin, end = BEGIN.format(name="sizes"), END.format(name="sizes")
    assert page(f"above\n{begin}\nold\n{end}\nbelow", {"sizes": "new"}) == f"above\n{begin}\n\nnew\n\n{end}\nbelow"


@pytest.mark.parametrize("text", ["", BEGIN.format(name="sizes"), END.format(name="sizes")])
def test_page_without_a_place_for_a_table_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="around the table 'sizes'"):
        page(text, {"sizes": "new"})
