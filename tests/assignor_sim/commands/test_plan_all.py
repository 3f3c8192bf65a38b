"""`assignor-sim plan --all`: every built-in strategy, and its plan when it is imported again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assignor_sim.api.plan_comparison import plan
from assignors.replicas.registry import built_in
from reports.analysis.plans.results import records
from tests.assignor_sim.commands.plan_commands import parse_json, read_replicas, run_plan

STRATEGIES = [info.name for info in built_in()]
FIGURES = ("replicas_moved", "bytes_moved", "leaders_range", "replicas_range", "broken_rack", "changes")


def test_every_built_in_strategy_has_a_plan_or_a_reason(folder: Path) -> None:
    result = run_plan("small.yaml", "--add-broker", "7:az1", "--all", "--shuffles", "2", "--format", "json")
    plans = {row["strategy"]: row for row in parse_json(result)["plans"]}
    assert list(plans) == ["today", *STRATEGIES]
    planned = [name for name, row in plans.items() if row["status"] in ("optimal", "feasible")]
    assert "exact_flow" in planned
    assert plans["exact_flow"]["replicas_moved"] == plans["exact_flow"]["replicas_moved_bound"] == 4
    assert all(row["reason"] for name, row in plans.items() if name not in (*planned, "today"))


def test_plan_of_every_strategy_has_the_same_figures_when_imported(folder: Path) -> None:
    options: dict[str, Any] = {"add_brokers": ["7:az1"], "num_orders": 0}
    planned = plan("small.yaml", STRATEGIES, **options)
    files = {}
    for result in planned.results:
        if "reassignment.json" in result.files:
            file = folder / f"{result.strategy}.json"
            file.write_bytes(result.files["reassignment.json"])
            assert len(read_replicas(file)) == len(result.changes)
            files[result.strategy] = file
    assert len(files) > 5
    imported = plan("small.yaml", [], imported_plans=list(files.values()), **options)
    originals = {row["strategy"]: row for row in records(planned.rows())}
    copies = {row["strategy"]: row for row in records(imported.rows())}
    for strategy, file in files.items():
        for figure in FIGURES:
            assert copies[str(file)][figure] == originals[strategy][figure], (strategy, figure)
