"""The report of a checkup says the same in every format, and leaves its figures to the page."""

from __future__ import annotations

from dataclasses import replace

from reports.analysis.checkup.areas import STREAMS_AREAS
from reports.render.checkup import checkup_report, first_card
from reports.render.report_formats import report_csv, report_markdown, report_page, report_text
from tests.reports.sample_checkup import CHECKUP, card

SENTENCES = (
    "Deployments stop tasks (worst task 60 s). Helps: num.standby.replicas=1.",
    "-num.standby.replicas=0",
    "+num.standby.replicas=1",
    "#   needs disk",
    "# replica.selector.class: RackAware",
    "Restored state: 1 MB → 2 MB (rolling bounce)",
    "Simulated from today.",
    "Restart one by one.",
    "Watch the lag.",
    "Left out: a broker fails (there is only one).",
)


def test_all_formats_say_the_same() -> None:
    report = checkup_report(CHECKUP)
    text, markdown, page = report_text(report, 80), report_markdown(report).replace("\\", ""), report_page(report)
    for sentence in SENTENCES:
        assert " ".join(sentence.split()) in " ".join(text.split())
        assert sentence in markdown
        assert sentence in page.replace("</bdi>", "").replace('<bdi dir="auto">', "")
    assert max(map(len, text.splitlines())) <= 80
    assert "1 more (--out DIR, --format json)" in text
    assert "```diff\n-num.standby.replicas=0\n+num" in markdown
    assert "Disks were assumed." in page
    assert "<b>unknown" not in page + markdown


def test_pages_have_a_section_for_each_table() -> None:
    page = report_page(checkup_report(CHECKUP))
    assert [title in page for title in ("Gain", "Situations", "Settings that were tried", "x (screened)")] == [True] * 4
    kept = report_page(checkup_report(replace(CHECKUP, recommended=None, changes=(), gains=(), rollout=None)))
    assert "Keep the current setting" in kept
    assert "<h2>Gain" not in kept
    assert "95 % CI" not in kept


def test_csv_has_the_grades_of_both_settings() -> None:
    rows = report_csv(checkup_report(CHECKUP)).splitlines()
    assert rows[0] == "setting,area,grade,value,worst,situation"
    assert len(rows) == 1 + 2 * len(STREAMS_AREAS)
    assert rows[-1].endswith(",A,0.0,0.0,deploy")


def test_unknown_grades_say_why() -> None:
    text = report_text(first_card(card("current", None, None)), 80)
    assert text.startswith("First answer, 8 seeds\n")
    report = checkup_report(replace(CHECKUP, today=card("current", None, None), recommended=None))
    assert f"{STREAMS_AREAS[0].title} is not graded" in report_text(report, 200)
