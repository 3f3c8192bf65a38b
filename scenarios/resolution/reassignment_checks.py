"""Check reassignments before a run: whether a plan exists, and whether the run is long enough to complete it."""

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


def check_reassignments(
    blueprint: Blueprint, seed: int, paths: Mapping[int, ScenarioPath], source_map: SourceMap
) -> None:
    """Report strategies without a plan, and warn about reassignments that do not complete; checks a single seed.

    Args:
        blueprint: a valid blueprint.
        seed: the seed to check; it places the replicas.
        paths: the paths of the reassignments in the scenario, by time.
        source_map: collects the mistake and the warnings.
    """
    if not any(isinstance(event, Reassignment | ReassignmentPlan) for event in blueprint.events):
        return
    application = blueprint.application
    try:
        world = blueprint.world(seed, application.assignment_configs, application.group_configs.protocol)
    except NoPlanError as error:
        source_map.add_mistake(error.path, error.message)
        return
    _check_unfinished(world, paths, source_map)


def _check_unfinished(world: World, paths: Mapping[int, ScenarioPath], source_map: SourceMap) -> None:
    at_end = replicas_at(world, world.duration_ms)
    lagging = [str(name) for name in at_end.falling_behind()]
    for reassignment, left in at_end.unfinished():
        status = f"not complete when the run ends at {format_duration(world.duration_ms)}"
        advice = "set a longer duration or a higher throttle"
        message = f"{status}: {left:,} of {len(reassignment.targets):,} partitions remain; {advice}"
        source_map.add_warning(paths[reassignment.at_ms], message)
    if lagging:
        path = (*paths[at_end.unfinished()[0][0].at_ms], "throttle")
        problem = "the throttle does not exceed the produce rate, so the reassignment never completes"
        source_map.add_warning(path, f"{problem} ({format_list('partitions', lagging, max_names=4)})")
