"""The tables of docs/explanation/optimal.md show current figures, and problems whose optimum is proven."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from assignor_sim.api.loading import load
from assignor_sim.api.running import run
from assignors.tasks.optimal import Optimal, Separation, SolutionStatus
from scenarios.problems import parse_problem
from tests.benchmarks.shapes import rack_problem
from tests.benchmarks.shrunken_group import shrunken_group
from tools.examples import first_runs, show

pytestmark = pytest.mark.answers

PAGE = (Path(__file__).parents[2] / "docs" / "explanation" / "optimal.md").read_text(encoding="utf-8")
BYTES = "{label: '`optimal`, bytes', assignor: optimal, parameters: {minimizes: bytes}}"
ASSIGNORS = """
- {label: '`high_availability`', assignor: high_availability}
- {label: HA min_traffic, assignor: high_availability, configs: {rack.aware.assignment.strategy: min_traffic}}
- {label: '`ha_min_bytes`', assignor: ha_min_bytes}
- {label: '`optimal`', assignor: optimal}
"""
SELECTOR = ("cluster.configs.replica.selector.class", "org.apache.kafka.common.replica.RackAwareReplicaSelector")
MONEY = ("cross_rack_bytes_per_s", "cross_rack_usd_per_day")
MOVES = (
    "cross_rack_bytes_per_s",
    "cross_rack_source_partitions",
    "active_moves",
    "restored_bytes",
    "tasks_without_rack_redundancy",
)


def shown(scenario: str) -> dict[str, list[str]]:
    """Return the cells of the table of a scenario by assignor."""
    rows = re.search(rf"^\| \*{scenario}\*.*?\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    assert rows is not None
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in rows[1].splitlines()[1:]]
    return {label: values for label, *values in cells}


def current(
    scenario: str, extra: str, keys: tuple[str, ...], overrides: tuple[tuple[str, str], ...] = ()
) -> dict[str, list[str]]:
    assignors = yaml.safe_dump(yaml.safe_load(ASSIGNORS + extra), default_flow_style=True, width=10_000)
    result = run(load(scenario, [("assignors", assignors), *overrides]), explain=False, ranges=False)
    rows = first_runs(result.tables["runs"].to_pylist())
    return {label: [show(row, key) for key in keys] for label, row in rows.items()}


@pytest.mark.slow
def test_moves_are_current() -> None:
    label = "`optimal`, bytes, `apart: clients`"
    apart = f"- {{label: '{label}', assignor: optimal, parameters: {{minimizes: bytes, apart: clients}}}}\n"
    figures = current("order_processing", f"- {BYTES}\n{apart}", MOVES)
    assert shown("order_processing") == figures
    (_, today, *_), optimal = figures["`high_availability`"], figures["`optimal`"]
    _, partitions, moves, restored, alone = optimal
    _, _, moves_today, restored_today, _ = figures["`high_availability`"]
    _, partitions_of_min_traffic, moves_of_min_traffic, _, alone_of_min_traffic = figures["HA min_traffic"]
    assert (alone, partitions_of_min_traffic) == ("0", "0")
    conclusion = " ".join(PAGE.split())
    for text in (
        f"moves tasks {moves} times instead of {moves_today}, restores {restored} instead of {restored_today}",
        f"reads {partitions} partitions across racks instead of {today}",
        f"with {moves_of_min_traffic} moves, and leaves {alone_of_min_traffic} of 120 tasks",
    ):
        assert text in conclusion


@pytest.mark.parametrize("unit", ["bytes", "dollars"])
def test_bills_are_current(unit: str) -> None:
    extra = f"- {BYTES}\n".replace("bytes}", f"{unit}}}").replace("`, bytes'", "`, bytes or dollars'")
    at_leaders = current("cross_zone_bill", extra, MONEY)
    at_nearest = current("cross_zone_bill", extra, MONEY, (SELECTOR,))
    assert shown("cross_zone_bill") == {label: [*values, *at_nearest[label]] for label, values in at_leaders.items()}


SIZES = re.findall(r"^\| (\d) \| (.*?) \| ([\d,]+) × (\d+) \| (.*?) \|$", PAGE, re.MULTILINE)


def test_table_of_sizes_is_found() -> None:
    assert len(SIZES) == 7


@pytest.mark.parametrize(("standbys", "separation", "tasks", "clients", "kind"), SIZES)
def test_optimum_of_each_size_is_proven(standbys: str, separation: str, tasks: str, clients: str, kind: str) -> None:
    if kind == "even":
        problem = rack_problem("min_traffic", int(tasks.replace(",", "")), int(clients), standbys=int(standbys))
        state = parse_problem(problem)
    else:
        assert (kind, separation) == ("uneven, one has left", "two tags")
        state = shrunken_group(int(standbys))
    assert f"{len(state.all_tasks):,} × {len(state.clients)}" == f"{tasks} × {clients}"
    apart = Separation.CLIENTS if separation == "none but clients" else Separation.PLACES
    solution = Optimal(apart=apart).solve(state)
    assert (solution.status, solution.cost) == (SolutionStatus.OPTIMAL, solution.bound)
