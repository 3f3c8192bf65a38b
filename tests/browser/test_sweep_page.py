"""The section of a sweep in Chromium: marks, cells, heat maps and differences, with mouse and keyboard."""

from __future__ import annotations

import csv
import io
import re
from functools import cache

import pytest
from playwright.sync_api import Locator, Page, expect

from reports.render.page import page as report_page
from tests.browser.conftest import Open
from tests.browser.test_page import drawn_share
from tests.reports.sample_player_runs import player_runs
from tests.reports.sample_runs import HOSTILE, MANIFEST
from tests.reports.sample_sweep import sweep

pytestmark = pytest.mark.browser

NAMES = ("weights", "steady", "rival", "rate", "standbys")


@cache
def sample_page() -> str:
    return report_page(None, sweeps=[sweep()])


@cache
def hostile_page() -> str:
    return report_page(None, sweeps=[sweep(dict(zip(NAMES, (HOSTILE[0], *HOSTILE[2:]), strict=False)))])


def marks(page: Page) -> Locator:
    return page.locator("#sweep-1-front-here .mark")


def readout(page: Page) -> Locator:
    return page.locator("#sweep-1-front-here .readout")


def cell(page: Page) -> Locator:
    return page.locator("#sweep-1-cell-here")


def heat(page: Page) -> list[list[str]]:
    return [row.locator("th, td").all_inner_texts() for row in page.locator("#sweep-1-heat-table tr").all()]


def saved_csv(page: Page, button: Locator) -> list[list[str]]:
    with page.expect_download() as download:
        button.click()
    return list(csv.reader(io.StringIO(download.value.path().read_text(encoding="utf-8"))))


def test_every_cell_has_a_mark_with_its_state(open_page: Open) -> None:
    page = open_page(sample_page())
    expect(marks(page)).to_have_count(8)
    assert [marks(page).and_(page.locator(f".{state}")).count() for state in ("front", "dominated", "out")] == [
        5,
        2,
        1,
    ]
    cheapest = page.get_by_role("button", name="rival, rate=1, standbys=0: Pareto-optimal")
    cheapest.hover()
    expect(readout(page)).to_contain_text("rival with rate=1, standbys=0. Pareto-optimal.")
    expect(readout(page)).to_contain_text("$8.00 ($6.00 to $12.00)")
    assert page.locator(".whiskers line").count() == 2


def test_click_on_a_mark_opens_its_cell(open_page: Open) -> None:
    page = open_page(sample_page())
    page.get_by_role("button", name="rival, rate=5, standbys=0: dominated").click()
    expect(cell(page)).to_contain_text("Dominated by rival with rate=1, standbys=1. 3 runs, 100 % stable.")
    assert cell(page).locator("pre").inner_text() == (
        "assignor-sim run orders.yaml --assignor rival --seed 1 --seed 2 --seed 3 "
        "--set 'clients[0].restore=5' --set application.configs.num.standby.replicas=0"
    )
    rows = saved_csv(page, cell(page).get_by_role("button", name="Save as CSV"))
    assert rows == [
        ["Metric", "Mean", "From", "To", "difference"],
        ["cross_rack_usd_per_day", "15", "11.25", "22.5", "-5"],
        ["active_moves", "9", "6.75", "13.5", "7"],
        ["load_skew", "1", "0.75", "1.5", "0"],
    ]
    cell(page).get_by_role("button", name="Open the dominating cell").click()
    expect(cell(page).locator("h4")).to_have_text("rival with rate=1, standbys=1")
    page.keyboard.press("Escape")
    expect(cell(page)).to_be_hidden()


