"""From what a scenario says will happen to the disturbances of one run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from assignors.model.configs import AssignmentConfigs
from scenarios.sampling.client_uptime import ClientUptime
from scenarios.sampling.event_plans import (
    ChurnPlan,
    ConfigEdit,
    CrashPlan,
    PlannedEvent,
    ReassignmentPlan,
    RollingBouncePlan,
)
from scenarios.sampling.planned_reassignments import plan_reassignment
from scenarios.sampling.random_events import EventDraws, draw_bounce_order, draw_churn, pick_crashing_clients
from simulator.world.disturbances import ConfigChange, Crash, Disturbance, Reassignment, RollingBounce
from simulator.world.world import World


def realize_events(events: Sequence[PlannedEvent], world: World, seed: int) -> tuple[Disturbance, ...]:
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
    draws = EventDraws(seed)
    unsettled = ConfigEdit | CrashPlan | RollingBouncePlan | ChurnPlan | ReassignmentPlan
    certain = [event for event in events if not isinstance(event, unsettled)]
    # What happens to partitions happens to no client.
    of_clients = tuple(event for event in certain if not isinstance(event, Reassignment))
    uptime = ClientUptime(replace(world, disturbances=of_clients))
    configs = world.application.assignment_configs
    settled: dict[int, list[Disturbance]] = {}
    for i, event in sorted(enumerate(events), key=lambda pair: pair[1].at_ms):
        match event:
            case ConfigEdit(at_ms=at_ms, changes=changes):
                configs = replace(configs, **changes)
                settled[i] = [ConfigChange(at_ms, configs)]
            case RollingBouncePlan(changes=changes):
                configs = replace(configs, **changes)
                settled[i] = list(_bounce(event, configs if changes else None, uptime, draws))
            case CrashPlan():
                settled[i] = list(_crash(event, uptime, draws))
            case ReassignmentPlan():
                certain.append(plan_reassignment(event, replace(world, disturbances=tuple(certain))))
                settled[i] = [certain[-1]]
            case ChurnPlan():
                continue
            case _:
                settled[i] = [event]
    for i, event in enumerate(events):
        if isinstance(event, ChurnPlan):
            settled[i] = list(draw_churn(event, uptime, draws))
    return tuple(disturbance for i in range(len(events)) for disturbance in settled[i])


def _crash(plan: CrashPlan, uptime: ClientUptime, draws: EventDraws) -> Iterator[Crash]:
    picked = pick_crashing_clients(plan, uptime, draws)
    for client in picked:
        uptime.add_absence(client, plan.at_ms, None if plan.down_ms is None else plan.at_ms + plan.down_ms)
    if picked:
        yield Crash(plan.at_ms, picked, plan.down_ms, plan.keeps_state)


def _bounce(
    plan: RollingBouncePlan, configs: AssignmentConfigs | None, uptime: ClientUptime, draws: EventDraws
) -> Iterator[RollingBounce]:
    clients = draw_bounce_order(plan, uptime, draws)
    for i, client in enumerate(clients):
        at_ms = plan.at_ms + i * (plan.down_ms + plan.pause_ms)
        uptime.add_absence(client, at_ms, at_ms + plan.down_ms)
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
