"""A checkup of a small application that recommends standbys."""

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
