"""Reassignments that can be foretold: whether there is a plan, and whether the run is long enough for it."""

from __future__ import annotations

from collections.abc import Mapping

from scenarios.language.errors import format_list
from scenarios.language.paths import ScenarioPath
from scenarios.language.units import format_duration
from scenarios.language.validation import SourceMap
from scenarios.sampling.blueprint import Blueprint
from scenarios.sampling.event_plans import ReassignmentPlan
from scenarios.sampling.planned_reassignments import NoPlanError
from simulator.timeline import replicas_at
from simulator.world.disturbances import Reassignment
from simulator.world.world import World


def check_reassignments(blueprint: Blueprint, seed: int, paths: Mapping[int, ScenarioPath], places: SourceMap) -> None:
    """Warn of reassignments that do not end, with one seed for all; a strategy without a plan is noted as a mistake.

    Args:
        blueprint: in which nothing is wrong.
        seed: places the replicas.
        paths: where the scenario says reassignments, by their time.
        places: takes the mistake and the warnings.
    """
    if not any(isinstance(event, Reassignment | ReassignmentPlan) for event in blueprint.events):
        return
    application = blueprint.application
    try:
        world = blueprint.world(seed, application.assignment_configs, application.group_configs.protocol)
    except NoPlanError as error:
        places.wrong(error.path, error.message)
        return
    _check_unfinished(world, paths, places)


def _check_unfinished(world: World, paths: Mapping[int, ScenarioPath], places: SourceMap) -> None:
    at_end = replicas_at(world, world.duration_ms)
    growing = [str(name) for name in at_end.falling_behind()]
    for said, left in at_end.unfinished():
        when = f"not done when the run ends at {format_duration(world.duration_ms)}"
        advice = "set a longer duration or a higher throttle"
        message = f"{when}: {left:,} of {len(said.targets):,} partitions are left; {advice}"
        places.warn(paths[said.at_ms], message)
    if growing:
        path = (*paths[at_end.unfinished()[0][0].at_ms], "throttle")
        never = "the throttle is too low: as much is produced as it lets be copied, so this never ends"
        places.warn(path, f"{never} ({format_list('partitions', growing, most=4)})")
