"""The section of autoscalers in Chromium: widths, themes, tables, CSV and print."""

from __future__ import annotations

from functools import cache

import pytest
from playwright.sync_api import expect

from reports.render.page import page as report_page
from tests.browser.conftest import Open
from tests.browser.test_page import drawn_share, saved_csv
from tests.reports.sample_runs import HOSTILE, MANIFEST
from tests.reports.sample_scaling import scaled_runs

pytestmark = pytest.mark.browser


@cache
def scaled_page() -> str:
    return report_page(scaled_runs(), MANIFEST)


@cache
def hostile_page() -> str:
    return report_page(scaled_runs(workload=HOSTILE[0], labels=(HOSTILE[1], "x" * 80)), MANIFEST)


@pytest.mark.parametrize("width", [360, 400, 1280])
@pytest.mark.parametrize("make", [scaled_page, hostile_page])
def test_page_fits_its_width_with_all_tables_open(open_page: Open, width: int, make: type[str]) -> None:
    page = open_page(make(), width)
    page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280])
def test_figures_are_drawn_legibly(open_page: Open, width: int, scheme: str) -> None:
    page = open_page(scaled_page(), width, scheme)
    section = page.locator("section:has(#scaling)")
    visible = [figure for figure in section.locator("figure svg").all() if figure.is_visible()]
    assert len(visible) == 2
    for figure in visible:
        box = figure.bounding_box()
        assert box is not None
        assert box["width"] <= width
        assert box["height"] > 200
        assert 0.01 < drawn_share(figure.screenshot()) < 0.6
        assert "Tables hold the numbers" in (figure.get_attribute("aria-label") or "")


def test_tables_have_the_decisions(open_page: Open) -> None:
    page = open_page(scaled_page())
    page.get_by_text("Every change of the number of pods: 8").click()
    rows = saved_csv(page, "scaling-1-changes")
    assert rows[0][0] == "Time (ms)"
    assert rows[1][1:] == ["4", "9000", "2000", "9", "2", "limited by the scaling policies", "2"]
    assert len(rows) == 9
    reasons = page.locator("table[data-csv='scaling-1-reasons'] tbody tr")
    expect(reasons).to_contain_text(["lag", "limited by the maximum of replicas"])


def test_print_has_figure_and_reasons(open_page: Open) -> None:
    page = open_page(scaled_page(), scheme="dark")
    page.emulate_media(media="print")
    expect(page.locator("table[data-csv='scaling-1-reasons']")).to_be_visible()
    expect(page.locator("section:has(#scaling) figure .wide svg").first).to_be_visible()
    expect(page.get_by_text("Every change of the number of pods: 8")).to_be_hidden()
