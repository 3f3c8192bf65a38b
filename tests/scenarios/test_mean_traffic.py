"""An assignor that weighs bytes is told what flows in its own run, and brings that across racks which the run says."""

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
    """`optimal` with parameters."""
    choice = AssignorChoice("chosen", "optimal", parameters, scenario.assignment_configs)
    return AssignorSpec(choice, registry.find("optimal"))


def crossing(scenario: Scenario, one: AssignorSpec) -> float:
    """Bytes per second that cross racks at rest."""
    row = tabulate(run(scenario, one), "one", scenario.seeds[0])["runs"].to_pylist()[0]
    assert row["verdict"] == "stable"
    return float(row["cross_rack_bytes_per_s"])


def at_rest(scenario: Scenario, one: AssignorSpec) -> tuple[ApplicationState, AssignmentColumns]:
    last = run(scenario, one, capture=True).captured_rounds[-1]
    return last.state, last.columns


def slack_of(state: ApplicationState, columns: AssignmentColumns) -> int:
    """By how many tasks clients have more or fewer than their shares."""
    threads, stateful = state.clients.threads, state.tasks.stateful
    kinds = [
        (np.bincount(columns.active[one], minlength=len(threads)), int(one.sum())) for one in (stateful, ~stateful)
    ]
    loads = [(load, active_shares(number, threads)) for load, number in kinds]
    copies = state.assignment_configs.num_standby_replicas
    loads.append((columns.standby.sum(axis=0), standby_shares(int(stateful.sum()), copies, threads)))
    return max(
        max(math.floor(share) - load, load - math.ceil(share), 0)
        for each, shares in loads
        for load, share in zip(each.tolist(), shares, strict=True)
    )


@pytest.mark.parametrize("overrides", [(), (NEAREST,)], ids=["leaders", "nearest"])
def test_what_an_assignor_is_told_is_what_a_run_carries_but_for_replication(
    overrides: tuple[tuple[str, str], ...],
) -> None:
    scenario = load(find_scenario(Path("cross_zone_bill")), overrides)
    rates = mean_traffic(scenario.world(scenario.seeds[0]))
    unexplained = []
    for one in assignor_specs(scenario, NAMES):
        state, columns = at_rest(scenario, one)
        told = byte_costs(state, 1, rates, ByteCostTerms(Priority.WEIGHTED, 0, 86_400)).traffic
        unexplained.append((crossing(scenario, one), told.total(columns.active, columns.standby)))
    replicated = [run_says - told for run_says, told in unexplained]
    assert max(replicated) - min(replicated) < 500
    assert len({round(run_says) for run_says, _ in unexplained}) > 2
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
    for one in assignor_specs(scenario, ["high_availability", "incremental", "ha_min_bytes"]):
        slack = slack_of(*at_rest(scenario, one))
        if slack not in least:
            wish = {"minimises": "bytes", "apart": "clients", "slack": slack}
            least[slack] = crossing(scenario, chosen(scenario, **wish))
        assert least[slack] <= crossing(scenario, one) + 1, one.choice.label
    assert min(least.values()) <= apart + 1


def test_dollars_take_the_price_of_the_scenario_and_bytes_the_same_places() -> None:
    scenario = load(find_scenario(Path("cross_zone_bill")))
    world = scenario.world(scenario.seeds[0])
    state, _ = at_rest(scenario, chosen(scenario))
    dollars, counted = (make_assignor(chosen(scenario, minimises=kind), world) for kind in ("dollars", "bytes"))
    assert isinstance(dollars, Optimal)
    assert isinstance(counted, Optimal)
    a_day = dollars.solve(state).traffic
    assert a_day == pytest.approx(counted.solve(state).traffic * 86_400 / 1e9 * 0.02)


def test_who_counts_partitions_is_told_nothing() -> None:
    scenario = load(find_scenario(Path("cross_zone_bill")))
    world = scenario.world(scenario.seeds[0])
    assert make_assignor(chosen(scenario), world) == Optimal()
    told = make_assignor(assignor_specs(scenario, ["ha_min_bytes"])[0], world)
    assert told.rates is not None  # type: ignore[attr-defined]


def test_rates_cannot_be_written_into_a_scenario() -> None:
    text = find_scenario(Path("cross_zone_bill")).read_text()
    wrong = text.replace("  - high_availability\n", "  - {assignor: optimal, parameters: {rates: 5}}\n")
    with pytest.raises(ScenarioError, match="not a parameter of optimal"):
        loads(wrong)
    right = text.replace("  - high_availability\n", "  - {assignor: optimal, parameters: {minimises: bytes}}\n")
    assert loads(right).assignors[0].parameters == {"minimises": TrafficUnit.BYTES}
