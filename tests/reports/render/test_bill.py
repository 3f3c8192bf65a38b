"""The report of a bill, in terminals and as a page."""

from __future__ import annotations

import html
import re
from dataclasses import replace

import pytest

from reports.analysis.bill.cost_report import BillCheck
from reports.analysis.bill.monthly_bill import MonthlyBill, Transfers
from reports.analysis.formatting import format_percent, format_usd
from reports.render.bill import bill_report, saving_rows, shortened_rows
from reports.render.report_formats import report_page, report_text
from tests.reports.sample_bills import sample_bill, sample_check
from tests.reports.sample_runs import HOSTILE


def page(bill: MonthlyBill, check: BillCheck | None = None) -> str:
    return report_page(bill_report(bill, check))


def draw(bill: MonthlyBill, check: BillCheck | None = None) -> str:
    return report_text(bill_report(bill, check), 200, color=False)


def text_of(rendered: str) -> str:
    """Return the text of a page, without scripts, styles and tags."""
    bare = re.sub(r"<(script|style)\b.*?</\1>", "", rendered, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]*>", " ", bare))


def test_page_and_terminal_have_the_same_figures() -> None:
    bill = sample_bill()
    check = sample_check(bill)
    shown, drawn = text_of(page(bill, check)), draw(bill, check)
    amounts = set(re.findall(r"\$[\d,]+(?:\.\d+)?", drawn))
    assert len(amounts) > 20
    assert {amount for amount in amounts if amount not in shown} == set()


def test_matrix_has_the_cost_and_price_of_each_pair() -> None:
    bill = sample_bill()
    table = re.search(r'<table class="matrix".*?</table>', page(bill), re.DOTALL)
    assert table is not None
    values = [float(value) for value in re.findall(r'data-v="([^"]+)"', table[0])]
    costs = {(pair.from_rack, pair.to_rack): pair.transfers.usd for pair in bill.pairs}
    zones = ("az1", "az2", "az3")
    expected = [
        [*(costs.get((source, target), 0.0) for target in zones), sum(costs.get((source, to), 0.0) for to in zones)]
        for source in zones
    ]
    sums = [sum(row[column] for row in expected) for column in range(4)]
    assert values == pytest.approx([cell for row in (*expected, sums) for cell in row])
    assert sums[3] == pytest.approx(bill.total.usd)
    assert table[0].count("$0.05/GB") == 1
    assert table[0].count("$0.02/GB") == 5


def test_answer_names_the_largest_parts_and_the_best_change() -> None:
    bill = sample_bill()
    shown = re.sub(r"\s+", " ", text_of(page(bill, sample_check(bill))))
    assert "Largest part other groups' reads:" in shown
    assert (
        f"Saves most Best compression: {format_usd(bill.total.usd * 3 / 4)} less (75 %). Set compression.type" in shown
    )
    assert "Cost report Outside the tolerance of 10 %" in shown
    assert "Not simulated: rack-aware producing (KIP-1123): all records have keys." in shown


def test_shares_are_those_of_the_cost() -> None:
    bill = sample_bill()
    first = bill.pairs[0]
    share = format_percent(100 * first.transfers.usd / bill.total.usd)
    assert share != format_percent(100 * first.transfers.bytes / bill.total.bytes)
    line = next(line for line in draw(bill).splitlines() if "($0.05/GB)" in line)
    assert line.endswith(share)
    free = replace(bill, price=replace(bill.price, usd_per_gb=0.0, received_usd_per_gb=0.0, pairs={}))
    line = next(line for line in draw(free).splitlines() if "az1 → az2" in line)
    assert line.endswith(format_percent(100 * first.transfers.bytes / bill.total.bytes))


def test_others_than_the_most_expensive_rows_are_one() -> None:
    rows = [("far", Transfers(1.0, 9.0)), ("near", Transfers(8.0, 1.0)), ("next", Transfers(2.0, 2.0))]
    assert shortened_rows(rows, 2) == [rows[0], ("2 others", Transfers(10.0, 3.0))]


def test_change_of_a_free_bill_has_no_share() -> None:
    bill = sample_bill()
    free = replace(bill, price=replace(bill.price, usd_per_gb=0.0, received_usd_per_gb=0.0, pairs={}))
    after = format_usd(bill.total.usd / 2)
    assert next(saving_rows(free))[1:4] == (f"−{after}", "", after)
    assert f"−{after}" in draw(free)
    assert f"−{after}" in text_of(page(free))


def test_many_zones_are_a_table() -> None:
    rendered = page(sample_bill([f"az{n}" for n in range(14)]))
    assert 'class="matrix"' not in rendered
    assert "az3 → az4" in text_of(rendered)


def test_bill_without_traffic_has_no_empty_tables() -> None:
    bill = sample_bill()
    empty = type(bill)("orders", "ha", 30, 86_400_000, bill.price, (), (), 0.0)
    shown = page(empty)
    assert "$0 for 0 B between zones in 30 days." in text_of(shown)
    assert "1 TB from or to unknown zones" not in text_of(shown)
    assert "<table" not in shown


def test_bill_names_the_traffic_that_it_lacks() -> None:
    bill = replace(sample_bill(), unbilled=("audit", "search"))
    for shown in (text_of(page(bill)), " ".join(draw(bill).split())):
        assert "between zones in 30 days; 1 TB from or to unknown zones are not billed" in shown
        assert "Alongside, and not part of the bill: audit and search. State their traffic" in shown
    assert bill.record()["unbilled_groups"] == ["audit", "search"]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_never_markup(name: str) -> None:
    bill = sample_bill(zones=(name, "az2", f"{name}3"), name=name, user=name)
    rendered = page(bill, sample_check(bill, source=name))
    body = rendered[rendered.index("<body>") :]
    assert body.count("<script") == page(sample_bill()).count("<script")
    assert "<img" not in body
    assert rendered == page(bill, sample_check(bill, source=name))
