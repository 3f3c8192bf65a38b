"""Every claim of a conclusion is true in the table with which it is printed, and every next step can matter."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest
import yaml

import assignor_sim as sim
from reports.analysis.comparison import ComparisonRow, compare_runs
from reports.analysis.conclusion import Conclusion, conclude
from reports.analysis.metrics import METRIC
from reports.analysis.restart_steps import NextStep
from reports.render.terminal.comparison import COLUMNS, render

pytestmark = pytest.mark.answers

SCENARIOS = 8


def random_scenario(seed: int) -> dict[str, Any]:
    """Return a small scenario with one to three racks, with or without rack ids, standbys, events and tags."""
    draw = random.Random(seed)
    racks = [f"az{number}" for number in range(1, draw.choice((1, 2, 3)) + 1)]
    client_racks = draw.choice((racks, racks[:1], []))
    clients = {"name": "app", "count": draw.choice((1, 2, 3)), "threads": draw.choice((1, 2)), "restore": "40 MB/s"}
    late = {"name": "late", "count": 1, "threads": 2, "restore": "40 MB/s", "starts": False}
    strategy = draw.choice(("none", "min_traffic"))
    second: dict[str, Any] = {"label": "other", "assignor": draw.choice(("high_availability", "legacy_sticky"))}
    second["configs"] = {"rack.aware.assignment.strategy": strategy if client_racks else "none"}
    if draw.random() < 0.4:
        second["configs"]["max.warmup.replicas"] = 10
    scenario: dict[str, Any] = {
        "name": f"random-{seed}",
        "cluster": {
            "brokers": {"count": 2 * len(racks), "racks": racks},
            "topics": [
                {
                    "name": "orders",
                    "partitions": draw.choice((4, 9)),
                    "replication_factor": draw.choice((1, 2)),
                    "bytes_per_s": "4 MB/s",
                    "size": "8 GB",
                }
            ],
        },
        "application": {
            "id": "shop",
            "configs": {"num.standby.replicas": draw.choice((0, 1))},
            "subtopologies": [{"sources": ["orders"], "stores": [{"name": "totals", "size": "6 GB"}]}],
        },
        "clients": [clients, late],
        "assignors": [{"label": "first", "assignor": "high_availability"}, second],
        "duration": "3h",
        "seeds": draw.choice(([1], [1, 2])),
    }
    for group in scenario["clients"] if client_racks else ():
        group["racks"] = client_racks
    if draw.random() < 0.7:
        scenario["events"] = [{"at": "30m", "scale_out": {"clients": "late"}}]
    return scenario


@pytest.mark.parametrize("seed", range(SCENARIOS))
def test_conclusion_and_table_agree(seed: int) -> None:
    scenario = random_scenario(seed)
    result = sim.run(sim.loads(yaml.safe_dump(scenario)), explain=False, ranges=False)
    [conclusion] = conclude(result.tables, [result.manifest])
    check_claims(conclusion, compare_runs(result.tables), render(result.tables, "markdown"))
    for step in conclusion.next_steps:
        check_step(step, scenario)


def check_claims(conclusion: Conclusion, rows: list[ComparisonRow], table: str) -> None:
    """Check each sentence on the cells of the printed table, the best of which are bold."""
    header, _, *lines = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("|")]
    cells = {line[0]: dict(zip(header[1:], line[1:], strict=True)) for line in lines}
    by_name = {row.assignor: row for row in rows}
    for finding in conclusion.findings:
        if best := re.match(r"(\w+): best in everything that differs", finding):
            bold = [title for title in header[1:] if any(cells[name][title].startswith("**") for name in cells)]
            assert all(cells[best[1]][title].startswith("**") for title in bold), (finding, table)
        elif lower := re.match(r"Lower with (\w+): ", finding):
            for theirs, ours in re.findall(r"\(([^()]+) instead of ([^()]+)\)", finding):
                winning = [title for title in header[1:] if cells[lower[1]][title].startswith(f"**{theirs}")]
                assert any(cells[name][title].startswith(ours) for name in cells for title in winning), (finding, table)
        elif nowhere := re.match(r"(\w+): nowhere better than (\w+)\.", finding):
            ours, theirs = (by_name[name].spreads for name in nowhere.groups())
            for metric in (column.metric.name for column in COLUMNS):
                a, b = ours[metric], theirs[metric]
                if a and b and a.runs == b.runs and METRIC[metric].write(a.median) != METRIC[metric].write(b.median):
                    assert a.median > b.median, (finding, metric)
        elif won := re.match(r"(\w+): the ", finding):
            # The assignor that is best by a clear difference in a figure of the table has its star.
            for column in COLUMNS:
                if f"the least {column.metric.title.partition(' (')[0].lower()}" in finding:
                    assert cells[won[1]][column.title].startswith("**"), (finding, table)


def check_step(step: NextStep, scenario: dict[str, Any]) -> None:
    """Check that a step changes something that no compared assignor has, and that can matter in the scenario."""
    changed = dict(step.overrides)
    configs = [
        {**scenario["application"]["configs"], **configured.get("configs", {})} for configured in scenario["assignors"]
    ]
    started = [group for group in scenario["clients"] if group.get("starts", True) or scenario.get("events")]
    client_racks = {
        rack for group in started for rack in (group.get("racks") or [])[: group["count"]] if group.get("racks")
    }
    if "application.configs.rack.aware.assignment.strategy" in changed or "client tags" in step.change:
        assert len(client_racks) > 1, step
        assert all(configured.get("rack.aware.assignment.strategy", "none") == "none" for configured in configs), step
    if "client tags" in step.change:
        assert scenario.get("events"), step
    if warmups := changed.get("application.configs.max.warmup.replicas"):
        assert all(int(configured.get("max.warmup.replicas", 2)) < int(warmups) for configured in configs), step
    if "application.configs.num.standby.replicas" in changed:
        assert sum(group["count"] for group in started) > 1, step
        assert scenario["application"]["configs"]["num.standby.replicas"] == 0, step
