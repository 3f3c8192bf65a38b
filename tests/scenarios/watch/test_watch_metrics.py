"""Metrics follow the conventions of Prometheus, and the dashboard uses metrics that exist."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib.resources import files
from typing import Any

import pytest

from scenarios.kafka.observation.observation import GroupPhase, GroupSnapshot
from scenarios.watch.monitor import GroupMonitor
from scenarios.watch.watch_events import ALARMS, EventKind
from scenarios.watch.watch_metrics import METRICS, WatchMetric, WatchStatus
from tests.scenarios.watch.watched_groups import recorded_consumers, recorded_group

DASHBOARD: dict[str, Any] = json.loads((files("scenarios") / "watch" / "dashboard.json").read_text(encoding="utf-8"))
BY_NAME = {metric.full_name: metric for metric in METRICS}
UNITS = {"none", "short", "s"}
"""Ids of units in Grafana."""


def status(snapshot: GroupSnapshot | None = None, **changes: Any) -> WatchStatus:
    monitor = GroupMonitor("shop")
    if snapshot is not None:
        monitor.observe(snapshot, recorded_group()[0])
    return replace(WatchStatus("shop", monitor.status, False, 1_500, 2, 1, 0.25), **changes)


def values(metric: str, of: WatchStatus) -> dict[tuple[str, ...], float]:
    return dict(BY_NAME[f"assignor_sim_watch_{metric}"].values(of))


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_metric_follows_the_conventions_of_prometheus(metric: WatchMetric) -> None:
    assert re.fullmatch(r"[a-z][a-z_]*[a-z]", metric.full_name)
    assert metric.name.endswith("_total") == (metric.kind == "counter")
    assert ("_seconds" in metric.name) == metric.unit.startswith("seconds")
    assert "timestamp" not in metric.name or metric.unit == "seconds since 1970"
    assert not re.search(r"_(ms|min|mb|percent)\b|_ms_", metric.name)
    assert metric.help.endswith(".")
    for of in (status(), status(recorded_group()[1])):
        assert all(len(labels) == len(metric.labels) for labels, _ in metric.values(of))


def test_number_of_series_does_not_depend_on_the_application() -> None:
    of = status(recorded_group()[1])
    assert sum(len(dict(metric.values(of))) for metric in METRICS) <= 60
    known = {*map(str, ALARMS), *map(str, GroupPhase), "active", "standby", "unassigned"}
    known |= {"matched", "differs", "unknown"}
    assert {label for metric in METRICS for labels, _ in metric.values(of) for label in labels} <= known


def test_values_are_those_of_the_group() -> None:
    snapshot = recorded_group()[1]
    of = status(snapshot)
    assert values("members", of) == {(): 6}
    assert values("processes", of) == {(): 3}
    assert values("tasks", of) == {("active",): 16, ("standby",): 7, ("unassigned",): 0}
    assert values("predictions_total", of) == {("matched",): 1, ("differs",): 0, ("unknown",): 0}
    assert values("group_phase", of)[("stable",)] == 1
    assert sum(values("group_phase", of).values()) == 1
    assert values("last_poll_timestamp_seconds", of) == {(): 1.5}
    assert values("up", of) == {(): 1}
    assert values("up", status(is_unreachable=True)) == {(): 0}
    assert values("alarm_active", status(is_unreachable=True))[(str(EventKind.UNREACHABLE),)] == 1


def test_unknown_values_are_missing() -> None:
    of = status(last_poll_ms=None, polls=0)
    missing = {metric.name for metric in METRICS if not dict(metric.values(of))}
    assert {"last_poll_timestamp_seconds", "members", "tasks", "group_phase", "source_lag_records"} <= missing
    assert {"up", "polls_total", "alarm_active"}.isdisjoint(missing)
    scheduled = replace(recorded_group()[1], next_rebalance_at_ms=9_000)
    assert values("next_rebalance_timestamp_seconds", status(scheduled)) == {(): 9.0}
    assert values("next_rebalance_timestamp_seconds", status(replace(scheduled, next_rebalance_at_ms=0))) == {}


@pytest.mark.parametrize("group", ["billing", "audit"])
def test_figures_of_kafka_streams_are_missing_for_consumers(group: str) -> None:
    """Missing, not 0: a consumer group has no warm-ups, standbys and scheduled rebalances."""
    watched, snapshot = recorded_consumers(group)
    monitor = GroupMonitor(group)
    monitor.observe(snapshot, watched)
    of = WatchStatus(group, monitor.status, False, 1_500, 2, 1, 0.25)
    missing = {metric.name for metric in METRICS if not dict(metric.values(of))}
    assert missing == {metric.name for metric in METRICS if metric.streams_only} | {"source_lag_records"}
    assert {"warmups", "warmup_lag_records_max", "next_rebalance_timestamp_seconds", "processes"} <= missing
    assert values("tasks", of) == {("active",): 17, ("unassigned",): 0}
    assert values("members", of) == {(): 4}
    alarms = {label for (label,) in values("alarm_active", of)}
    assert alarms == {*map(str, ALARMS)} - {"probing_stuck", "followup_overdue", "assignment_error"}


def test_kind_of_a_group_is_kept_while_it_rebalances() -> None:
    watched, snapshot = recorded_consumers("billing")
    monitor = GroupMonitor("billing")
    unknown = replace(snapshot, kind=None, phase=GroupPhase.REBALANCING, members=())
    for poll, is_known in ((unknown, False), (snapshot, True), (unknown, True)):
        monitor.observe(poll, watched if poll is snapshot else None)
        assert (monitor.status.kind is not None) == is_known
        of = WatchStatus("billing", monitor.status, False, 1_500, 2, 1, 0.25)
        assert values("warmups", of) == {}


def expressions() -> list[str]:
    return [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]


def test_dashboard_uses_every_metric_and_no_other() -> None:
    used = {name for text in expressions() for name in re.findall(r"assignor_sim_watch_\w+", text)}
    assert used == set(BY_NAME)


def test_counters_are_shown_as_rates() -> None:
    for text in expressions():
        for name in re.findall(r"assignor_sim_watch_\w+", text):
            assert (re.search(r"\b(rate|increase)\(", text) is not None) == (BY_NAME[name].kind == "counter")


def test_labels_of_the_dashboard_exist() -> None:
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            names = re.findall(r"assignor_sim_watch_\w+", target["expr"])
            known = {"group", *(label for name in names for label in BY_NAME[name].labels)}
            assert set(re.findall(r"{{(\w+)}}", target["legendFormat"])) <= known
            assert set(re.findall(r"(\w+)=~", target["expr"])) == {"group"}


def test_every_panel_is_complete() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert len({panel["title"] for panel in panels}) == len(panels)
    for panel in panels:
        assert panel["type"] in {"stat", "timeseries", "state-timeline"}
        assert panel["title"]
        assert panel["description"].endswith(".")
        assert panel["fieldConfig"]["defaults"]["unit"] in UNITS
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        assert [target["refId"] for target in panel["targets"]] == ["A", "B"][: len(panel["targets"])]


def test_panels_do_not_overlap() -> None:
    cells: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        own = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert place["x"] + place["w"] <= 24
        assert not own & cells
        cells |= own


def test_dashboard_is_one_that_grafana_imports() -> None:
    """Required by the schema of Grafana's dashboards: title, schema version, and variables of known types."""
    assert DASHBOARD["title"]
    assert DASHBOARD["uid"] == "assignor-sim-watch"
    assert "id" not in DASHBOARD
    assert isinstance(DASHBOARD["schemaVersion"], int)
    variables = {variable["name"]: variable["type"] for variable in DASHBOARD["templating"]["list"]}
    assert variables == {"datasource": "datasource", "group": "query"}
    assert DASHBOARD["time"] == {"from": "now-6h", "to": "now"}