def test_keyboard_selects_and_opens_marks(open_page: Open) -> None:
    page = open_page(sample_page())
    expect(page.locator(".mark[tabindex='0']")).to_have_count(1)
    marks(page).and_(page.locator("[tabindex='0']")).focus()
    expect(readout(page)).to_contain_text("rival with rate=1, standbys=0")
    page.keyboard.press("ArrowRight")
    expect(readout(page)).to_contain_text("rival with rate=1, standbys=1")
    page.keyboard.press("End")
    expect(readout(page)).to_contain_text("Left out: 1 of 3 runs ended without an assignment")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    expect(cell(page).locator("h4")).to_have_text("rival with rate=1, standbys=0")
    page.keyboard.press("Escape")
    expect(page.locator(".mark:focus")).to_have_attribute(
        "aria-label", re.compile("^rival, rate=1, standbys=0: Pareto-optimal")
    )


def test_axes_can_be_other_objectives(open_page: Open) -> None:
    page = open_page(sample_page())
    page.get_by_label("x axis").select_option("Time to converge (worst event)")
    chart = page.locator("#sweep-1-front-here .sweep-picture")
    expect(chart).to_contain_text("Time to converge (worst event) (s)")
    expect(chart).to_contain_text("n/a")
    expect(page.get_by_role("button", name="Time to converge (worst event) unknown for some runs")).to_have_count(1)


def test_coinciding_cells_can_all_be_reached(open_page: Open) -> None:
    page = open_page(sample_page())
    page.get_by_label("x axis").select_option("Time to converge (worst event)")
    page.get_by_label("y axis").select_option("Time to converge (worst event)")
    expect(marks(page)).to_have_count(4)
    page.locator(".mark.a-0").first.click()
    expect(cell(page)).to_contain_text("At the same position: rate=1, standbys=1")
    cell(page).get_by_role("button", name="rate=1, standbys=1").click()
    expect(cell(page).locator("h4")).to_have_text("steady with rate=1, standbys=1")


def test_saved_cells_have_their_levels(open_page: Open) -> None:
    page = open_page(sample_page())
    rows = saved_csv(page, page.get_by_role("button", name="CSV of all cells"))
    assert rows[0][:8] == [
        "assignor",
        "setting",
        "rate",
        "standbys",
        "on_front",
        "cross_rack_usd_per_day",
        "cross_rack_usd_per_day_low",
        "cross_rack_usd_per_day_high",
    ]
    assert len(rows) == 9
    assert rows[6][:8] == ["rival", "2", "5", "0", "false", "15", "11.25", "22.5"]


def test_initial_heat_map_is_the_static_one(open_page: Open) -> None:
    assert heat(open_page(sample_page())) == heat(open_page(sample_page(), scripts=False))


def test_heat_map_can_be_of_any_factors_and_one_assignor(open_page: Open) -> None:
    page = open_page(sample_page())
    choices = page.locator("#sweep-1-heat-here")
    choices.get_by_label("Columns").select_option("assignor")
    assert heat(page) == [["rate \\ assignor", "steady", "rival"], ["1", "$11.00", "$8.50"], ["5", "$21.00", "$22.50"]]
    choices.get_by_label("Rows").select_option("assignor")
    assert heat(page)[0] == ["assignor \\ rate", "1", "5"]
    choices.get_by_label("Columns").select_option("standbys")
    choices.get_by_label("Rows").select_option("rate")
    choices.get_by_label("Assignor", exact=True).select_option("rival")
    choices.get_by_label("Metric").select_option("Time to converge (worst event)")
    expect(page.locator("#sweep-1-heat-table caption")).to_have_text("Time to converge (worst event), rival")
    assert heat(page)[1:] == [["1", "3 s", "3 s"], ["5", "n/a", "3 s"]]
    choices.get_by_label("Metric").select_option("Active task moves")
    shades = [td.get_attribute("class") for td in page.locator("#sweep-1-heat-table td").all()]
    assert shades == ["heat-3", "heat-0", "heat-10", "heat-10"]


def forest(page: Page) -> list[list[str]]:
    lines = page.locator("#sweep-1-differences-here tbody tr").all()
    return [[text.strip() for text in line.locator("th, td").all_inner_texts()] for line in lines]


