"""Reports in every format have the same cells, and names from scenarios are text in all of them."""

from __future__ import annotations

import csv
import io
import re

import pytest

from reports.analysis.cells import Cell
from reports.document import Facts, Paragraph, Points, Report, ReportColumn, ReportSection, ReportTable
from reports.render.report_formats import report_csv, report_markdown, report_page, report_text
from tests.reports.render.test_page import parse
from tests.reports.sample_runs import HOSTILE


def sample_report(name: str = "az1") -> Report:
    columns = [
        ReportColumn("zone", "Zone"),
        ReportColumn("bytes", "Bytes", is_number=True, unit="B"),
        ReportColumn("share", "Share", is_number=True, only=("terminal", "markdown", "page")),
    ]
    rows = [[Cell(name, ("a note",)), Cell("1.5 kB", value=1_500), "75 %"], ["-1", Cell("500 B", value=500), "25 %"]]
    table = ReportTable("zones", columns, rows, ["Total", Cell("2 kB", value=2_000), ""])
    sections = [
        ReportSection("answer", "Answer", [Paragraph(f"{name} sends most.", "conclusion")], leads=True),
        ReportSection("zones", "Traffic of zones", [table], has_heading=False),
        ReportSection("facts", "Facts", [Facts([("Largest", name)]), Paragraph("within 5 %.", "good", "Equal: ")]),
        ReportSection("empty", "Without rows", [ReportTable("none", columns, [])]),
        ReportSection("steps", "Steps", [Points([f"Restart {name}.", "Wait 10 s."]), Paragraph("Why.", "note")]),
        ReportSection("screen", "Page only", [Paragraph("Only here.", only=("page",))]),
    ]
    return Report(name, sections, max_width=80)


def test_text_has_titles_above_tables_and_no_empty_section() -> None:
    assert report_text(sample_report(), 200, color=False) == (
        "az1\naz1 sends most.\n\n"
        "Traffic of zones    Bytes   Share\n"
        "─────────────────────────────────\n"
        "az1                1.5 kB    75 %\n"
        "-1                  500 B    25 %\n"
        "Total                2 kB\n\n"
        "Facts\nLargest: az1\n\nEqual: within 5 %.\n\n"
        "Steps\n– Restart az1.\n– Wait 10 s.\n\nWhy.\n"
    )


def test_markdown_has_the_same_content() -> None:
    assert report_markdown(sample_report()) == (
        "## az1\n\naz1 sends most\\.\n\n"
        "### Traffic of zones\n\n"
        "| Zone | Bytes | Share |\n| --- | ---: | ---: |\n| az1 | 1\\.5 kB | 75 % |\n| \\-1 | 500 B | 25 % |\n"
        "| Total | 2 kB |  |\n\n"
        "### Facts\n\n- **Largest:** az1\n\n**Equal\\:** within 5 %\\.\n\n"
        "### Steps\n\n- Restart az1\\.\n- Wait 10 s\\.\n\nWhy\\.\n"
    )


def test_csv_has_the_values_of_the_first_table() -> None:
    assert report_csv(sample_report()) == "zone,bytes\naz1,1500\n-1,500\n"
    assert report_csv(sample_report("=1+1")).splitlines()[1] == "'=1+1,1500"


def test_page_has_values_for_its_csv_files_and_links_to_its_sections_only() -> None:
    page = report_page(sample_report())
    assert re.findall(r'<a href="#(\w+)">', page) == ["zones", "facts", "steps", "screen"]
    assert re.findall(r'<td data-v="(\d+)">', page) == ["1500", "500", "2000"]
    assert 'data-name="Bytes (B)"' in page
    assert '<p><strong class="within">Equal: </strong>' in page


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_text_in_every_format(name: str) -> None:
    report = sample_report(name)
    page = report_page(report)
    parse(page)
    body = page[page.index("<body>") :]
    assert body.count("<script") == report_page(sample_report()).count("<script")
    assert not {"\x1b", "\0", "\u202e"} & set(body + report_text(report, 80, color=False) + report_markdown(report))
    assert "<script>alert" not in report_markdown(report)
    rows = list(csv.reader(io.StringIO(report_csv(report))))
    assert [len(row) for row in rows] == [2, 2, 2]
