"""Estimates of time and memory before runs start, and the refusal of runs above the limits."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from assignor_sim.api.running import estimate
from scenarios.load import loads
from scenarios.run_estimate import MAX_BYTES, MAX_SECONDS, RunEstimate
from tests.assignor_sim.conftest import SMALL, Shell

_BIG = """
cluster:
  brokers: {{count: 6, racks: [az1, az2, az3]}}
  topics: [{{name: orders, partitions: {tasks}, bytes_per_s: 10 MB/s}}]
application:
  id: big
  configs: {{rack.aware.assignment.strategy: {strategy}}}
  subtopologies: [{{sources: [orders], stores: [{{name: totals, size: 1 GB}}]}}]
clients: [{{name: app, count: {clients}, racks: [az1, az2, az3]}}]
duration: 40m
events: [{{at: 10m, crash: {{clients: app, pick: 1, down: 5m}}}}]
assignors: [high_availability, sticky]
"""


def big(tasks: int, clients: int, strategy: str = "min_traffic") -> str:
    """Return a scenario of a given size."""
    return _BIG.format(tasks=tasks, clients=clients, strategy=strategy)


def test_estimate_grows_with_tasks_clients_strategy_and_runs() -> None:
    base = estimate(loads(big(200, 20)), "sticky")
    for more in (big(400, 20), big(200, 40), big(200, 20, "balance_subtopology")):
        assert estimate(loads(more), "sticky").seconds > base.seconds
    assert estimate(loads(big(200, 40)), "sticky").memory_bytes > base.memory_bytes
    seeds = estimate(loads(big(200, 20)), ["sticky", "high_availability"], [1, 2, 3])
    assert seeds.runs == 6
    assert seeds.rebalances > 5 * base.rebalances
    assert not estimate(loads(SMALL)).is_long


def test_twenty_thousand_tasks_on_a_thousand_clients_are_announced() -> None:
    result = estimate(loads(big(20_000, 1_000)), "high_availability")
    assert result.is_long
    assert result.excess is None
    assert str(result) == "about 26 s and 3.5 GB (20,000 tasks on 1,000 clients; 1 run, about 6 rebalances)"


def test_each_client_that_an_event_restarts_rebalances_the_group() -> None:
    bounce = "{at: 10m, rolling_bounce: {clients: app, down: 5s, pause: 5s}}"
    churn = "{at: 10m, churn: {clients: app, crashes: 48/d, until: 30m}}"
    base = estimate(loads(big(200, 40)), "sticky").rebalances
    text = big(200, 40).replace("events: [", f"events: [{bounce}, ")
    assert estimate(loads(text), "sticky").rebalances == base + 40
    text = big(200, 40).replace("events: [", f"events: [{churn}, ")
    assert estimate(loads(text), "sticky").rebalances == base + 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seconds": MAX_SECONDS + 3_600}, "estimated time 2.0 h exceeds the limit of 60 min"),
        ({"memory_bytes": MAX_BYTES * 2}, "estimated memory 32.0 GB exceeds the limit of 16.0 GB"),
        ({"seconds": MAX_SECONDS, "memory_bytes": MAX_BYTES}, None),
    ],
)
def test_limits_are_stated(change: dict[str, float], message: str | None) -> None:
    assert dataclasses.replace(RunEstimate(1, 1, 1, 1, 0.0, 0.0), **change).excess == message


def test_run_above_the_limit_is_refused_at_once_unless_forced(shell: Shell, small: Path) -> None:
    shell.write("big.yaml", big(4_000, 400))
    many = [word for seed in range(8_000) for word in ("--seed", str(seed))]
    refused = shell("run", "big.yaml", "--assignor", "sticky", *many)
    assert refused.code == 2
    note, error = refused.err.splitlines()
    assert note.startswith("note: estimate: about ")
    assert error.endswith("exceeds the limit of 60 min; run a smaller scenario, or use --force or --max-seconds")
    stopped = shell("run", small.name, "--assignor", "sticky", "--max-seconds", "0.000001", "--force")
    assert stopped.code == 3
    assert "stopped after 0 rebalances: more than 1e-06 s" in stopped.err
    assert "estimate" not in stopped.err
    assert shell("run", small.name, "--max-seconds", "0").code == 2


def test_record_announces_what_run_announces(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.write("big.yaml", big(4_000, 400) + f"seeds: {list(range(8_000))}\n")
    of_run, of_record = (shell(command, "big.yaml", "--assignor", "sticky") for command in ("run", "record"))
    assert of_record.code == of_run.code == 2
    assert of_record.err.splitlines()[0] == of_run.err.splitlines()[0]
    assert of_record.err.endswith("exceeds the limit of 60 min; run a smaller scenario, or use --force\n")
    assert [path.name for path in shell.folder.iterdir()] == ["big.yaml"]
    shell.write("small.yaml", SMALL)
    monkeypatch.setattr("scenarios.run_estimate.LONG_SECONDS", 0.0)
    monkeypatch.setattr("scenarios.run_estimate.MAX_SECONDS", 0.0)
    assert shell("record", "small.yaml").code == 2
    for command in (("record", "small.yaml", "--force"), ("verify", "small.yaml")):
        result = shell(*command)
        assert result.code == 0
        assert result.err.startswith("note: estimate: about ")
