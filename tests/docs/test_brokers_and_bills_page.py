"""The table and the sentences of docs/explanation/brokers-and-bills.md show current figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from assignor_sim.api.loading import load
from assignor_sim.api.running import run
from assignors.model.ids import TopicPartition
from assignors.replicas.goal_chain import MARGIN, GoalChain
from reports.analysis.formatting import format_usd
from simulator.timeline import timeline
from simulator.world.changes import ReplicationStep
from simulator.world.disturbances import Reassignment
from simulator.world.world import World

pytestmark = pytest.mark.answers

PAGE = (Path(__file__).parents[2] / "docs" / "explanation" / "brokers-and-bills.md").read_text(encoding="utf-8")
TEXT = " ".join(PAGE.split())
NAME = "a_better_plan_a_worse_bill"
STRATEGY = "events[0].reassignment.strategy"
STRATEGIES = ("exact_flow", "kafka_assigner", "kafka_generate", "leader_max_flow", "goal_chain")
HOUR_MS = 3_600_000


class Bill(NamedTuple):
    """A day under a plan: the cells of its row of the table, its `runs` row, and the cost of its traffic by kind."""

    cells: tuple[str, ...]
    row: Mapping[str, Any]
    usd: Counter[str]


def bill(strategy: str) -> Bill:
    """Run the scenario under a plan and return its bill."""
    scenario = load(NAME, [(STRATEGY, strategy)])
    tables = run(scenario, explain=False, ranges=False).tables
    [row] = tables["runs"].to_pylist()
    price = row["cross_rack_usd"] / row["cross_rack_bytes"]
    usd: Counter[str] = Counter()
    for flow in tables["traffic"].to_pylist():
        if flow["from_rack"] != flow["to_rack"]:
            usd[flow["kind"]] += flow["bytes"] * price
    return Bill((*placement_cells(scenario.world(1)), *cost_cells(usd, row["cross_rack_usd"])), row, usd)


def placement_cells(world: World) -> tuple[str, ...]:
    """Return replicas and leaders per broker, leaders in the clients' zone, copied replicas, and the duration."""
    [plan] = [disturbance for disturbance in world.disturbances if isinstance(disturbance, Reassignment)]
    brokers, [topic] = world.cluster.brokers, world.cluster.topics.values()
    before = {TopicPartition(topic.name, number): replicas for number, replicas in enumerate(topic.replicas)}
    after = before | {target.partition: target.replicas for target in plan.targets}
    held = Counter(broker for replicas in after.values() for broker in replicas)
    led = Counter(replicas[0] for replicas in after.values())
    local = sum(led[broker.id] for broker in brokers if broker.rack == world.clients[0].rack)
    copied = sum(len(set(after[partition]) - set(before[partition])) for partition in after)
    steps = [timed.at_ms for timed in timeline(world) if isinstance(timed.change, ReplicationStep)]
    took_ms = max(steps) - plan.at_ms
    complete = f"{took_ms / HOUR_MS:.1f} h" if took_ms else "at once"
    ids = [broker.id for broker in brokers]
    per_broker = extent(held[plan_bill] for plan_bill in ids), extent(led[plan_bill] for plan_bill in ids)
    return *per_broker, f"{local} of {len(after)}", str(copied), complete


def extent(numbers: Iterable[int]) -> str:
    values = list(numbers)
    return str(values[0]) if len(set(values)) == 1 else f"{min(values)} to {max(values)}"


def cost_cells(usd: Mapping[str, float], total: float) -> tuple[str, ...]:
    assert sum(usd.values()) == pytest.approx(total)
    assert {kind for kind, cost in usd.items() if cost} <= {"source_read", "reassignment"}
    copies = format_usd(usd["reassignment"]) if usd["reassignment"] else "–"
    return format_usd(usd["source_read"]), copies, format_usd(total)


def test_bills_of_five_plans_are_current() -> None:
    bills = {strategy: bill(strategy) for strategy in STRATEGIES}
    for strategy, plan_bill in bills.items():
        assert f"| `{strategy}` | {' | '.join(plan_bill.cells)} |\n" in PAGE
    even, kept = bills["exact_flow"], bills["goal_chain"]
    assert kept.row["cross_rack_usd"] == pytest.approx(even.row["cross_rack_usd"] / 2, rel=0.1), "costs half"
    assert even.row["cross_rack_bytes_per_s"] == pytest.approx(60e6 * 2 / 3), "two thirds of 60 MB/s"
    assert f"at ${even.row['cross_rack_usd_per_day']:.0f} per day from then on" in TEXT


def test_margin_is_that_of_the_strategy() -> None:
    assert f"within its margin of {100 * MARGIN * (GoalChain().balance_threshold - 1):.0f} %" in TEXT


def test_cost_of_small_batches_is_current() -> None:
    scenario = load(NAME, [("events[0].reassignment.batch", "1")])
    [row] = run(scenario, explain=False, ranges=False).tables["runs"].to_pylist()
    assert f"with `batch: 1` instead of 8 the day costs {format_usd(row['cross_rack_usd'])}" in TEXT