def test_differences_can_be_filtered_and_are_counted(open_page: Open) -> None:
    page = open_page(sample_page())
    part = page.locator("#sweep-1-differences-here")
    expect(part).to_contain_text(
        "4 cells: significantly lower than the baseline in 3, higher in 1, not significant in 0."
    )
    assert forest(page)[0] == ["rate=5, standbys=1", "+$8.00", "+$7.00", "+$9.00", "rival"]
    part.get_by_label("rate").select_option("1")
    assert [line[:2] for line in forest(page)] == [["rate=1, standbys=1", "−$3.00"], ["rate=1, standbys=0", "−$2.00"]]
    part.get_by_label("Metric").select_option("Active task moves")
    part.get_by_label("Order").select_option("lowest first")
    assert [line[:2] for line in forest(page)] == [["rate=1, standbys=1", "+1"], ["rate=1, standbys=0", "+2"]]
    expect(part).to_contain_text("higher in 1, not significant in 1.")
    part.get_by_role("button", name="rate=1, standbys=1").click()
    expect(cell(page).locator("h4")).to_have_text("rival with rate=1, standbys=1")


@pytest.mark.parametrize("width", [360, 1440])
def test_intervals_share_the_position_of_zero(open_page: Open, width: int) -> None:
    page = open_page(sample_page(), width)
    boxes = [zero.bounding_box() for zero in page.locator(".interval .zero").all()]
    assert len(boxes) == 4
    assert len({round(box["x"]) for box in boxes if box}) == 1


def test_hostile_names_are_drawn_as_text(open_page: Open) -> None:
    page = open_page(hostile_page())
    marks(page).first.click()
    expect(cell(page).locator("h4")).to_be_visible()
    page.locator("#sweep-1-heat-here").get_by_label("Columns").select_option(index=2)
    page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
    assert page.locator("body script").count() == 2
    assert page.locator("img, iframe, object").count() == 0


def test_best_cells_do_not_scroll_sideways_on_a_phone(open_page: Open) -> None:
    page = open_page(sample_page(), 390)
    widths = page.eval_on_selector_all(
        ".scroll:has(> .best-cells)", "regions => regions.map((region) => [region.scrollWidth, region.clientWidth])"
    )
    assert widths
    assert all(content <= shown for content, shown in widths)
    titles = page.locator(".best-cells td[data-title]").evaluate_all("cells => cells.map((cell) => cell.dataset.title)")
    assert set(titles) == {"Cross-rack cost per day", "Active task moves", "Time to converge (worst event)"}


@pytest.mark.parametrize("width", [360, 768, 1440])
@pytest.mark.parametrize("make", [sample_page, hostile_page])
def test_page_fits_its_width(open_page: Open, width: int, make: type[str]) -> None:
    page = open_page(make(), width)
    marks(page).first.click()
    page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_figures_and_tables_do_not_need_scripts(open_page: Open) -> None:
    page = open_page(sample_page(), scripts=False)
    expect(page.get_by_role("img", name="Pareto front; tables hold the numbers").first).to_be_visible()
    expect(page.get_by_role("img", name="Paired differences; tables hold the numbers").first).to_be_visible()
    expect(page.locator("#sweep-1-heat-table")).to_be_visible()
    expect(page.get_by_text("CSV of all cells")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_front_is_drawn_in_both_themes(open_page: Open, scheme: str) -> None:
    page = open_page(sample_page(), scheme=scheme)
    share = drawn_share(page.locator("#sweep-1-front-here .sweep-picture").screenshot())
    assert 0.005 < share < 0.2


def test_sweeps_and_runs_on_one_page_are_independent(open_page: Open) -> None:
    page = open_page(report_page(player_runs(), MANIFEST, sweeps=[sweep(), sweep({"weights": "again"})]))
    page.locator("#sweep-2-front-here .mark").first.click()
    expect(page.locator("#sweep-2-cell-here")).to_be_visible()
    expect(cell(page)).to_be_hidden()
    expect(page.get_by_role("group", name="Run 1")).to_be_visible()
