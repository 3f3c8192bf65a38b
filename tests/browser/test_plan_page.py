"""The section of a plan folder in Chromium: widths, themes, sorting, CSV and paper."""

from __future__ import annotations

import csv
import io
from functools import cache

import pytest
from playwright.sync_api import expect

from reports.render.page import page
from tests.browser.conftest import Open
from tests.browser.test_page import share_of_ink
from tests.reports.sample_plans import NAMES, results
from tests.reports.sample_runs import HOSTILE


@cache
def ordinary() -> str:
    return page(None, plans=[results()])


@cache
def many() -> str:
    spread = {f"plan {n}": [(10 + n + m, 20 + n + m) for m in range(6)] for n in range(6)}
    return page(None, plans=[results((HOSTILE[9], *NAMES[1:]), plans=spread, extra=40)])


@pytest.mark.parametrize("width", [360, 768, 1440])
@pytest.mark.parametrize("make", [ordinary, many])
def test_nothing_sticks_out_at_any_width(open_page: Open, width: int, make: type[str]) -> None:
    shown = open_page(make(), width)
    for details in shown.locator("details").all():
        details.evaluate("each => each.open = true")
    assert shown.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_every_part_is_drawn_and_none_is_a_smear(open_page: Open, width: int, scheme: str) -> None:
    shown = open_page(ordinary(), width, scheme)
    visible = [figure for figure in shown.locator("figure").all() if figure.is_visible()]
    assert len(visible) == 6
    for part in (*visible, shown.locator("table.comparison"), shown.locator("table.matrix >> nth=0")):
        assert 0.005 < share_of_ink(part.screenshot()) < 0.6


def test_a_click_on_a_row_sorts_the_plans_by_it(open_page: Open) -> None:
    shown = open_page(ordinary())
    shown.get_by_role("button", name="Replicas moved", exact=True).click()
    heads = shown.locator("table.comparison thead th bdi").all_inner_texts()
    assert heads == ["greedy", "even", "today"]


def test_a_matrix_is_saved_with_its_numbers(open_page: Open) -> None:
    shown = open_page(ordinary())
    with shown.expect_download() as waiting:
        shown.get_by_role("button", name="Save as CSV: Replicas moved, even").click()
    rows = list(csv.reader(io.StringIO(waiting.value.path().read_text(encoding="utf-8"))))
    assert rows == [
        ["from \\ to broker (replicas)", "3", "4"], ["1", "0", "1"], ["2", "0", "1"], ["3", "0", "1"], ["9", "1", "0"],
    ]  # fmt: skip


def test_without_scripts_figures_and_tables_are_still_there(open_page: Open) -> None:
    shown = open_page(ordinary(), scripts=False)
    expect(shown.locator("table.comparison")).to_be_visible()
    expect(shown.locator("figure .wide svg >> nth=0")).to_be_visible()
    expect(shown.get_by_text("Click a row name")).to_be_hidden()


def test_paper_is_light_and_has_the_matrices_without_controls(open_page: Open) -> None:
    shown = open_page(ordinary(), scheme="dark")
    shown.emulate_media(media="print")
    expect(shown.locator(".csv >> nth=0")).to_be_hidden()
    expect(shown.locator("table.matrix >> nth=0")).to_be_visible()
    assert shown.evaluate("getComputedStyle(document.body).color") == "rgb(32, 36, 43)"
    assert shown.pdf(format="A4").startswith(b"%PDF")
