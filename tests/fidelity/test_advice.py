"""Recommended changes are deployed, deviations are named, and the page has all results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.fidelity.advice import WEAK_APPLICATIONS, RolledOutAdvice, deployed_application, misses, promised_outcomes
from tests.fidelity.advice_report import PAGE, write_page
from tests.fidelity.applications import CloseMode
from tests.fidelity.scenario_edits import Document
from tests.fidelity.step_outcome import StepOutcome
from tests.kafka_cluster.applications import Host
from tools.java import ClusterError

ORDERS = WEAK_APPLICATIONS[0].application
PARTITIONS = 6
DOCUMENT: Document = {
    "name": "orders",
    "cluster": {
        "brokers": {"count": 3, "racks": ["az1", "az2", "az3"]},
        "topics": [{"name": "orders-table", "partitions": PARTITIONS, "size": 90_000_000, "record_size": 1_500}],
    },
    "application": {
        "id": "orders",
        "starts": "running",
        "configs": {"probing.rebalance.interval.ms": 60_000},
        "subtopologies": [{"sources": ["orders-table"], "stores": [{"name": "table", "size": 90_000_000}]}],
    },
    "clients": [
        {
            "name": f"orders-{number}",
            "process_id": f"00000000-0000-0000-0000-00000000000{number}",
            "rack": f"az{number}",
            "threads": 2,
            # Not where any assignor would put them: a checkup begins with other places.
            "tasks": {"active": [f"0_{task}" for task in range(PARTITIONS)] if number == 1 else []},
        }
        for number in (1, 2, 3)
    ],
}
HOSTS: Any = [
    SimpleNamespace(
        name=f"orders{number}",
        rack=f"az{number % 3 + 1}",
        process_id=lambda _, number=number: f"00000000-0000-0000-0000-00000000000{number + 1}",
    )
    for number in range(4)
]
OUTCOME = StepOutcome((500, 62_000), 62_400, 17_000_000, active_moves=3, cross_rack_partitions=2)


@dataclass(frozen=True)
class Step:
    """What a confirmation has that advice reads."""

    step: str
    predicted_outcome: StepOutcome
    outcome: StepOutcome
    range: Sequence[StepOutcome]
    differences: Sequence[str] = ()


def change(key: str, after: str | None, is_property: bool = True) -> dict[str, Any]:
    return {"key": key, "after": after, "is_property": is_property}


def step(predicted: StepOutcome, observed: StepOutcome, *others: StepOutcome) -> Any:
    return Step("orders1 crashes", predicted, observed, others)


def test_recommended_changes_are_deployed() -> None:
    changes = [
        change("max.warmup.replicas", "32"),
        change("num.standby.replicas", None),
        change("rack.aware.assignment.strategy", "min_traffic"),
        change("task.assignor.class", "org.example.Sticky"),
        change("group.instance.id", "a different name for each instance", is_property=False),
        change("CloseOptions", "LEAVE_GROUP", is_property=False),
        change("client.rack", "the zone of each instance", is_property=False),
    ]
    deployed = deployed_application(replace(ORDERS, closing=CloseMode.DEFAULT), changes)
    assert deployed.configs == {
        "max.warmup.replicas": 32,
        "rack.aware.assignment.strategy": "min_traffic",
        "task.assignor.class": "org.example.Sticky",
    }
    assert deployed.is_static
    assert deployed.closing is CloseMode.LEAVE
    assert deployed.assignor == "sticky_task_assignor"
    assert deployed_application(ORDERS, []) == ORDERS


@pytest.mark.parametrize(
    ("observed", "missed"),
    [
        (OUTCOME, []),
        (replace(OUTCOME, rebalances_ms=(500,), converged_ms=65_000, restored_bytes=0), []),
        (replace(OUTCOME, cross_rack_partitions=3), ["cross-rack partitions: 2 → 3"]),
        (replace(OUTCOME, active_moves=4), ["active moves: 3 → 4"]),
        (replace(OUTCOME, rebalances_ms=(1, 2, 3, 4)), ["rebalances: 2 → 4"]),
        (replace(OUTCOME, converged_ms=80_000), ["time to converge: 62.4 s → 80.0 s"]),
    ],
)
def test_deviations_are_named(observed: StepOutcome, missed: list[str]) -> None:
    assert misses(step(OUTCOME, observed)) == missed


def test_a_step_may_be_within_the_range_of_client_times() -> None:
    late = replace(OUTCOME, rebalances_ms=(500, 62_000, 122_000), converged_ms=122_500)
    observed = replace(OUTCOME, rebalances_ms=(500, 62_000, 122_000, 123_000), converged_ms=100_000)
    assert misses(step(OUTCOME, observed, OUTCOME, late)) == []
    assert misses(step(OUTCOME, replace(observed, converged_ms=150_000), OUTCOME, late)) == [
        "time to converge: 62.4 s → 150.0 s"
    ]


def test_promise_is_for_the_recommended_configs_from_where_the_assignor_puts_tasks() -> None:
    without, with_standby = (
        dict(promised_outcomes(DOCUMENT, replace(ORDERS, configs={"num.standby.replicas": standbys}), HOSTS))
        for standbys in (0, 1)
    )
    assert list(without) == ["orders1 crashes", "orders1 returns after the crash", "orders3 joins", "orders3 leaves"]
    # The crashed host has no tasks in the import.
    assert without["orders1 crashes"].active_moves >= PARTITIONS // 3
    assert with_standby["orders3 joins"].restored_bytes > without["orders3 joins"].restored_bytes
    assert all(outcome.converged_ms is not None for outcome in (*without.values(), *with_standby.values()))


def test_rate_of_restoration_is_that_while_records_are_read(tmp_path: Path) -> None:
    host = Host(SimpleNamespace(work_dir=tmp_path), "orders3", "az1", 0)  # type: ignore[arg-type]
    log = tmp_path / "hosts" / "orders3" / "tasks-0.tsv"
    log.parent.mkdir(parents=True)
    read = [(0, 0), (100, 3_000), (200, 6_000), (300, 6_000), (60_000, 6_100), (60_100, 9_100)]
    log.write_text("".join(f"{at_ms}\torders\trestored\tlog\t{records}\n" for at_ms, records in read))
    assert host.restore_records_per_s("orders") == 30_000
    with pytest.raises(ClusterError, match="stock has not restored anything"):
        host.restore_records_per_s("stock")


def test_page_has_the_screen_the_rollout_and_each_step(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE.read_text())
    ranges = {"rebalances": [6, 8], "active_moves": [20, 20], "cross_rack_source_partitions": [0, 0]}
    early = replace(OUTCOME, converged_ms=2_400)
    steps = (step(OUTCOME, replace(OUTCOME, active_moves=4)), step(OUTCOME, early, early, OUTCOME))
    advice = RolledOutAdvice(
        WEAK_APPLICATIONS[0],
        "Change 1 setting",
        {"rollout": {"ranges": ranges}},
        ["num.standby.replicas=1"],
        7,
        20,
        (8, 0),
        before=steps,
        after=steps,
        promised={"orders1 crashes": replace(OUTCOME, cross_rack_partitions=0)},
        restore_bytes_per_s=44_000_000,
    )
    write_page([advice], page)
    text = page.read_text()
    for part in (
        "of 4 steps before and after the rollout of 1 recommendation, 2 went as predicted",
        " in all that is compared below, 2 of them only within the range",
        "- `orders`: 8 → 0 partitions are read from another rack.",
        "no rack-aware assignment. A host restores 44 MB/s. The checkup says:",
        "```text\nChange 1 setting\n```",
        "Deployed: `num.standby.replicas=1`.",
        "| rebalances | 6 to 8 | 7 |",
        "| active moves | 20 | 20 |",
        "| orders1 crashes | 2 / 2 | 3 / 4 | 2 / 2 | 62.4 s / 62.4 s | 17.0 MB / 17.0 MB |",
        "| orders1 crashes | 0 / 2 / 2 | 3 / 3 / 4 |",
        "| 62.4 s (2.4 to 62.4 s) / 2.4 s |",
        "- Not as predicted, after, *orders1 crashes*: active moves: 3 → 4.",
    ):
        assert part in text
    write_page([advice], page)
    assert page.read_text() == text
