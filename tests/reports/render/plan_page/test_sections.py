"""The section of a plan folder: the comparison, loads before and after, matrices, and its figures."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import pytest

from reports.analysis.plans.load_distributions import load_distributions, load_grid, used_grid
from reports.analysis.plans.move_matrices import move_matrices, pair_grid
from reports.analysis.plans.plan_row import TODAY, parse_plan_rows, records
from reports.analysis.plans.results import PlanResults
from reports.analysis.text import printable
from reports.render.figures.plan_figures import draw_load, plan_figures
from reports.render.figures.run_figures import figure_bytes
from reports.render.page import page
from tests.reports.render.test_page import inner, parse, text_of
from tests.reports.sample_plans import EVEN, GB, NAMES, results
from tests.reports.sample_player_runs import player_runs
from tests.reports.sample_runs import HOSTILE, MANIFEST

FIGURES = ["leaders", "replicas", "bytes"]


@cache
def ordinary() -> str:
    return page(None, plans=[results()])


@cache
def hostile() -> str:
    return page(None, plans=[results(names) for names in (HOSTILE[:5], HOSTILE[5:10])])


def table(text: str, name: str) -> list[list[str]]:
    [found] = [each for each in parse(text).iter("table") if each.get("data-csv") == name]
    return [[text_of(cell) for cell in row] for row in found.iter("tr")]


def names_of_tables(text: str) -> list[str]:
    return [each.get("data-csv", "") for each in parse(text).iter("table")]


def test_the_comparison_marks_the_lowest_and_puts_in_brackets_what_is_no_objective() -> None:
    lines = {line[0]: line[1:] for line in table(ordinary(), "plan-1-comparison")}
    assert lines[""] == ["today", "evenfeasible", "greedyfeasible"]
    assert lines["Replicas"] == ["44", "★ 00", "22"]
    assert lines["Leaders"] == ["33", "★ 11", "(2)2"]
    assert lines["Replicas moved"] == ["–", "4", "★ (2)"]
    assert "Second run" not in lines


def test_notes_and_reasons_stand_below_the_comparison() -> None:
    said = [text_of(each) for each in parse(ordinary()).iter("li")]
    assert "1 partition of prod is not in sync" in said
    assert "greedy and more: not applicable: it cannot drain" in said


def test_loads_are_those_of_the_table() -> None:
    for load in load_distributions(results()):
        rows = results().tables["brokers"].to_pylist()
        for strategy, values in {TODAY: load.before, **load.after}.items():
            of_one = [row for row in rows if row["strategy"] == strategy]
            found = dict(zip(load.names, values, strict=True))
            if load.level == "broker":
                assert found == {str(row["broker"]): row[load.measure.name] for row in of_one}
            else:
                assert sum(values) == sum(row[load.measure.name] for row in of_one)
    assert table(ordinary(), "plan-1-leaders_per_broker") == [
        ["Broker", "today", "even", "greedy"],
        ["2 (az1)", "1", "2", "1"],
        ["4 (az1)", "0", "1", "1"],
        ["1 (az2)", "3", "1", "3"],
        ["3 (az2)", "1", "2", "1"],
        ["9 (no rack)", "1", "0", "0"],
    ]


def test_racks_are_the_sums_of_their_brokers() -> None:
    by_name = {(load.measure.name, load.level): load for load in load_distributions(results())}
    assert list(by_name) == [(name, level) for name in FIGURES for level in ("broker", "rack")]
    rack = by_name["replicas", "rack"]
    assert (rack.names, rack.may_hold) == (("az1", "az2", "no rack"), (True, True, False))
    assert rack.after["even"] == (6, 6, 0)
    assert rack.even("even") == 6


def test_what_is_unknown_has_no_figure_and_no_table() -> None:
    assert [(load.measure.name, load.level) for load in load_distributions(results(sizes=False, racks=False))] == [
        ("leaders", "broker"), ("replicas", "broker"),
    ]  # fmt: skip
    text = page(None, plans=[results(sizes=False, racks=False)])
    assert "bytes_per" not in text
    assert "n/a" in [cell for line in table(text, "plan-1-pairs-1") for cell in line]
    assert used_grid(results(sizes=False)) is None


def test_disk_use_is_in_percent_of_the_capacity() -> None:
    grid = used_grid(results())
    assert grid is not None
    used = {name: [str(cell) for cell in cells] for name, cells in grid.lines}
    assert used["4"] == ["0 % (of 100 GB)", "7 % (of 100 GB)", "10 % (of 100 GB)"]
    assert used["9"] == ["n/a", "n/a", "n/a"]


def test_matrices_say_who_hands_over_to_whom_and_who_copies_from_whom() -> None:
    assert table(ordinary(), "plan-1-moves-1") == [
        ["from \\ to", "3", "4"], ["1", "", "11 GB"], ["2", "", "14 GB"], ["3", "", "12 GB"], ["9", "14 GB", ""],
    ]  # fmt: skip
    # Broker 9 is gone; 2 leads its partition.
    assert table(ordinary(), "plan-1-copies-1") == [
        ["from \\ to", "3", "4"], ["1", "", "23 GB"], ["2", "14 GB", "14 GB"],
    ]  # fmt: skip


def test_the_darkest_cell_has_the_largest_number_of_all_plans() -> None:
    found = move_matrices(results(), "move")
    numbers = [number for each in found for row in each.replicas for number in row]
    heat = [step for each in found for row in each.heat for step in row]
    assert max(zip(numbers, heat, strict=True)) == (max(numbers), 10)
    assert all((number == 0) == (step == 0) for number, step in zip(numbers, heat, strict=True))


def test_additional_replicas_and_those_without_a_leader_have_rows_of_their_own() -> None:
    more = results(plans={"more": [(*row, 4) if row[0] != 4 else (*row, 3) for row in EVEN]})
    [matrix] = move_matrices(more, "move")
    assert matrix.sources[-1] == "additional"
    assert "additional: a higher replication factor" in page(None, plans=[more])
    assert "additional: a higher replication factor" not in ordinary()


def test_many_brokers_are_shown_by_rack_and_pair_by_pair() -> None:
    spread = {"spread": [(10 + n, 20 + n) for n in range(6)], "other": [(30 + n, 40 + n) for n in range(6)]}
    found = move_matrices(results(plans=spread, extra=40), "move")
    assert [(each.level, each.sources, each.targets) for each in found] == [
        ("rack", ("az1", "az2", "no rack"), ("az1", "az2"))
    ] * 2
    assert move_matrices(results(plans=spread, extra=40, racks=False), "move") == []
    pairs = pair_grid(results(plans=spread, extra=40), "spread")
    assert sum(cells[0].value or 0 for _, cells in pairs.lines) == 12


def test_a_plan_that_moves_nothing_says_so() -> None:
    still = results(plans={"still": [(1, 2), (1, 3), (2, 3), (2, 3), (3, 1), (1, 2)]})
    nothing = replace(still, tables={**still.tables, "moves": still.tables["moves"].slice(0, 0)})
    text = page(None, plans=[nothing])
    assert "No plan moves a replica." in text
    assert "replicas_moved" not in plan_figures(nothing)


@pytest.mark.parametrize("many", [0, 80, 400])
def test_bars_are_as_high_as_what_brokers_have(many: int) -> None:
    [load] = [
        load
        for load in load_distributions(results(extra=many))
        if (load.measure.name, load.level) == ("replicas", "broker")
    ]
    figure = draw_load((load, "prod"))
    [first, second] = [axes for axes in figure.axes if axes.get_visible()]
    for panel, values in ((first, load.after["even"]), (second, load.after["greedy"])):
        bars = [patch.get_height() for patch in panel.patches if hasattr(patch, "get_height")]
        steps = [patch.get_data().values.tolist() for patch in panel.patches if hasattr(patch, "get_data")]
        drawn = bars or steps[0]
        assert max(drawn) == max(values)
        assert many == 400 or drawn == list(values)
        assert panel.get_ylim()[1] >= max(*values, *load.before)


def test_every_figure_is_drawn_in_every_format_and_always_the_same() -> None:
    for draw in plan_figures(results()).values():
        assert figure_bytes(draw(), "svg") == figure_bytes(draw(), "svg")
        assert figure_bytes(draw(narrow=True), "png").startswith(b"\x89PNG")
    expected = [f"{name}_per_{level}" for name in FIGURES for level in ("broker", "rack")]
    assert list(plan_figures(results())) == [*expected, "replicas_moved"]


@pytest.mark.parametrize("make", [ordinary, hostile])
def test_a_page_of_plans_is_sealed_and_refers_to_nothing_but_itself(make: type[str]) -> None:
    text = make()
    tree = parse(text)
    ids = [each.get("id") for each in tree.iter() if each.get("id")]
    assert len(ids) == len(set(ids))
    links = [value for each in tree.iter() for name, value in each.attrib.items() if name in ("href", "src")]
    assert {each for each in links if each != "data:,"} <= {f"#{each}" for each in ids}
    assert len(names_of_tables(text)) == len(set(names_of_tables(text)))
    assert inner(text, "style")
    assert not [name for each in tree.iter() for name in each.attrib if name == "style" or name.startswith("on")]


@pytest.mark.parametrize("name", HOSTILE)
def test_any_name_of_a_plan_is_text(name: str) -> None:
    text = page(None, plans=[results((name, f"{name} 1", f"{name} 2", f"{name} 3", f"{name} 4"))])
    shown = re.sub(r"\s+", " ", printable(name)).strip()
    heads = table(text, "plan-1-comparison")[0]
    assert heads[2] == f"{shown} 1feasible"
    assert any(shown in text_of(each) for each in parse(text).iter("h1"))


def test_plans_stand_behind_runs_on_one_page() -> None:
    text = page(player_runs(), MANIFEST, plans=[results(), results()])
    sections = [each.get("id", "") for each in parse(text).iter("h2")]
    assert sections[-4:] == ["plan-1", "plan-2", "reading", "making"]
    assert sections[0] == "comparison"
    assert "reading" not in [each.get("id", "") for each in parse(ordinary()).iter("h2")]


def test_plans_of_several_folders_name_them_and_are_explained_once() -> None:
    both = [replace(results(), manifest={"directory": name, **results().manifest}) for name in ("before", "after")]
    tree = parse(page(None, plans=both))
    assert [text_of(each) for each in tree.iter("h2")] == [
        "Plans in before: prod: 5 brokers", "Plans in after: prod: 5 brokers",
    ]  # fmt: skip
    assert sum(text_of(each) == "Definitions" for each in tree.iter("h3")) == 1


def test_rows_are_read_back_from_the_manifest_as_they_were() -> None:
    rows = results().rows
    again = parse_plan_rows(records(rows))
    assert records(again) == records(rows)
    assert [row.has_plan for row in again] == [row.has_plan for row in rows]


def test_numbers_of_figures_stand_in_tables() -> None:
    grids = [load_grid(load) for load in load_distributions(results())]
    assert all(grid.columns == (TODAY, *NAMES[1:3]) for grid in grids)
    assert sum(cells[0].value or 0 for _, cells in grids[4].lines) == 42 * GB


def test_batches_add_up_to_the_plan() -> None:
    head, *lines = table(ordinary(), "plan-1-batches-1")
    assert head == ["Batch", "Partitions", "Replicas to copy", "Bytes to copy", "Elections"]
    assert [line[0] for line in lines] == [str(number) for number in range(1, len(lines) + 1)]
    [moved] = [line[1:] for line in table(ordinary(), "plan-1-comparison") if line[0] == "Replicas moved"]
    assert sum(int(line[2]) for line in lines) == int(moved[1])


def test_the_same_plans_give_the_same_page() -> None:
    assert ordinary() == page(None, plans=[_again()])


def _again() -> PlanResults:
    return results()
