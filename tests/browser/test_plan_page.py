"""The section of a plan folder in Chromium: widths, themes, sorting, CSV and print."""

from __future__ import annotations

import csv
import io
from functools import cache

import pytest
from playwright.sync_api import expect

from reports.render.page import page as report_page
from tests.browser.conftest import Open
from tests.browser.test_page import drawn_share
from tests.reports.sample_plans import NAMES, results
from tests.reports.sample_runs import HOSTILE

pytestmark = pytest.mark.browser


@cache
def sample_page() -> str:
    return report_page(None, plans=[results()])


@cache
def large_page() -> str:
    plans = {f"plan {n}": [(10 + n + m, 20 + n + m) for m in range(6)] for n in range(6)}
    return report_page(None, plans=[results((HOSTILE[9], *NAMES[1:]), plans=plans, extra=40)])


@pytest.mark.parametrize("width", [360, 768, 1440])
@pytest.mark.parametrize("make", [sample_page, pytest.param(large_page, marks=pytest.mark.slow)])
def test_page_fits_its_width(open_page: Open, width: int, make: type[str]) -> None:
    page = open_page(make(), width)
    for details in page.locator("details").all():
        details.evaluate("details => details.open = true")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_every_part_is_drawn_legibly(open_page: Open, width: int, scheme: str) -> None:
    page = open_page(sample_page(), width, scheme)
    visible = [figure for figure in page.locator("figure").all() if figure.is_visible()]
    assert len(visible) == 7
    for part in (*visible, page.locator("table.comparison"), page.locator("table.matrix >> nth=0")):
        assert 0.005 < drawn_share(part.screenshot()) < 0.6


def test_click_on_a_row_sorts_the_plans(open_page: Open) -> None:
    page = open_page(sample_page())
    page.get_by_role("button", name="Replicas moved", exact=True).click()
    heads = page.locator("table.comparison thead th bdi").all_inner_texts()
    assert heads == ["greedy", "even", "today"]


def test_saved_matrix_has_its_numbers(open_page: Open) -> None:
    page = open_page(sample_page())
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as CSV: Replicas moved, even").click()
    rows = list(csv.reader(io.StringIO(download.value.path().read_text(encoding="utf-8"))))
    assert rows == [
        ["from \\ to broker (replicas)", "3", "4"], ["1", "0", "1"], ["2", "0", "1"], ["3", "0", "1"], ["9", "1", "0"],
    ]  # fmt: skip


def test_figures_and_tables_do_not_need_scripts(open_page: Open) -> None:
    page = open_page(sample_page(), scripts=False)
    expect(page.locator("table.comparison")).to_be_visible()
    expect(page.locator("figure .wide svg >> nth=0")).to_be_visible()
    expect(page.get_by_text("Click a row name")).to_be_hidden()


def test_print_is_light_and_has_no_controls(open_page: Open) -> None:
    page = open_page(sample_page(), scheme="dark")
    page.emulate_media(media="print")
    expect(page.locator(".csv >> nth=0")).to_be_hidden()
    expect(page.locator("table.matrix >> nth=0")).to_be_visible()
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(32, 36, 43)"
    assert page.pdf(format="A4").startswith(b"%PDF")
