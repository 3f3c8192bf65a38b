"""The section of a sweep in Chromium: marks, cells, heat maps and differences, by mouse and by keys."""

from __future__ import annotations

import csv
import io
import re
from functools import cache

import pytest
from playwright.sync_api import Locator, Page, expect

from reports.render.page import page
from tests.browser.conftest import Open
from tests.browser.test_page import share_of_ink
from tests.reports.sample_player_runs import player_runs
from tests.reports.sample_runs import HOSTILE, MANIFEST
from tests.reports.sample_sweep import sweep

NAMES = ("weights", "steady", "rival", "rate", "standbys")


@cache
def ordinary() -> str:
    return page(None, sweeps=[sweep()])


@cache
def hostile() -> str:
    return page(None, sweeps=[sweep(dict(zip(NAMES, (HOSTILE[0], *HOSTILE[2:]), strict=False)))])


def marks(shown: Page) -> Locator:
    return shown.locator("#sweep-1-front-here .mark")


def readout(shown: Page) -> Locator:
    return shown.locator("#sweep-1-front-here .readout")


def cell(shown: Page) -> Locator:
    return shown.locator("#sweep-1-cell-here")


def heat(shown: Page) -> list[list[str]]:
    return [row.locator("th, td").all_inner_texts() for row in shown.locator("#sweep-1-heat-table tr").all()]


def saved(shown: Page, button: Locator) -> list[list[str]]:
    with shown.expect_download() as waiting:
        button.click()
    return list(csv.reader(io.StringIO(waiting.value.path().read_text(encoding="utf-8"))))


def test_every_cell_has_a_mark_that_says_how_it_stands(open_page: Open) -> None:
    shown = open_page(ordinary())
    expect(marks(shown)).to_have_count(8)
    assert [marks(shown).and_(shown.locator(f".{state}")).count() for state in ("front", "dominated", "out")] == [
        5,
        2,
        1,
    ]
    cheapest = shown.get_by_role("button", name="rival, rate=1, standbys=0: Pareto-optimal")
    cheapest.hover()
    expect(readout(shown)).to_contain_text("rival with rate=1, standbys=0. Pareto-optimal.")
    expect(readout(shown)).to_contain_text("$8.00 ($6.00 to $12.00)")
    assert shown.locator(".whiskers line").count() == 2


def test_a_click_opens_the_cell_with_all_its_figures(open_page: Open) -> None:
    shown = open_page(ordinary())
    shown.get_by_role("button", name="rival, rate=5, standbys=0: dominated").click()
    expect(cell(shown)).to_contain_text("Dominated by rival with rate=1, standbys=1. 3 runs, 100 % stable.")
    assert cell(shown).locator("pre").inner_text() == (
        "assignor-sim run orders.yaml --assignor rival --seed 1 --seed 2 --seed 3 "
        "--set 'clients[0].restore=5' --set application.configs.num.standby.replicas=0"
    )
    rows = saved(shown, cell(shown).get_by_role("button", name="Save as CSV"))
    assert rows == [
        ["Metric", "Mean", "From", "To", "difference"],
        ["cross_rack_usd", "15", "11.25", "22.5", "-5"],
        ["active_moves", "9", "6.75", "13.5", "7"],
        ["load_skew", "1", "0.75", "1.5", "0"],
    ]
    cell(shown).get_by_role("button", name="Open the dominating cell").click()
    expect(cell(shown).locator("h4")).to_have_text("rival with rate=1, standbys=1")
    shown.keyboard.press("Escape")
    expect(cell(shown)).to_be_hidden()


def test_keys_lead_along_the_marks_and_open_them(open_page: Open) -> None:
    shown = open_page(ordinary())
    expect(shown.locator(".mark[tabindex='0']")).to_have_count(1)
    marks(shown).and_(shown.locator("[tabindex='0']")).focus()
    expect(readout(shown)).to_contain_text("rival with rate=1, standbys=0")
    shown.keyboard.press("ArrowRight")
    expect(readout(shown)).to_contain_text("rival with rate=1, standbys=1")
    shown.keyboard.press("End")
    expect(readout(shown)).to_contain_text("Left out: 1 of 3 runs ended without an assignment")
    shown.keyboard.press("Home")
    shown.keyboard.press("Enter")
    expect(cell(shown).locator("h4")).to_have_text("rival with rate=1, standbys=0")
    shown.keyboard.press("Escape")
    expect(shown.locator(".mark:focus")).to_have_attribute(
        "aria-label", re.compile("^rival, rate=1, standbys=0: Pareto-optimal")
    )


def test_other_objectives_can_be_the_axes(open_page: Open) -> None:
    shown = open_page(ordinary())
    shown.get_by_label("x axis").select_option("Time to converge (worst event)")
    chart = shown.locator("#sweep-1-front-here .sweep-picture")
    expect(chart).to_contain_text("Time to converge (worst event) (s)")
    expect(chart).to_contain_text("n/a")
    expect(shown.get_by_role("button", name="Time to converge (worst event) unknown for some runs")).to_have_count(1)


def test_cells_in_the_same_place_can_all_be_reached(open_page: Open) -> None:
    shown = open_page(ordinary())
    shown.get_by_label("x axis").select_option("Time to converge (worst event)")
    shown.get_by_label("y axis").select_option("Time to converge (worst event)")
    expect(marks(shown)).to_have_count(4)
    shown.locator(".mark.a-0").first.click()
    expect(cell(shown)).to_contain_text("At the same position: rate=1, standbys=1")
    cell(shown).get_by_role("button", name="rate=1, standbys=1").click()
    expect(cell(shown).locator("h4")).to_have_text("steady with rate=1, standbys=1")


