"""The page of a past night in Chromium: widths, themes, lists of moves, links, sorting, CSV and print."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
from playwright.sync_api import expect

from reports.analysis.explanation import step_text
from reports.render.incident import incident_report
from reports.render.report_formats import report_page
from tests.browser.conftest import Open
from tests.browser.test_accessibility import OPEN_ALL, violations
from tests.browser.test_accessibility import axe as axe  # a fixture
from tests.browser.test_page import drawn_share, saved_csv
from tests.reports.sample_incident import random_night
from tests.reports.sample_runs import HOSTILE

pytestmark = pytest.mark.browser

LARGE = random_night(1, num_rebalances=500, num_tasks=200, num_clients=20)
MAX_BYTES, MAX_NODES = 2_000_000, 20_000


@cache
def sample() -> str:
    return report_page(incident_report(random_night(0)))


@cache
def large() -> str:
    return report_page(incident_report(LARGE))


@cache
def hostile() -> str:
    return report_page(incident_report(random_night(0, group=HOSTILE[1])))


@pytest.mark.parametrize(("width", "scheme"), [(400, "light"), pytest.param(1280, "dark", marks=pytest.mark.slow)])
@pytest.mark.parametrize("make", [sample, pytest.param(hostile, marks=pytest.mark.slow)])
@pytest.mark.parametrize("opened", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["opened", "closed"])
def test_axe_finds_no_violation(
    open_page: Open, axe: str, make: Callable[[], str], width: int, scheme: str, opened: bool
) -> None:
    page = open_page(make(), width, scheme)
    if opened:
        page.evaluate(OPEN_ALL)
    assert violations(page, axe) == []


@pytest.mark.parametrize("width", [360, 400, 1280])
@pytest.mark.parametrize("make", [sample, hostile])
def test_page_fits_its_width(open_page: Open, make: Callable[[], str], width: int) -> None:
    page = open_page(make(), width)
    page.evaluate(OPEN_ALL)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [400, 1280])
def test_timeline_is_drawn_legibly(open_page: Open, width: int) -> None:
    page = open_page(sample(), width)
    [figure] = [figure for figure in page.locator("figure svg").all() if figure.is_visible()]
    box = figure.bounding_box()
    assert box is not None
    assert box["height"] > 150
    assert 0.005 < drawn_share(figure.screenshot()) < 0.6


def test_link_of_a_rebalance_opens_its_moves(open_page: Open) -> None:
    report = random_night(0)
    number = next(rebalance.number for rebalance in report.rebalances if rebalance.moves)
    page = open_page(sample())
    details = page.locator(f"#rebalance-{number}")
    expect(details.locator("table")).to_be_hidden()
    page.locator(f"a[href='#rebalance-{number}']").click()
    expect(details.locator("table")).to_be_visible()


def test_large_night_lists_moves_on_demand(open_page: Open) -> None:
    text = large()
    assert len(text) < MAX_BYTES
    page = open_page(text, 1280)
    assert page.evaluate("document.querySelectorAll('*').length") < MAX_NODES
    rebalance = max(LARGE.rebalances, key=lambda candidate: len(candidate.moves))
    details = page.locator(f"#rebalance-{rebalance.number}")
    details.locator("summary").click()
    rows = details.locator("tbody tr")
    expect(rows).to_have_count(len(rebalance.moves))
    move = rebalance.moves[-1]
    steps = "; ".join(step_text(step) for step in move.steps)
    source = f"{move.source} (had left)" if move.has_left else move.source
    assert rows.last.locator("th, td").all_inner_texts() == [move.task, source, move.target, steps]
    assert saved_csv(page, f"moves-{rebalance.number}")[-1] == [move.task, source, move.target, steps]


def test_rebalances_can_be_sorted_by_moves(open_page: Open) -> None:
    page = open_page(sample())
    head = page.locator("table[data-csv='rebalances'] thead button").nth(5)
    head.click()
    head.click()
    largest = max(random_night(0).rebalances, key=lambda rebalance: len(rebalance.moves))
    first = page.locator("table[data-csv='rebalances'] tbody tr").first
    expect(first.locator("td").nth(4)).to_have_text(str(len(largest.moves)))


def test_without_scripts_small_nights_are_complete_and_large_ones_say_what_is_missing(open_page: Open) -> None:
    page = open_page(sample(), scripts=False)
    number = next(rebalance.number for rebalance in random_night(0).rebalances if rebalance.moves)
    page.locator(f"#rebalance-{number} summary").click()
    expect(page.locator(f"#rebalance-{number} table")).to_be_visible()
    expect(page.get_by_text("The folded tables need JavaScript")).to_have_count(0)
    page = open_page(large(), scripts=False)
    expect(page.get_by_text("The folded tables need JavaScript")).to_be_visible()


def test_comparisons_fit_a_phone_without_scrolling(open_page: Open) -> None:
    page = open_page(sample(), 390)
    for name in ("What would have changed", "What others do with each recorded state"):
        region = page.get_by_role("region", name=name, exact=True)
        assert region.evaluate("part => part.scrollWidth <= part.clientWidth"), name


def test_print_without_open_moves_has_no_heading_for_them(open_page: Open) -> None:
    page = open_page(sample())
    heading = page.get_by_role("heading", name="Moves of each rebalance")
    expect(heading).to_be_visible()
    page.emulate_media(media="print")
    expect(heading).to_be_hidden()


def test_print_has_timeline_table_and_open_moves_only(open_page: Open) -> None:
    page = open_page(sample(), scheme="dark")
    numbers = [rebalance.number for rebalance in random_night(0).rebalances if rebalance.moves]
    page.locator(f"#rebalance-{numbers[0]} summary").click()
    page.emulate_media(media="print")
    expect(page.locator("figure .wide svg")).to_be_visible()
    expect(page.locator("table[data-csv='rebalances']")).to_be_visible()
    expect(page.locator(f"#rebalance-{numbers[0]} table")).to_be_visible()
    expect(page.get_by_role("heading", name="Moves of each rebalance")).to_be_visible()
    expect(page.locator(f"#rebalance-{numbers[1]}")).to_be_hidden()
    assert page.pdf(format="A4").startswith(b"%PDF")
