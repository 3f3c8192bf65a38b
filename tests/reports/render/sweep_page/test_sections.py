"""The section of a sweep: what it says first, its tables, its data, and that names in it stay text."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pyarrow as pa
import pytest

from reports.analysis.comparison import TableError
from reports.analysis.metrics import METRIC, METRICS
from reports.analysis.sweeps.aggregated_sweep import AggregatedSweep, MeanEstimate, command
from reports.analysis.sweeps.formatting import difference_interval, signed
from reports.analysis.sweeps.grids import front_grid, heat_map, largest_differences
from reports.analysis.sweeps.reading import level_text, read_sweep
from reports.analysis.sweeps.sweep_directory import SweepAggregate, is_sweep_directory, read_aggregate
from reports.analysis.text import printable
from reports.render.figures.sweep_figures import SWEEP_FIGURES
from reports.render.page import page
from reports.render.sweep_page.embedded_data import KINDS, embedded_data
from reports.render.sweep_page.sections import sweep_sections
from tests.reports.render.test_page import parse, text_of
from tests.reports.sample_player_runs import player_runs
from tests.reports.sample_runs import HOSTILE, MANIFEST
from tests.reports.sample_sweep import aggregate, sweep, write

NAMES = ("weights", "steady", "rival", "rate", "standbys")
USD = METRIC["cross_rack_usd"]


@cache
def ordinary() -> str:
    return page(None, sweeps=[sweep()])


def table(text: str, name: str) -> list[list[str]]:
    [found] = [each for each in parse(text).iter("table") if each.get("data-csv") == name]
    return [[text_of(cell) for cell in row] for row in found.iter("tr")]


def test_the_best_settings_come_first_with_what_they_cost_against_the_baseline() -> None:
    head, cheap, still, fast = table(ordinary(), "sweep-1-best")
    assert head[2:] == ["Cross-rack cost (whole run)", "Active task moves", "Time to converge (worst event)"]
    assert cheap[:2] == ["Cross-rack cost (whole run): $8.00$6.00–$12.00", "rivalrate=1, standbys=0"]
    assert cheap[2] == "★ $8.00$6.00–$12.00−$2.00 vs. baseline (−$3.00 to −$1.00)"
    assert cheap[3] == "64.5–9+2 vs. baseline (+1 to +3)"
    assert still[2] == "$22.00$16.50–$33.00"
    assert fast[0] == "Time to converge (worst event): 1 s750 ms–1.5 s; 1 other cell with equal mean"


def test_a_cell_that_is_best_at_several_things_stands_in_one_line() -> None:
    made = aggregate()
    [scenario] = made.summary["scenarios"]
    best = [{**scenario["best"][0], "objective": name} for name in ("cross_rack_usd", "active_moves")]
    both = read_sweep(replace(made, summary={**made.summary, "scenarios": [{**scenario, "best": best}]}))
    [_, line] = table(page(None, sweeps=[both]), "sweep-1-best")
    assert line[0] == "Cross-rack cost (whole run): $8.00$6.00–$12.00Active task moves: 64.5–9"


def test_the_command_makes_the_setting_with_all_that_the_sweep_sets() -> None:
    made = read_sweep(aggregate(changes=[("duration", '"6h"')], unit="MB/s"))
    cell = made.cells[5]
    assert command(made, cell.assignor, cell.args) == (
        "assignor-sim run orders.yaml --assignor rival --seed 1 --seed 2 --seed 3 --set 'duration=\"6h\"' "
        "--set 'clients[0].restore=5 MB/s' --set application.configs.num.standby.replicas=0"
    )


def test_a_command_falls_back_on_what_the_scenario_is_called() -> None:
    made = aggregate()
    untold = read_sweep(replace(made, manifest={**made.manifest, "text": "name: weights\n"}))
    assert command(untold, "steady").startswith("assignor-sim run orders-of-a-shop --assignor steady ")


def test_the_front_is_in_its_order_and_without_dominated_cells() -> None:
    lines = front_grid(sweep()).lines
    assert [(label, cells[0].text) for label, cells in lines] == [
        ("rate=1, standbys=0", "rival"),
        ("rate=1, standbys=1", "rival"),
        ("rate=1, standbys=0", "steady"),
        ("rate=5, standbys=0", "steady"),
        ("rate=5, standbys=1", "steady"),
    ]
    assert "5 of 7 cells are Pareto-optimal" in ordinary()


def test_the_heat_map_has_the_two_factors_that_explain_most() -> None:
    made = heat_map(sweep())
    assert made is not None
    assert (made.metric, made.factors, made.rows, made.columns) == (USD, (0, 1), ("1", "5"), ("0", "1"))
    assert [[cell.text for cell in row] for row in made.cells] == [["$9.00", "$10.50"], ["$17.50", "$26.00"]]
    assert made.heat == ((0, 1), (5, 10))


def test_one_factor_makes_no_heat_map_and_says_so() -> None:
    made = sweep()
    alone = replace(made, factors=tuple(replace(each, levels=each.levels[:1]) for each in made.factors))
    assert heat_map(alone) is None
    assert "Fewer than two factors vary." in page(None, sweeps=[alone])


def test_sure_differences_go_before_large_ones() -> None:
    made = sweep()
    known = {
        1: MeanEstimate(-9.0, -19.0, 1.0, 3),
        3: MeanEstimate(2.0, 1.0, 3.0, 3),
        5: MeanEstimate(0.5, None, None, 1),
    }
    unsure = replace(made, differences={"cross_rack_usd": known})
    assert [place for place, _ in largest_differences(unsure, USD, 1)] == [3]
    assert [place for place, _ in largest_differences(unsure, USD, 2)] == [1, 3]


def test_differences_are_told_with_sign_and_interval() -> None:
    assert signed(USD, -2.0) == "−$2.00"
    assert signed(METRIC["active_moves"], 0.0) == "0"
    assert difference_interval(USD, MeanEstimate(1.0, -1.0, 3.0, 2)) == "−$1.00 to +$3.00"
    assert difference_interval(USD, MeanEstimate(1.0, 1.0, 1.0, 2)) == ""


def test_what_sums_of_floats_leave_of_nothing_is_nothing() -> None:
    made = aggregate()
    differences = made.tables["differences"].to_pylist()
    [row] = [each for each in differences if (each["metric"], each["setting"]) == ("cross_rack_usd", 0)]
    row |= {"mean_difference": -2.9e-7, "difference_low": -3.5, "difference_high": 3.6}
    noisy = pa.Table.from_pylist(differences, schema=made.tables["differences"].schema)
    read = read_sweep(replace(made, tables={**made.tables, "differences": noisy}))
    assert read.differences["cross_rack_usd"][1].mean == 0


def test_what_matters_is_told_of_every_metric() -> None:
    rows = table(ordinary(), "sweep-1-sensitivity")
    assert rows[0] == ["Metric", "rate", "standbys", "assignor"]
    assert rows[1] == ["Cross-rack cost (whole run)", "60 %", "10 %", "5 %"]
    assert table(ordinary(), "sweep-1-levels")[2][:2] == ["rate=5", "$21.75± $0.5012 runs"]


def test_what_was_left_out_is_told_with_its_reason() -> None:
    told = [text_of(each) for each in parse(ordinary()).iter("li")]
    assert "1 cell: 1 of 3 runs ended without an assignment." in told


def test_data_is_what_the_tables_say() -> None:
    data, *left_out = embedded_data(sweep())
    assert left_out == [[], []]
    assert data["cells"]["setting"] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert data["cells"]["place"] == [3, 1, 0, 2, 4, 0, 5, 0]
    assert data["cells"]["by"] == [-1, -1, 0, -1, -1, 3, -1, -1]
    assert data["cells"]["out"] == [-1] * 7 + [0]
    assert [data["metrics"][number]["name"] for number in data["objectives"]] == [
        "cross_rack_usd",
        "active_moves",
        "time_to_converge_ms",
    ]
    assert data["figures"]["0"]["mean"] == [10, 8, 12, 9, 20, 15, 22, 30]
    assert data["figures"]["2"]["mean"][5] is None
    assert data["compared"] == [1, 3, 5, 7]
    assert data["differences"]["0"]["mean"] == [-2, -3, -5, 8]
    skew = [number for number, each in enumerate(data["metrics"]) if each["name"] == "load_skew"]
    assert data["figures"][str(skew[0])]["mean"] == 1


def test_figures_that_are_too_much_for_a_page_are_named() -> None:
    data, without_means, without_differences = embedded_data(sweep(), 1)
    assert sorted(data["figures"]) == sorted(data["differences"]) == ["0", "1", "2"]
    assert [metric.name for metric in without_means] == [metric.name for metric in without_differences] == ["load_skew"]


def test_scripts_can_write_every_metric() -> None:
    assert {metric.write for metric in METRICS} <= set(KINDS)


def test_values_are_found_in_the_bins_that_they_are_in() -> None:
    made = aggregate()
    levels = made.tables["levels"].to_pylist()
    for row in levels:
        if row["factor"] == "rate":
            row |= {"level": "0.5–1", "low": 0.5, "high": 1.0} if row["position"] == 0 else {"level": "2–5", "low": 2.0}
    binned = pa.Table.from_pylist(levels, schema=made.tables["levels"].schema)
    read = read_sweep(replace(made, tables={**made.tables, "levels": binned}))
    assert read.factors[0].levels == ("0.5–1", "2–5")
    assert [cell.levels[0] for cell in read.cells] == [0, 0, 0, 0, 1, 1, 1, 1]


@pytest.mark.parametrize(("value", "text"), [(3.0, "3"), (0.5, "0.5"), (None, "null"), ("none", "none")])
def test_values_are_written_as_scenarios_have_them(value: float | str | None, text: str) -> None:
    assert level_text(value) == text


@pytest.mark.parametrize("draw", SWEEP_FIGURES)
def test_a_sweep_of_which_nothing_is_known_still_has_its_figures(draw: type) -> None:
    made = sweep()
    bare = SweepAggregate(made.aggregate.name, made.aggregate.manifest, made.aggregate.summary, _emptied(made))
    nothing = replace(made, objectives=(), metrics=(), cells=(), figures={}, differences={}, aggregate=bare)
    texts = [text.get_text() for text in draw(nothing).axes[0].texts]
    assert "no data" in texts


def _emptied(made: AggregatedSweep) -> dict[str, pa.Table]:
    return {name: each.slice(0, 0) for name, each in made.aggregate.tables.items()}


def test_runs_and_sweeps_stand_in_one_page() -> None:
    tree = parse(page(player_runs(), MANIFEST, sweeps=[sweep(), sweep({"weights": "again"})]))
    headings = [text_of(each) for each in tree.iter("h2")]
    assert headings[0] == "Comparison"
    assert headings[-4:] == ["Sweep weights", "Sweep again", "Definitions", "How this report was made"]
    ids = [each.get("id") for each in tree.iter() if each.get("id")]
    assert len(ids) == len(set(ids))
    assert {"sweep-1-data", "sweep-2-data", "player-data"} <= set(ids)


@pytest.mark.parametrize("name", HOSTILE)
def test_any_name_is_text_wherever_it_stands(name: str) -> None:
    made = page(None, sweeps=[sweep({each: f"{name}{each}" for each in NAMES})])
    tree = parse(made)
    shown = re.sub(r"\s+", " ", printable(name)).strip()
    assert f"Sweep {shown}weights" in [text_of(each) for each in tree.iter("h2")]
    cells = [text_of(each) for each in tree.iter("td")]
    assert f"{shown}rival" in cells
    heads = [text_of(each) for each in tree.iter("th")]
    assert f"{shown}rate" in heads
    assert f"{shown}rate \\ {shown}standbys" in heads
    [data] = [each for each in tree.iter("script") if each.get("id") == "sweep-1-data"]
    assert json.loads(data.text or "")["assignors"] == [printable(f"{name}steady"), printable(f"{name}rival")]
    assert "\u202e" not in made
    assert "\x1b" not in made


def test_the_same_sweep_gives_the_same_page() -> None:
    assert page(None, sweeps=[sweep()]) == ordinary()


def test_a_directory_is_read_back(tmp_path: Path) -> None:
    directory = write(aggregate(), tmp_path / "weights")
    assert is_sweep_directory(directory)
    assert not is_sweep_directory(tmp_path)
    read = read_sweep(read_aggregate(directory))
    assert read.cells == sweep().cells
    assert [section.title for section in sweep_sections([read])] == ["Sweep weights"]


def test_a_sweep_of_which_nothing_is_worked_out_says_what_to_do(tmp_path: Path) -> None:
    directory = write(aggregate(), tmp_path / "weights")
    (directory / "aggregate" / "summary.json").unlink()
    with pytest.raises(TableError, match=f"not aggregated yet; run: assignor-sim aggregate {directory}"):
        read_aggregate(directory)


def test_an_aggregate_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    directory = write(aggregate(), tmp_path / "weights")
    (directory / "aggregate" / "front" / "part-0.parquet").write_text("not a table")
    with pytest.raises(TableError, match=r"weights/aggregate: cannot be read .*assignor-sim aggregate"):
        read_aggregate(directory)


def test_an_aggregate_of_several_sweeps_is_refused(tmp_path: Path) -> None:
    made = aggregate()
    twice = replace(made, summary={**made.summary, "sweeps": made.summary["sweeps"] * 2})
    with pytest.raises(TableError, match="aggregates other sweeps too"):
        read_aggregate(write(twice, tmp_path / "weights"))