def test_all_cells_are_saved_with_their_levels(open_page: Open) -> None:
    shown = open_page(ordinary())
    rows = saved(shown, shown.get_by_role("button", name="CSV of all cells"))
    assert rows[0][:8] == [
        "assignor",
        "setting",
        "rate",
        "standbys",
        "on_front",
        "cross_rack_usd",
        "cross_rack_usd_low",
        "cross_rack_usd_high",
    ]
    assert len(rows) == 9
    assert rows[6][:8] == ["rival", "2", "5", "0", "false", "15", "11.25", "22.5"]


def test_the_heat_map_is_as_the_page_came_until_something_is_chosen(open_page: Open) -> None:
    assert heat(open_page(ordinary())) == heat(open_page(ordinary(), scripts=False))


def test_heat_maps_of_any_factors_and_one_assignor(open_page: Open) -> None:
    shown = open_page(ordinary())
    choices = shown.locator("#sweep-1-heat-here")
    choices.get_by_label("Columns").select_option("assignor")
    assert heat(shown) == [["rate \\ assignor", "steady", "rival"], ["1", "$11.00", "$8.50"], ["5", "$21.00", "$22.50"]]
    choices.get_by_label("Rows").select_option("assignor")
    assert heat(shown)[0] == ["assignor \\ rate", "1", "5"]
    choices.get_by_label("Columns").select_option("standbys")
    choices.get_by_label("Rows").select_option("rate")
    choices.get_by_label("Assignor", exact=True).select_option("rival")
    choices.get_by_label("Metric").select_option("Time to converge (worst event)")
    expect(shown.locator("#sweep-1-heat-table caption")).to_have_text("Time to converge (worst event), rival")
    assert heat(shown)[1:] == [["1", "3 s", "3 s"], ["5", "n/a", "3 s"]]
    choices.get_by_label("Metric").select_option("Active task moves")
    shades = [each.get_attribute("class") for each in shown.locator("#sweep-1-heat-table td").all()]
    assert shades == ["heat-3", "heat-0", "heat-10", "heat-10"]


def forest(shown: Page) -> list[list[str]]:
    lines = shown.locator("#sweep-1-differences-here tbody tr").all()
    return [[text.strip() for text in line.locator("th, td").all_inner_texts()] for line in lines]


def test_differences_are_filtered_by_setting_and_counted(open_page: Open) -> None:
    shown = open_page(ordinary())
    part = shown.locator("#sweep-1-differences-here")
    expect(part).to_contain_text(
        "4 cells: significantly lower than the baseline in 3, higher in 1, not significant in 0."
    )
    assert forest(shown)[0] == ["rate=5, standbys=1", "+$8.00", "+$7.00", "+$9.00", "rival"]
    part.get_by_label("rate").select_option("1")
    assert [line[:2] for line in forest(shown)] == [["rate=1, standbys=1", "−$3.00"], ["rate=1, standbys=0", "−$2.00"]]
    part.get_by_label("Metric").select_option("Active task moves")
    part.get_by_label("Order").select_option("lowest first")
    assert [line[:2] for line in forest(shown)] == [["rate=1, standbys=1", "+1"], ["rate=1, standbys=0", "+2"]]
    expect(part).to_contain_text("higher in 1, not significant in 1.")
    part.get_by_role("button", name="rate=1, standbys=1").click()
    expect(cell(shown).locator("h4")).to_have_text("rival with rate=1, standbys=1")


@pytest.mark.parametrize("width", [360, 1440])
def test_all_intervals_have_their_zero_in_one_line(open_page: Open, width: int) -> None:
    shown = open_page(ordinary(), width)
    boxes = [zero.bounding_box() for zero in shown.locator(".interval .zero").all()]
    assert len(boxes) == 4
    assert len({round(box["x"]) for box in boxes if box}) == 1


def test_names_of_any_kind_stay_text(open_page: Open) -> None:
    shown = open_page(hostile())
    marks(shown).first.click()
    expect(cell(shown).locator("h4")).to_be_visible()
    shown.locator("#sweep-1-heat-here").get_by_label("Columns").select_option(index=2)
    shown.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert shown.locator("body script").count() == 2
    assert shown.locator("img, iframe, object").count() == 0


@pytest.mark.parametrize("width", [360, 768, 1440])
@pytest.mark.parametrize("make", [ordinary, hostile])
def test_nothing_sticks_out_at_any_width(open_page: Open, width: int, make: type[str]) -> None:
    shown = open_page(make(), width)
    marks(shown).first.click()
    shown.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert shown.evaluate("document.documentElement.scrollWidth") <= width


def test_without_scripts_figures_and_tables_are_still_there(open_page: Open) -> None:
    shown = open_page(ordinary(), scripts=False)
    expect(shown.get_by_role("img", name="Pareto front; tables hold the numbers").first).to_be_visible()
    expect(shown.get_by_role("img", name="Paired differences; tables hold the numbers").first).to_be_visible()
    expect(shown.locator("#sweep-1-heat-table")).to_be_visible()
    expect(shown.get_by_text("CSV of all cells")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_front_is_drawn_on_its_ground(open_page: Open, scheme: str) -> None:
    shown = open_page(ordinary(), scheme=scheme)
    ink = share_of_ink(shown.locator("#sweep-1-front-here .sweep-picture").screenshot())
    assert 0.005 < ink < 0.2


def test_two_sweeps_and_a_run_do_not_meddle_with_each_other(open_page: Open) -> None:
    shown = open_page(page(player_runs(), MANIFEST, sweeps=[sweep(), sweep({"weights": "again"})]))
    shown.locator("#sweep-2-front-here .mark").first.click()
    expect(shown.locator("#sweep-2-cell-here")).to_be_visible()
    expect(cell(shown)).to_be_hidden()
    expect(shown.get_by_role("group", name="Run 1")).to_be_visible()
