"""`sim.frontier`: the trade-off between cross-rack traffic and task moves in one rebalance."""

from __future__ import annotations

import os

import numpy as np

from assignor_sim.api.loading import as_scenario
from assignors import registry
from assignors.model.state import previous_holders
from assignors.objective import TradeOffPoint
from assignors.objective import frontier as solve
from assignors.registry import AssignorLike
from reports.analysis.formatting import format_clock
from reports.analysis.frontier import AssignorPoint, FrontierPoint, TrafficFrontier
from scenarios.load import AssignorSpec, Scenario, assignor_specs
from scenarios.run import run
from simulator.processes.run_options import RunOptions
from simulator.results.trace import CapturedRound


class FrontierError(Exception):
    """The frontier of a rebalance does not exist; the message has the reason."""


def frontier(
    scenario: Scenario | str | os.PathLike[str],
    assignor: AssignorLike | None = None,
    *,
    round: int | None = None,
    slack: int = 0,
    seed: int | None = None,
) -> TrafficFrontier:
    """Compute every assignment that is optimal for some ratio of traffic_cost to non_overlap_cost.

    Args:
        scenario: a loaded scenario, a file, or the name of a shipped scenario.
        assignor: the assignor that runs the scenario up to the rebalance; by default the first of the scenario.
        round: number of the rebalance; by default the last one with the longest frontier.
        slack: number of tasks by which a client may exceed or fall short of its share.
        seed: random seed; by default the first seed of the scenario.

    Returns:
        The frontier, from the fewest moves to the least traffic, and the assignor's own point.

    Raises:
        ScenarioError: the scenario is invalid.
        AssignorError: the assignor is unknown, or rejects its parameters.
        FrontierError: the run has no such rebalance, or the racks are unknown.

    Examples:
        >>> import assignor_sim as sim
        >>> front = sim.frontier("a_partition_changes_rack")
        >>> front.points[0].moves <= front.points[-1].moves
        True
    """
    loaded = as_scenario(scenario)
    spec = assignor_specs(loaded, [] if assignor is None else [assignor])[0]
    captured_rounds = run(loaded, spec, seed, RunOptions(capture=True)).captured_rounds
    candidates = [captured for captured in captured_rounds if round in (None, captured.round.number)]
    if not candidates:
        raise FrontierError(f"{loaded.name}: there is no round {round} (rounds: 1 to {len(captured_rounds)})")
    frontiers = [(captured, points) for captured in candidates if (points := _solve(captured, slack))]
    if not frontiers:
        reason = "no stateful task, or the rack of a client or of a source partition is unknown"
        raise FrontierError(f"{loaded.name}: there is no frontier ({reason})")
    longest = max(len(points) for _, points in frontiers)
    captured, points = [(captured, points) for captured, points in frontiers if len(points) == longest][-1]
    return _describe(loaded, spec, captured, points)


def _solve(captured: CapturedRound, slack: int) -> tuple[TradeOffPoint, ...]:
    try:
        return tuple(solve(captured.state, slack))
    except ValueError:  # racks are unknown
        return ()


def _describe(
    scenario: Scenario, spec: AssignorSpec, captured: CapturedRound, points: tuple[TradeOffPoint, ...]
) -> TrafficFrontier:
    """Return the frontier as reports show it: with scenario, rebalance and the assignor's own point."""
    state, costs = captured.state, _named_costs(spec)
    rows = np.flatnonzero(state.tasks.stateful)
    owner = captured.columns.active[rows]
    remote = state.remote_partitions(state.tasks.source)[rows, owner].sum()
    moved = ~previous_holders(state)[0][rows, owner]
    return TrafficFrontier(
        scenario=scenario.name,
        round=captured.round.number,
        at=format_clock(captured.round.at_ms),
        reason=captured.round.reason,
        tasks=len(rows),
        partitions=int(state.tasks.source.counts()[rows].sum()),
        clients=len(state.clients),
        points=tuple(
            FrontierPoint(
                point.remote_partitions,
                point.moves,
                str(point.from_ratio),
                None if point.to_ratio is None else str(point.to_ratio),
                tuple(name for name, pair in costs.items() if point.is_best_at(*pair)),
            )
            for point in points
        ),
        assignor=AssignorPoint(spec.label, int(remote), int(moved.sum())),
    )


def _named_costs(spec: AssignorSpec) -> dict[str, tuple[int, int]]:
    """Return pairs (traffic_cost, non_overlap_cost) to mark: Kafka's defaults, and configured ones if different."""
    marks = {}
    for name in ("high_availability", "legacy_sticky"):
        weights = registry.find(name).weights
        pair = weights.traffic_cost, weights.non_overlap_cost
        marks[f"{name}'s default, {pair[0]}:{pair[1]}"] = pair
    configs = spec.configs
    if (configs.rack_aware_traffic_cost, configs.rack_aware_non_overlap_cost) != (None, None):
        weights = spec.info.weights.configured(configs)
        pair = weights.traffic_cost, weights.non_overlap_cost
        if pair not in marks.values():
            marks[f"configured, {pair[0]}:{pair[1]}"] = pair
    return marks
