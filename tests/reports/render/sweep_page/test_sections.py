"""The section of a sweep: best cells, tables and figures."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import pyarrow as pa
import pytest

from reports.analysis.sweeps.aggregated_sweep import AggregatedSweep, read_sweep
from reports.analysis.sweeps.grids import front_grid, heat_map
from reports.analysis.sweeps.sweep_directory import SweepAggregate
from reports.analysis.text import printable
from reports.render.figures.sweep_figures import SWEEP_FIGURES
from reports.render.page import page
from tests.reports.render.test_page import parse, text_of
from tests.reports.sample_player_runs import player_runs
from tests.reports.sample_runs import HOSTILE, MANIFEST
from tests.reports.sample_sweep import aggregate, sweep

pytestmark = pytest.mark.answers

NAMES = ("weights", "steady", "rival", "rate", "standbys")


@cache
def sample_page() -> str:
    return page(None, sweeps=[sweep()])


@cache
def hostile_page() -> str:
    """Return a page of three sweeps with every hostile name; each name of a sweep also contains markup."""
    groups = (HOSTILE[:5], HOSTILE[5:10], HOSTILE[6:])
    return page(None, sweeps=[sweep(hostile_names(names)) for names in groups])


def hostile_names(names: Sequence[str]) -> dict[str, str]:
    return {label: f"{name}<b>&{label}" for label, name in zip(NAMES, names, strict=True)}


def table(text: str, name: str) -> list[list[str]]:
    [match] = [element for element in parse(text).iter("table") if element.get("data-csv") == name]
    return [[text_of(cell) for cell in row] for row in match.iter("tr")]


def test_best_cells_have_differences_from_baseline() -> None:
    head, cheapest, fewest_moves, fastest = table(sample_page(), "sweep-1-best")
    assert head[2:] == ["Cross-rack cost per day", "Active task moves", "Time to converge (worst event)"]
    assert cheapest[:2] == ["Cross-rack cost per day: $8.00$6.00–$12.00", "rivalrate=1, standbys=0"]
    assert cheapest[2] == "★ $8.00$6.00–$12.00−$2.00 vs. baseline (−$3.00 to −$1.00)"
    assert cheapest[3] == "64.5–9+2 vs. baseline (+1 to +3)"
    assert fewest_moves[2] == "$22.00$16.50–$33.00"
    assert fastest[0] == "Time to converge (worst event): 1 s750 ms–1.5 s; 1 other cell with equal mean"


def test_cell_that_is_best_for_several_objectives_has_one_line() -> None:
    results = aggregate()
    [scenario] = results.summary["scenarios"]
    best = [{**scenario["best"][0], "objective": name} for name in ("cross_rack_usd_per_day", "active_moves")]
    both = read_sweep(replace(results, summary={**results.summary, "scenarios": [{**scenario, "best": best}]}))
    [_, line] = table(page(None, sweeps=[both]), "sweep-1-best")
    assert line[0] == "Cross-rack cost per day: $8.00$6.00–$12.00Active task moves: 64.5–9"


def test_front_is_ordered_and_has_no_dominated_cells() -> None:
    lines = front_grid(sweep()).lines
    assert [(label, cells[0].text) for label, cells in lines] == [
        ("rate=1, standbys=0", "rival"),
        ("rate=1, standbys=1", "rival"),
        ("rate=1, standbys=0", "steady"),
        ("rate=5, standbys=0", "steady"),
        ("rate=5, standbys=1", "steady"),
    ]
    assert "5 of 7 cells are Pareto-optimal" in sample_page()


def test_single_factor_has_no_heat_map() -> None:
    sample = sweep()
    single_level = replace(
        sample, factors=tuple(replace(factor, levels=factor.levels[:1]) for factor in sample.factors)
    )
    assert heat_map(single_level) is None
    assert "Fewer than two factors vary." in page(None, sweeps=[single_level])


def test_sensitivity_covers_every_metric() -> None:
    rows = table(sample_page(), "sweep-1-sensitivity")
    assert rows[0] == ["Metric", "rate", "standbys", "assignor"]
    assert rows[1] == ["Cross-rack cost per day", "60 %", "10 %", "5 %"]
    assert table(sample_page(), "sweep-1-levels")[2][:2] == ["rate=5", "$21.75± $0.5012 runs"]


def test_left_out_cells_are_listed_with_reason() -> None:
    items = [text_of(element) for element in parse(sample_page()).iter("li")]
    assert "1 cell: 1 of 3 runs ended without an assignment." in items


@pytest.mark.parametrize("draw", SWEEP_FIGURES)
def test_figures_of_an_empty_sweep_say_so(draw: type) -> None:
    sample = sweep()
    aggregate_ = SweepAggregate(
        sample.aggregate.name, sample.aggregate.manifest, sample.aggregate.summary, _emptied(sample)
    )
    empty = replace(sample, objectives=(), metrics=(), cells=(), means={}, differences={}, aggregate=aggregate_)
    texts = [text.get_text() for text in draw(empty).axes[0].texts]
    assert "no data" in texts


def _emptied(sample: AggregatedSweep) -> dict[str, pa.Table]:
    return {name: table_.slice(0, 0) for name, table_ in sample.aggregate.tables.items()}


def test_runs_and_sweeps_share_a_page() -> None:
    tree = parse(page(player_runs(), MANIFEST, sweeps=[sweep(), sweep({"weights": "again"})]))
    headings = [text_of(element) for element in tree.iter("h2")]
    assert headings[0] == "Conclusion"
    assert headings[-4:] == ["Sweep weights", "Sweep again", "Definitions", "How this report was made"]
    ids = [element.get("id") for element in tree.iter() if element.get("id")]
    assert len(ids) == len(set(ids))
    assert {"sweep-1-data", "sweep-2-data", "player-data"} <= set(ids)


@pytest.mark.parametrize(("number", "names"), [(1, HOSTILE[:5]), (2, HOSTILE[5:10]), (3, HOSTILE[6:])])
def test_hostile_names_are_drawn_as_text(number: int, names: Sequence[str]) -> None:
    tree = parse(hostile_page())
    printed = {label: printable(name) for label, name in hostile_names(names).items()}
    expected = {label: re.sub(r"\s+", " ", name).strip() for label, name in printed.items()}
    assert any(f"Sweep {expected['weights']}" in text_of(element) for element in tree.iter("h2"))
    assert expected["rival"] in [text_of(element) for element in tree.iter("td")]
    heads = [text_of(element) for element in tree.iter("th")]
    assert expected["rate"] in heads
    assert f"{expected['rate']} \\ {expected['standbys']}" in heads
    [data] = [element for element in tree.iter("script") if element.get("id") == f"sweep-{number}-data"]
    assert json.loads(data.text or "")["assignors"] == [printed["steady"], printed["rival"]]
    assert not {"\x1b", "\u202e"} & set(hostile_page())


def test_page_is_reproducible() -> None:
    assert page(None, sweeps=[sweep()]) == sample_page()
