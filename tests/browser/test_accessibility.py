"""Accessibility of the pages: axe-core finds no violation of WCAG 2.2 AA in Chromium, and the keyboard reaches all."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from reports.render.bill import bill_report
from reports.render.page import page as page_of_results
from reports.render.report_formats import report_page
from tests.browser.conftest import Open
from tests.browser.test_page import comparison_page, hostile_page, panel, sample_page
from tests.browser.test_scaling import scaled_page
from tests.reports.sample_bills import sample_bill, sample_check
from tests.reports.sample_sweep import sweep

pytestmark = pytest.mark.browser

AXE = Path("tests/javascript/node_modules/axe-core/axe.min.js")
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
OPEN_ALL = "document.querySelectorAll('details').forEach((details) => { details.open = true; })"


@pytest.fixture(scope="module")
def axe() -> str:
    """Return the script of axe-core."""
    if not AXE.exists():
        if os.environ.get("CI"):
            pytest.fail("axe-core is missing; run make javascript")
        pytest.skip("axe-core is missing; run make javascript")
    return AXE.read_text(encoding="utf-8")


@cache
def sweep_page() -> str:
    return page_of_results(None, sweeps=[sweep()])


@cache
def bill_page() -> str:
    bill = sample_bill()
    return report_page(bill_report(bill, sample_check(bill)))


def violations(page: Page, axe: str) -> list[str]:
    """Return the violations that axe-core finds, with the elements."""
    page.evaluate(f"() => {{ {axe} }}")
    result: dict[str, Any] = page.evaluate(f"axe.run(document, {json.dumps(RULES)})")
    assert len(result["passes"]) > 15
    return [
        f"{violation['id']} ({violation['help']}): {node['html'][:160]} {node['failureSummary'][:200]}"
        for violation in result["violations"]
        for node in violation["nodes"]
    ]


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), pytest.param(1440, "dark", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "make",
    [
        sample_page,
        *(pytest.param(make, marks=pytest.mark.slow) for make in (comparison_page, hostile_page)),
        sweep_page,
        scaled_page,
        bill_page,
    ],
)
@pytest.mark.parametrize("opened", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["opened", "closed"])
def test_axe_finds_no_violation(
    open_page: Open, axe: str, make: Callable[[], str], width: int, scheme: str, opened: bool
) -> None:
    page = open_page(make(), width, scheme)
    if opened:
        open_everything(page)
    assert violations(page, axe) == []


def open_everything(page: Page) -> None:
    page.evaluate(OPEN_ALL)
    for box in page.locator(".show-equal").all():
        box.check()
    if panel(page, 1).locator(".chip").count():
        panel(page, 1).locator(".chip").first.click()
    if page.locator(".sweep-picture .mark").count():
        page.locator(".sweep-picture .mark").first.click()


def test_axe_finds_a_violation_that_is_added(open_page: Open, axe: str) -> None:
    page = open_page(bill_page())
    page.evaluate("document.querySelector('main p').style.color = '#bbb'")
    assert any(text.startswith("color-contrast") for text in violations(page, axe))


def test_keyboard_reaches_every_control_in_order(open_page: Open) -> None:
    page = open_page(comparison_page())
    reached: list[str] = []
    for _ in range(400):
        page.keyboard.press("Tab")
        tag = page.evaluate(
            "document.activeElement === document.body ? '' : document.activeElement.outerHTML.slice(0, 90)"
        )
        if not tag:
            break
        reached.append(tag)
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none", tag
    assert len(reached) > 40
    tops = page.evaluate("[...document.querySelectorAll('section')].map((part) => part.getBoundingClientRect().top)")
    assert tops == sorted(tops)


def test_equal_metrics_can_be_shown_with_the_keyboard(open_page: Open) -> None:
    page = open_page(comparison_page())
    hidden = page.locator("table.comparison tr.equal")
    assert hidden.count() > 3
    expect(hidden.first).to_be_hidden()
    page.locator(".show-equal").focus()
    page.keyboard.press("Space")
    expect(hidden.first).to_be_visible()


def test_disruption_of_the_trade_off_can_be_chosen(open_page: Open) -> None:
    page = open_page(comparison_page())
    figures = page.locator(".trade-off figure")
    assert [figure.is_visible() for figure in figures.all()] == [True, False, False, False, False]
    page.get_by_label("Disruption").select_option("Restored state")
    assert [figure.is_visible() for figure in figures.all()] == [False, False, False, False, True]
