"""From what a scenario says will happen to the disturbances of one run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from assignors.configs import AssignmentConfigs
from scenarios.chance import Draws, bounce_order, churn, pick
from scenarios.plans import BouncePlan, Churn, ConfigEdit, CrashPlan, PlannedEvent, ReassignmentPlan
from scenarios.reassignments import reassign
from scenarios.uptime import Uptime
from simulator.disturbances import ConfigChange, Crash, Disturbance, Reassignment, RollingBounce
from simulator.world import World


def settle(events: Sequence[PlannedEvent], world: World, seed: int) -> tuple[Disturbance, ...]:
    """Make disturbances of events, in their order.

    Args:
        events: what the scenario says.
        world: without disturbances, in which the application has the configs of the run.
        seed: draws what is left to chance.

    Priority: what is certain comes first; then, in order of time, draws and restarts, which pass over clients that are
    not there; churn comes last and keeps away from all else. Configs are those of the run with all edits and rollouts
    up to that time. Strategies plan reassignments in order of time, each from what those before it come to.

    Raises:
        NoPlanError: a strategy has no plan; says why.
    """
    draws = Draws(seed)
    unsettled = ConfigEdit | CrashPlan | BouncePlan | Churn | ReassignmentPlan
    certain = [event for event in events if not isinstance(event, unsettled)]
    # What happens to partitions happens to no client.
    of_clients = tuple(event for event in certain if not isinstance(event, Reassignment))
    uptime = Uptime(replace(world, disturbances=of_clients))
    configs = world.application.assignment_configs
    settled: dict[int, list[Disturbance]] = {}
    for i, event in sorted(enumerate(events), key=lambda pair: pair[1].at_ms):
        match event:
            case ConfigEdit(at_ms=at_ms, changes=changes):
                configs = replace(configs, **changes)
                settled[i] = [ConfigChange(at_ms, configs)]
            case BouncePlan(changes=changes):
                configs = replace(configs, **changes)
                settled[i] = list(_bounce(event, configs if changes else None, uptime, draws))
            case CrashPlan():
                settled[i] = list(_crash(event, uptime, draws))
            case ReassignmentPlan():
                certain.append(reassign(event, replace(world, disturbances=tuple(certain))))
                settled[i] = [certain[-1]]
            case Churn():
                continue
            case _:
                settled[i] = [event]
    for i, event in enumerate(events):
        if isinstance(event, Churn):
            settled[i] = list(churn(event, uptime, draws))
    return tuple(disturbance for i in range(len(events)) for disturbance in settled[i])


def _crash(plan: CrashPlan, uptime: Uptime, draws: Draws) -> Iterator[Crash]:
    picked = pick(plan, uptime, draws)
    for client in picked:
        uptime.take_down(client, plan.at_ms, None if plan.down_ms is None else plan.at_ms + plan.down_ms)
    if picked:
        yield Crash(plan.at_ms, picked, plan.down_ms, plan.keeps_state)


def _bounce(
    plan: BouncePlan, configs: AssignmentConfigs | None, uptime: Uptime, draws: Draws
) -> Iterator[RollingBounce]:
    clients = bounce_order(plan, uptime, draws)
    for i, client in enumerate(clients):
        at_ms = plan.at_ms + i * (plan.down_ms + plan.pause_ms)
        uptime.take_down(client, at_ms, at_ms + plan.down_ms)
    if clients:
        yield RollingBounce(
            at_ms=plan.at_ms,
            clients=clients,
            down_ms=plan.down_ms,
            pause_ms=plan.pause_ms,
            keeps_state=plan.keeps_state,
            configs=configs,
            announces_rack=plan.announces_rack,
            leaves_group=plan.leaves_group,
        )
