"""Reassignments that can be foretold: whether there is a plan, and whether the run is long enough for it."""

from __future__ import annotations

from collections.abc import Iterator

from scenarios.blueprint import Blueprint
from scenarios.errors import listing
from scenarios.plans import ReassignmentPlan
from scenarios.reassignments import NoPlanError
from scenarios.units import format_duration
from scenarios.validation import Places
from simulator.disturbances import Reassignment
from simulator.timeline import reassigned
from simulator.world import World


def foretell(blueprint: Blueprint, seed: int, places: Places) -> Iterator[str]:
    """What is to be known of reassignments, with one seed for all; a strategy without a plan is noted as a mistake.

    Args:
        blueprint: in which nothing is wrong.
        seed: places the replicas.
        places: takes the mistake.
    """
    if not any(isinstance(event, Reassignment | ReassignmentPlan) for event in blueprint.events):
        return
    application = blueprint.application
    try:
        world = blueprint.world(seed, application.assignment_configs, application.group_configs.protocol)
    except NoPlanError as error:
        places.wrong(error.path, error.message)
        return
    yield from _unfinished(world)


def _unfinished(world: World) -> Iterator[str]:
    at_end = reassigned(world, world.duration_ms)
    growing = [str(name) for name in at_end.losing_ground()]
    for said, left in at_end.left():
        when = f"the reassignment at {format_duration(said.at_ms)}"
        yield f"{when} is not done when the run ends: {left:,} of {len(said.targets):,} partitions are left"
    if growing:
        yield listing("as much is produced as throttles let be copied, so this never ends, of", growing, most=4)
