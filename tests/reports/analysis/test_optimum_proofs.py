"""What reports say of proven optima."""

from __future__ import annotations

import json
import re
from typing import Any

from reports.analysis.cells import cost_above_bound_cell
from reports.analysis.comparison import compare_runs
from reports.analysis.notes import notes
from reports.render.run_page.round_table import HEADERS, first_runs
from reports.render.terminal.comparison import render
from tests.reports.sample_runs import tables

OPEN = {"best_known_total_cost": 40}


def of_seeds(*proofs: dict[str, Any]) -> dict[str, Any]:
    """The tables of a run a proof, each with another seed."""
    runs = [{"seed": seed} for seed in range(len(proofs))]
    return tables(runs, proofs=[{"seed": seed, **proof} for seed, proof in enumerate(proofs)])


def cell_and_notes(*proofs: dict[str, Any]) -> tuple[str, list[str]]:
    rows = compare_runs(of_seeds(*proofs))
    return str(cost_above_bound_cell(rows[0])), [note.text for note in notes(rows)]


def test_without_a_proof_the_gap_stands_alone() -> None:
    rows = compare_runs(tables())
    assert str(cost_above_bound_cell(rows[0])) == "+33%"
    assert notes(rows) == []


def test_a_proven_optimum_is_said_in_the_cell_and_below_the_table() -> None:
    said = "Proven optimum, the lowest cost at equal balance in the deciding round: 36 of sticky."
    assert cell_and_notes({}) == ("+33% (proven)", [said])
    printed = render(of_seeds({}), width=160, color=False)
    assert re.search(r" proven\s", printed)
    assert f"– {said}\n" in printed
    assert json.loads(render(of_seeds({}), "json"))[0]["notes"] == [said]


def test_what_is_not_proven_says_between_which_costs_the_optimum_is() -> None:
    said = "sticky: the optimum is not proven; it is between 36 and 40."
    assert cell_and_notes(OPEN) == ("+33% (unproven)", [said])


def test_of_several_seeds_the_optima_are_a_range() -> None:
    cell, [said] = cell_and_notes({}, {"total_cost_bound": 30, "best_known_total_cost": 30})
    assert cell == "+33% (proven)"
    assert said.endswith(": 30–36 of sticky.")


def test_of_several_seeds_those_without_a_proof_are_counted() -> None:
    cell, said = cell_and_notes({}, OPEN, {})
    assert cell == "+33% (proven 2/3)"
    assert said == ["sticky: the optimum is not proven (1 of 3 runs, as with seed 1); it is between 36 and 40."]


def test_only_the_last_round_counts_for_a_run() -> None:
    assert compare_runs(tables(proofs=[{"round": 2}]))[0].proofs == ()


def test_optima_of_several_assignors_are_told_in_one_sentence() -> None:
    names = ("a", "b", "c")
    made = tables([{"assignor": name} for name in names], proofs=[{"assignor": name} for name in names[:2]])
    [note] = notes(compare_runs(made))
    assert note.assignors == ("a", "b")
    assert note.text.endswith(": 36 of a, 36 of b.")


def test_every_round_on_the_page_says_whether_its_bound_is_proven() -> None:
    proofs = [{"round": 1}, {"round": 2, **OPEN}]
    [run] = first_runs(tables(rounds=[{"round": number} for number in (1, 2, 3)], proofs=proofs))
    place = HEADERS.index("Cost by KIP-925 (bound)")
    assert [cells[place] for cells in run.cells] == ["48 (36 proven)", "48 (36, optimum up to 40)", "48 (36)"]


def test_results_of_before_there_were_proofs_are_read() -> None:
    older = tables()
    del older["proofs"]
    assert compare_runs(older)[0].proofs == ()
