"""Proven optima in cells, notes and round tables."""

from __future__ import annotations

import json
import re
from typing import Any

from reports.analysis.cells import cost_above_bound_cell
from reports.analysis.comparison import compare_runs
from reports.analysis.notes import notes
from reports.render.run_page.sections import HEADERS, first_runs
from reports.render.terminal.comparison import render
from tests.reports.sample_runs import tables

UNPROVEN = {"best_known_total_cost": 40}


def tables_with_proofs(*proofs: dict[str, Any]) -> dict[str, Any]:
    """Return the tables of one run per proof, with different seeds."""
    runs = [{"seed": seed} for seed in range(len(proofs))]
    return tables(runs, proofs=[{"seed": seed, **proof} for seed, proof in enumerate(proofs)])


def cell_and_notes(*proofs: dict[str, Any]) -> tuple[str, list[str]]:
    rows = compare_runs(tables_with_proofs(*proofs))
    return str(cost_above_bound_cell(rows[0])), [note.text for note in notes(rows)]


def test_bound_without_proof_is_not_marked() -> None:
    rows = compare_runs(tables())
    assert str(cost_above_bound_cell(rows[0])) == "+33%"
    assert notes(rows) == []


def test_proven_optimum_is_in_cell_and_note() -> None:
    note = "Proven optimum (lowest cost at equal balance, deciding round): 36 (sticky)."
    assert cell_and_notes({}) == ("+33% (proven)", [note])
    text = render(tables_with_proofs({}), width=160, color=False)
    assert re.search(r" proven\s", text)
    assert f"– {note}\n" in text
    assert json.loads(render(tables_with_proofs({}), "json"))[0]["notes"] == [note]


def test_unproven_optimum_has_a_range() -> None:
    note = "sticky: the optimum is not proven; it is between 36 and 40."
    assert cell_and_notes(UNPROVEN) == ("+33% (unproven)", [note])


def test_optima_of_several_seeds_are_a_range() -> None:
    cell, [note] = cell_and_notes({}, {"total_cost_bound": 30, "best_known_total_cost": 30})
    assert cell == "+33% (proven)"
    assert note.endswith(": 30–36 (sticky).")


def test_unproven_seeds_are_counted() -> None:
    cell, cell_notes = cell_and_notes({}, UNPROVEN, {})
    assert cell == "+33% (proven 2/3)"
    assert cell_notes == [
        "sticky: the optimum is not proven (1 of 3 runs, for example seed 1); it is between 36 and 40."
    ]


def test_proofs_of_other_rounds_than_the_deciding_one_are_ignored() -> None:
    assert compare_runs(tables(proofs=[{"round": 2}]))[0].proofs == ()


def test_optima_of_several_assignors_share_a_note() -> None:
    names = ("a", "b", "c")
    results = tables([{"assignor": name} for name in names], proofs=[{"assignor": name} for name in names[:2]])
    [note] = notes(compare_runs(results))
    assert note.assignors == ("a", "b")
    assert note.text.endswith(": 36 (a), 36 (b).")


def test_round_table_marks_proven_bounds() -> None:
    proofs = [{"round": 1}, {"round": 2, **UNPROVEN}]
    [run] = first_runs(tables(rounds=[{"round": number} for number in (1, 2, 3)], proofs=proofs))
    column = HEADERS.index("KIP-925 cost (bound)")
    assert [cells[column] for cells in run.cells] == ["48 (36 proven)", "48 (36, optimum up to 40)", "48 (36)"]
