"""The run function: every command, sweep, notebook and test simulates through it."""

from __future__ import annotations

from assignors import registry
from assignors.model.assignment import TaskAssignor
from assignors.registry import AssignorLike
from scenarios.load import AssignorSpec, Scenario
from simulator.processes.neighbors import Neighbor, simulate_alongside
from simulator.processes.run_options import DEFAULT_OPTIONS, RunOptions
from simulator.results.trace import Trace
from simulator.world.leave_on_close import releases_after_upgrades
from simulator.world.world import World


def run(
    scenario: Scenario,
    assignor: AssignorLike | AssignorSpec,
    seed: int | None = None,
    options: RunOptions = DEFAULT_OPTIONS,
) -> Trace:
    """Simulate a scenario with one assignor and one seed.

    The trace depends on scenario, assignor and seed only; the options record more, but do not change other results. If
    the assignment is invalid, a built-in assignor raises an `AssignorError` or a custom one fails in any way (see
    `assignors.containment`), the run ends there and `Trace.failure` has the reason.

    Args:
        assignor: a label of the scenario, a registered name, `package.module:Class`, an instance, a class, or a
            callable from state to assignment.
        seed: random seed; by default the first seed of the scenario.
        options: what the run records beside its figures, and when it is stopped.
    """
    spec = assignor if isinstance(assignor, AssignorSpec) else scenario.assignor_spec(assignor)
    run_seed = scenario.seeds[0] if seed is None else seed
    return run_world(scenario, scenario.world(run_seed, spec), spec, run_seed, options)


def run_world(
    scenario: Scenario,
    world: World,
    spec: AssignorSpec,
    seed: int,
    options: RunOptions = DEFAULT_OPTIONS,
) -> Trace:
    """Simulate a world of a scenario, together with the scenario's neighbors.

    `world`: its world, possibly changed; `seed`: the random seed of the world and of the neighbors.
    """
    upgraded = _upgraded_assignors(world, spec)
    neighbors = [
        Neighbor(other, other_spec.make(), other_spec.info.weights)
        for other_spec, other in scenario.neighbor_worlds(world, spec, seed)
    ]
    return simulate_alongside(world, spec.make(), spec.info.weights, options, neighbors=neighbors, upgraded=upgraded)


def _upgraded_assignors(world: World, spec: AssignorSpec) -> dict[str, TaskAssignor]:
    """Return the assignors of the releases to which those who run them are upgraded, and `""` for that before."""
    if not spec.follows_release:
        return {}
    plain = registry.find(spec.info.name_without_release)
    releases = releases_after_upgrades(world, of_brokers=plain.in_streams_groups)
    if not releases:
        return {}
    infos = {release: plain.in_group(release, release) for release in sorted(releases)}
    return {release: registry.make(info, spec.parameters) for release, info in {"": spec.info, **infos}.items()}
