"""A rate-aware assignor receives the traffic of its run, and causes the cross-rack traffic that the run reports."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import numpy as np
import pytest

from assignors import registry
from assignors.model.assignment import AssignmentColumns, TaskAssignment
from assignors.model.state import ApplicationState
from assignors.model.traffic_rates import TrafficRates, TrafficUnit
from assignors.optimum.capacity_bounds import active_shares, standby_shares
from assignors.optimum.costs import ByteCostTerms, Priority, byte_costs
from assignors.tasks.high_availability import HighAvailability
from assignors.tasks.optimal import Optimal
from scenarios.language.errors import ScenarioError
from scenarios.load import AssignorSpec, Scenario, assignor_specs, load, loads
from scenarios.run import run
from scenarios.shipped import find_scenario
from simulator.processes.run_options import RunOptions
from simulator.results.tabulation import tabulate
from simulator.world.layout import lay_out, mean_traffic

NEAREST = (
    "cluster.configs.replica.selector.class",
    "org.apache.kafka.common.replica.RackAwareReplicaSelector",
)
STILL = (("events", "[]"), ("duration", "1h"))
NAMES = ("high_availability", "legacy_sticky", "incremental", "ha_subtopology_balance", "optimal")


def optimal_spec(scenario: Scenario, **parameters: object) -> AssignorSpec:
    """Return the spec of `optimal` with parameters."""
    return AssignorSpec("chosen", registry.find("optimal"), parameters, scenario.assignment_configs)


def rates_of(scenario: Scenario) -> TrafficRates:
    world = scenario.world(scenario.seeds[0])
    return mean_traffic(world, lay_out(world))


def cross_rack_bytes_per_s(scenario: Scenario, spec: AssignorSpec) -> float:
    """Return the cross-rack traffic in the steady state, in bytes per second."""
    row = tabulate(run(scenario, spec), "label", scenario.seeds[0])["runs"].to_pylist()[0]
    assert row["verdict"] == "stable"
    return float(row["cross_rack_bytes_per_s"])


def steady_state(scenario: Scenario, spec: AssignorSpec) -> tuple[ApplicationState, AssignmentColumns]:
    last = run(scenario, spec, options=RunOptions(capture=True)).captured_rounds[-1]
    return last.state, last.columns


def slack_of(state: ApplicationState, columns: AssignmentColumns) -> int:
    """Return the maximum deviation of a client's tasks from its share."""
    threads, stateful = state.clients.threads, state.tasks.stateful
    kinds = [
        (np.bincount(columns.active[tasks], minlength=len(threads)), int(tasks.sum()))
        for tasks in (stateful, ~stateful)
    ]
    loads = [(load, active_shares(number, threads)) for load, number in kinds]
    copies = state.assignment_configs.num_standby_replicas
    loads.append((columns.standby.sum(axis=0), standby_shares(int(stateful.sum()), copies, threads)))
    return max(
        max(math.floor(share) - load, load - math.ceil(share), 0)
        for client_loads, shares in loads
        for load, share in zip(client_loads.tolist(), shares, strict=True)
    )


@pytest.mark.parametrize("overrides", [(), (NEAREST,)], ids=["leaders", "nearest"])
def test_assignor_receives_the_traffic_of_the_run_without_replication(
    overrides: tuple[tuple[str, str], ...],
) -> None:
    scenario = load(find_scenario(Path("cross_zone_bill")), overrides)
    rates = rates_of(scenario)
    unexplained = []
    for spec in assignor_specs(scenario, NAMES):
        state, columns = steady_state(scenario, spec)
        traffic = byte_costs(state, 1, rates, ByteCostTerms(Priority.WEIGHTED, 0, 86_400)).traffic
        unexplained.append((cross_rack_bytes_per_s(scenario, spec), traffic.total(columns.active, columns.standby)))
    replicated = [from_run - from_assignor for from_run, from_assignor in unexplained]
    assert max(replicated) - min(replicated) < 500
    assert len({round(from_run) for from_run, _ in unexplained}) > 2
    assert rates.usd_per_gb == 0.02


@pytest.mark.parametrize(
    ("name", "overrides"),
    [("cross_zone_bill", ()), ("cross_zone_bill", (NEAREST,)), ("order_processing", STILL)],
    ids=["leaders", "nearest", "order_processing"],
)
def test_no_equally_balanced_assignor_causes_less_cross_rack_traffic(
    name: str, overrides: tuple[tuple[str, str], ...]
) -> None:
    scenario = load(find_scenario(Path(name)), overrides)
    min_bytes_per_s = cross_rack_bytes_per_s(scenario, optimal_spec(scenario, minimizes="bytes"))
    assert min_bytes_per_s < cross_rack_bytes_per_s(scenario, optimal_spec(scenario))
    min_by_slack = {}
    for spec in assignor_specs(scenario, ["high_availability", "incremental", "ha_min_bytes"]):
        slack = slack_of(*steady_state(scenario, spec))
        if slack not in min_by_slack:
            options = {"minimizes": "bytes", "apart": "clients", "slack": slack}
            min_by_slack[slack] = cross_rack_bytes_per_s(scenario, optimal_spec(scenario, **options))
        assert min_by_slack[slack] <= cross_rack_bytes_per_s(scenario, spec) + 1, spec.label
    assert min(min_by_slack.values()) <= min_bytes_per_s + 1


def test_dollars_use_the_price_of_the_scenario() -> None:
    scenario = load(find_scenario(Path("cross_zone_bill")))
    rates = rates_of(scenario)
    state, _ = steady_state(scenario, optimal_spec(scenario))
    dollars, counted = (Optimal(minimizes=unit, rates=rates) for unit in (TrafficUnit.DOLLARS, TrafficUnit.BYTES))
    a_day = dollars.solve(state).traffic
    assert a_day == pytest.approx(counted.solve(state).traffic * 86_400 / 1e9 * 0.02)


@dataclass(frozen=True, slots=True)
class RateCollector:
    """An assignor that keeps the rates that a run offers it."""

    needs_rates: bool
    received: list[TrafficRates] = field(default_factory=list)

    def with_rates(self, rates: TrafficRates) -> Self:
        self.received.append(rates)
        return self

    def assign(self, state: ApplicationState) -> TaskAssignment:
        return HighAvailability().assign(state)


def test_only_an_assignor_that_needs_rates_receives_them() -> None:
    scenario = load(find_scenario(Path("cross_zone_bill")), STILL)
    needing, counting = RateCollector(needs_rates=True), RateCollector(needs_rates=False)
    for assignor in (needing, counting):
        assert run(scenario, assignor).failure is None
    [received], expected = needing.received, rates_of(scenario)
    assert received.partitions == expected.partitions
    assert received.writes == expected.writes
    assert counting.received == []


def test_rates_are_not_a_scenario_parameter() -> None:
    text = find_scenario(Path("cross_zone_bill")).read_text()
    wrong = text.replace("  - high_availability\n", "  - {assignor: optimal, parameters: {rates: 5}}\n")
    with pytest.raises(ScenarioError, match="not a parameter of optimal"):
        loads(wrong)
    right = text.replace("  - high_availability\n", "  - {assignor: optimal, parameters: {minimizes: bytes}}\n")
    assert loads(right).assignors[0].parameters == {"minimizes": TrafficUnit.BYTES}
