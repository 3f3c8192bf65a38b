"""The report of a checkup says the same in every format, and leaves its figures to the page."""

from __future__ import annotations

from dataclasses import replace

from reports.analysis.checkup.areas import STREAMS_AREAS
from reports.analysis.checkup.report import (
    CheckupFinding,
    CheckupReport,
    GradedArea,
    ReportCard,
    Rollout,
    SituationFigures,
)
from reports.analysis.recommendation import MetricChange, SettingChange
from reports.render.checkup import checkup_report, first_card
from reports.render.report_formats import report_csv, report_markdown, report_page, report_text


def card(setting: str, grade: str | None, value: float | None) -> ReportCard:
    areas = (GradedArea(area, grade, value, value, None if value is None else "deploy") for area in STREAMS_AREAS)
    return ReportCard(setting, 8, tuple(areas))


METRICS = ("restored_bytes", "active_moves", "standby_moves", "downtime_ms", "worst_downtime_ms")
WORSE = tuple(
    MetricChange(name, 8, 1e6, None, 2e6 - number, None, 1e6 - number, (1e5, 2e6))
    for number, name in enumerate(METRICS)
)
CHECKUP = CheckupReport(
    subject="application",
    application="shop",
    scenario="shop",
    size="12 tasks, 3 clients",
    facts={},
    verdict="recommended",
    today=card("current", "D", STREAMS_AREAS[0].limits[-1]),
    recommended=card("num.standby.replicas=1", "A", 0.0),
    changes=(
        SettingChange("num.standby.replicas", "0", "1", ("needs disk",)),
        SettingChange("rack.aware.assignment.tags", None, "zone"),
        SettingChange("replica.selector.class", None, "RackAware", is_property=False),
    ),
    gains=(MetricChange(STREAMS_AREAS[0].key, 8, 60_000.0, None, 0.0, None, -60_000.0, (-70_000.0, -50_000.0)),),
    situations=(SituationFigures("deploy", "Rolling bounce", WORSE),),
    findings=(CheckupFinding("deploy", "Deployments stop tasks", "worst task 60 s", "num.standby.replicas=1"),),
    rollout=Rollout("Simulated from today.", ("Restart one by one.",), ("Watch the lag.",), {}, {}),
    cards=(card("num.standby.replicas=1", "A", 0.0), replace(card("x", "B", 1.0), is_partial=True)),
    left_out=(("A broker fails", "there is only one"),),
    remarks=("Broker 1's rack is <b>unknown</b>.",),
    notes=("Disks were assumed.",),
    seeds=8,
    runs=1_234,
)
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
