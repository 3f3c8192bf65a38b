"""The page of a bill in Chromium: widths, themes, CSV and print."""

from __future__ import annotations

import csv
import io
from functools import cache

import pytest

from reports.render.bill import bill_report
from reports.render.report_formats import report_page
from tests.browser.conftest import Open
from tests.reports.sample_bills import sample_bill, sample_check
from tests.reports.sample_runs import HOSTILE

pytestmark = pytest.mark.browser


@cache
def sample_page() -> str:
    bill = sample_bill()
    return report_page(bill_report(bill, sample_check(bill)))


@cache
def hostile_page() -> str:
    zones = tuple(f"{name[:40]}{number}" for number, name in enumerate(HOSTILE[:6]))
    bill = sample_bill(zones, name=HOSTILE[9], user=HOSTILE[9])
    return report_page(bill_report(bill, sample_check(bill, source=HOSTILE[9])))


@pytest.mark.parametrize("width", [360, 768, 1440])
@pytest.mark.parametrize("make", [sample_page, hostile_page])
def test_page_fits_its_width(open_page: Open, width: int, make: type[str]) -> None:
    page = open_page(make(), width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_costs_fit_a_phone_without_scrolling(open_page: Open) -> None:
    page = open_page(sample_page(), 390)
    for name in (
        "Traffic between zones (table)",
        "Other producers and groups (table)",
        "Compared with the cost report (table)",
        "What would save (each simulated) (table)",
    ):
        region = page.get_by_role("region", name=name)
        assert region.evaluate("part => part.scrollWidth <= part.clientWidth"), name


def test_saved_matrix_has_its_numbers(open_page: Open) -> None:
    page = open_page(sample_page())
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as CSV: From zone to zone (table)").click()
    rows = list(csv.reader(io.StringIO(download.value.path().read_text(encoding="utf-8"))))
    assert rows[0] == ["from \\ to (US dollars)", "az1", "az2", "az3", "all"]
    bill = sample_bill()
    assert float(rows[-1][-1]) == pytest.approx(bill.total.usd)


def test_saved_days_are_numbers(open_page: Open) -> None:
    page = open_page(sample_page())
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as CSV: Compared with the cost report (table)").click()
    rows = list(csv.reader(io.StringIO(download.value.path().read_text(encoding="utf-8"))))
    assert rows[0] == ["Day (UTC)", "Billed (US dollars)", "Predicted (US dollars)", "Difference (%)"]
    check = sample_check(sample_bill())
    assert [float(row[1]) for row in rows[1:-1]] == pytest.approx([day.usd for day in check.report.days])
    assert float(rows[-1][2]) == pytest.approx(check.predicted_total.usd)
    assert [float(row[3]) for row in rows[1:]] == pytest.approx([5, 5, 110, 40])


def test_print_shows_all_tables_within_the_paper(open_page: Open) -> None:
    page = open_page(sample_page(), 718)
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") <= 718
    assert not page.locator("nav").is_visible()
    tables = page.locator("table").all()
    assert len(tables) == 5
    for table in tables:
        box = table.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= 718
