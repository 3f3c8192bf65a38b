"""`assignor-sim frontier`: every best answer between least traffic and fewest moves."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from assignor_sim.console.exits import BAD_INPUT, exit_on_error

if TYPE_CHECKING:
    from assignors.objective.frontier import FrontierPoint
    from reports.analysis.frontier import TrafficFrontier
    from scenarios.assignor_specs import AssignorSpec
    from scenarios.captured_rounds import CapturedRound
    from scenarios.load import Scenario


class FrontierFormat(StrEnum):
    """How a front is printed."""

    TABLE = "table"
    JSON = "json"


def frontier(
    scenario: Annotated[Path, typer.Argument(help="Scenario file, or name of a shipped scenario.", metavar="SCENARIO")],
    assignor: Annotated[
        str | None,
        typer.Option(help="Who runs it up to that round: a label or a name; the scenario's first if not given."),
    ] = None,
    round_: Annotated[
        int | None,
        typer.Option("--round", help="Which round; the last of those with most to choose if not given.", min=1),
    ] = None,
    slack: Annotated[
        int, typer.Option(help="By how many tasks a client may have more or fewer than its share.", min=0)
    ] = 0,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Change the scenario. May be repeated.", metavar="PATH=VALUE")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed; the scenario's first if not given.", min=0)] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="File for the figure: .png, .svg or .pdf.", metavar="FILE")
    ] = None,
    format_: Annotated[FrontierFormat, typer.Option("--format", help="How to print it.")] = FrontierFormat.TABLE,
) -> None:
    """Find every answer that is best at some ratio of traffic_cost to non_overlap_cost, and where the answer changes.

    Example: [bold]assignor-sim frontier a_partition_changes_rack[/bold]
    """
    from assignor_sim.console.overrides import parse_overrides
    from assignors.errors import AssignorError
    from reports.analysis.frontier import record
    from reports.render.terminal.frontier import draw
    from scenarios.assignor_specs import assignor_specs
    from scenarios.captured_rounds import capture_rounds
    from scenarios.load import ScenarioError, load
    from scenarios.shipped import find_scenario

    _check_out(out)
    with exit_on_error(ScenarioError, AssignorError):
        loaded = load(find_scenario(scenario), parse_overrides(set_))
        assignor_spec = assignor_specs(loaded, [] if assignor is None else [assignor])[0]
        front = _front(loaded, assignor_spec, capture_rounds(loaded, assignor_spec, seed), round_, slack)
    print(json.dumps(record(front), indent=2, ensure_ascii=False) if format_ is FrontierFormat.JSON else draw(front))
    if out is not None:
        from reports.render.figures.frontier_figure import traffic_against_movement
        from reports.render.figures.run_figures import figure_bytes

        with exit_on_error(OSError):
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_bytes(figure_bytes(traffic_against_movement(front), out.suffix[1:]))


def _check_out(out: Path | None) -> None:
    from reports.render.figures.run_figures import FORMATS

    if out is not None and out.suffix[1:] not in FORMATS:
        _refuse(f"--out {out}: a figure ends in {', '.join(f'.{each}' for each in FORMATS)}")


def _refuse(what: str) -> NoReturn:
    print(what, file=sys.stderr)
    raise typer.Exit(BAD_INPUT)


def _front(
    scenario: Scenario, assignor_spec: AssignorSpec, shown: tuple[CapturedRound, ...], number: int | None, slack: int
) -> TrafficFrontier:
    """The front of the round asked for, or of the last one with most points."""
    from assignors.objective.frontier import frontier as solve

    asked = [each for each in shown if number in (None, each.round.number)]
    if not asked:
        _refuse(f"{scenario.name}: there is no round {number} (rounds: 1 to {len(shown)})")
    fronts: list[tuple[CapturedRound, tuple[FrontierPoint, ...]]] = []
    for each in asked:
        try:
            points = solve(each.state, slack)
        except ValueError:
            continue
        if points:
            fronts.append((each, points))
    if not fronts:
        lacking = "no stateful task, or racks that are not known of every client and source partition"
        _refuse(f"{scenario.name}: there is no front ({lacking})")
    longest = max(len(points) for _, points in fronts)
    chosen, points = [each for each in fronts if len(each[1]) == longest][-1]
    return _told(scenario, assignor_spec, chosen, points)


def _told(
    scenario: Scenario, assignor_spec: AssignorSpec, shown: CapturedRound, points: tuple[FrontierPoint, ...]
) -> TrafficFrontier:
    """The front in the terms of a report."""
    import numpy as np

    from assignors.model.state import previous_holders
    from reports.analysis.formatting import format_clock
    from reports.analysis.frontier import AssignorPoint, FrontierPoint, TrafficFrontier

    state, costs = shown.state, _costs(assignor_spec)
    rows = np.flatnonzero(state.tasks.stateful)
    owner = shown.columns.active[rows]
    remote = state.remote_partitions(state.tasks.source)[rows, owner].sum()
    moved = ~previous_holders(state)[0][rows, owner]
    return TrafficFrontier(
        scenario=scenario.name,
        round=shown.round.number,
        at=format_clock(shown.round.at_ms),
        reason=shown.round.reason,
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
        answered=AssignorPoint(assignor_spec.choice.label, int(remote), int(moved.sum())),
    )


def _costs(assignor_spec: AssignorSpec) -> dict[str, tuple[int, int]]:
    """Costs worth a mark, by name: Kafka's defaults, and those configured where they are others."""
    from assignors import registry

    marks = {}
    for name in ("high_availability", "legacy_sticky"):
        usual = registry.find(name).weights
        pair = usual.traffic_cost, usual.non_overlap_cost
        marks[f"{name}'s default, {pair[0]}:{pair[1]}"] = pair
    configs = assignor_spec.choice.configs
    if (configs.rack_aware_traffic_cost, configs.rack_aware_non_overlap_cost) != (None, None):
        weights = assignor_spec.info.weights.configured(configs)
        pair = weights.traffic_cost, weights.non_overlap_cost
        if pair not in marks.values():
            marks[f"configured, {pair[0]}:{pair[1]}"] = pair
    return marks
