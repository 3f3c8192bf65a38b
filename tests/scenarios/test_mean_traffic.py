"""A rate-aware assignor receives the traffic of its run, and causes the cross-rack traffic that the run reports."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from assignors import registry
from assignors.model.assignment import AssignmentColumns
from assignors.model.state import ApplicationState
from assignors.model.traffic_rates import TrafficUnit
from assignors.optimum.byte_costs import ByteCostTerms, byte_costs
from assignors.optimum.capacity_bounds import active_shares, standby_shares
from assignors.optimum.costs import Priority
from assignors.tasks.optimal import Optimal
from scenarios.assignor_specs import AssignorSpec, assignor_specs, make_assignor
from scenarios.language.errors import ScenarioError
from scenarios.load import AssignorChoice, Scenario, load, loads
from scenarios.mean_traffic import mean_traffic
from scenarios.run import run
from scenarios.shipped import find_scenario
from simulator.results.tabulation import tabulate

NEAREST = (
    "cluster.configs.replica.selector.class",
    "org.apache.kafka.common.replica.RackAwareReplicaSelector",
)
STILL = (("events", "[]"), ("duration", "1h"))
NAMES = ("high_availability", "legacy_sticky", "incremental", "ha_subtopology_balance", "optimal")


def chosen(scenario: Scenario, **parameters: object) -> AssignorSpec:
    """Return the spec of `optimal` with parameters."""
    choice = AssignorChoice("chosen", "optimal", parameters, scenario.assignment_configs)
    return AssignorSpec(choice, registry.find("optimal"))


def crossing(scenario: Scenario, spec: AssignorSpec) -> float:
    """Return the cross-rack traffic in the steady state, in bytes per second."""
    row = tabulate(run(scenario, spec), "label", scenario.seeds[0])["runs"].to_pylist()[0]
    assert row["verdict"] == "stable"
    return float(row["cross_rack_bytes_per_s"])


def steady_state(scenario: Scenario, spec: AssignorSpec) -> tuple[ApplicationState, AssignmentColumns]:
    last = run(scenario, spec, capture=True).captured_rounds[-1]
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
def test_an_assignor_receives_the_traffic_of_the_run_without_replication(
    overrides: tuple[tuple[str, str], ...],
) -> None:
    scenario = load(find_scenario(Path("cross_zone_bill")), overrides)
    rates = mean_traffic(scenario.world(scenario.seeds[0]))
    unexplained = []
    for spec in assignor_specs(scenario, NAMES):
        state, columns = steady_state(scenario, spec)
        traffic = byte_costs(state, 1, rates, ByteCostTerms(Priority.WEIGHTED, 0, 86_400)).traffic
        unexplained.append((crossing(scenario, spec), traffic.total(columns.active, columns.standby)))
    replicated = [from_run - from_assignor for from_run, from_assignor in unexplained]
    assert max(replicated) - min(replicated) < 500
    assert len({round(from_run) for from_run, _ in unexplained}) > 2
    assert rates.usd_per_gb == 0.02


@pytest.mark.parametrize(
    ("name", "overrides"),
    [("cross_zone_bill", ()), ("cross_zone_bill", (NEAREST,)), ("order_processing", STILL)],
    ids=["leaders", "nearest", "order_processing"],
)
def test_nothing_as_balanced_brings_fewer_bytes_across_racks_in_a_run(
    name: str, overrides: tuple[tuple[str, str], ...]
) -> None:
    scenario = load(find_scenario(Path(name)), overrides)
    apart = crossing(scenario, chosen(scenario, minimises="bytes"))
    assert apart < crossing(scenario, chosen(scenario))
    least = {}
    for spec in assignor_specs(scenario, ["high_availability", "incremental", "ha_min_bytes"]):
        slack = slack_of(*steady_state(scenario, spec))
        if slack not in least:
            wish = {"minimises": "bytes", "apart": "clients", "slack": slack}
            least[slack] = crossing(scenario, chosen(scenario, **wish))
        assert least[slack] <= crossing(scenario, spec) + 1, spec.choice.label
    assert min(least.values()) <= apart + 1


def test_dollars_take_the_price_of_the_scenario_and_bytes_the_same_places() -> None:
    scenario = load(find_scenario(Path("cross_zone_bill")))
    world = scenario.world(scenario.seeds[0])
    state, _ = steady_state(scenario, chosen(scenario))
    dollars, counted = (make_assignor(chosen(scenario, minimises=kind), world) for kind in ("dollars", "bytes"))
    assert isinstance(dollars, Optimal)
    assert isinstance(counted, Optimal)
    a_day = dollars.solve(state).traffic
    assert a_day == pytest.approx(counted.solve(state).traffic * 86_400 / 1e9 * 0.02)


def test_an_assignor_that_counts_partitions_receives_no_rates() -> None:
    scenario = load(find_scenario(Path("cross_zone_bill")))
    world = scenario.world(scenario.seeds[0])
    assert make_assignor(chosen(scenario), world) == Optimal()
    assignor = make_assignor(assignor_specs(scenario, ["ha_min_bytes"])[0], world)
    assert assignor.rates is not None  # type: ignore[attr-defined]


def test_rates_cannot_be_written_into_a_scenario() -> None:
    text = find_scenario(Path("cross_zone_bill")).read_text()
    wrong = text.replace("  - high_availability\n", "  - {assignor: optimal, parameters: {rates: 5}}\n")
    with pytest.raises(ScenarioError, match="not a parameter of optimal"):
        loads(wrong)
    right = text.replace("  - high_availability\n", "  - {assignor: optimal, parameters: {minimises: bytes}}\n")
    assert loads(right).assignors[0].parameters == {"minimises": TrafficUnit.BYTES}
