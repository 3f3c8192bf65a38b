"""The sampling of planned events into the disturbances of one run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from assignors.model.configs import AssignmentConfigs
from scenarios.sampling.client_uptime import ClientUptime
from scenarios.sampling.event_plans import (
    BrokerUpgradePlan,
    ChurnPlan,
    ConfigEdit,
    CrashPlan,
    PlannedEvent,
    ReassignmentPlan,
    RollingBouncePlan,
)
from scenarios.sampling.planned_reassignments import plan_reassignment
from scenarios.sampling.random_events import EventDraws, draw_bounce_order, draw_churn, pick_crashing_clients
from simulator.world.disturbances import (
    BrokerUpgrade,
    ConfigChange,
    Crash,
    Disturbance,
    Reassignment,
    RollingBounce,
)
from simulator.world.world import GroupConfigs, GroupProtocol, World


def realize_events(
    events: Sequence[PlannedEvent], world: World, seed: int, stream: str | None = None
) -> tuple[Disturbance, ...]:
    """Turn planned events into disturbances, in the order of the scenario.

    Priority: deterministic events apply first; then random crashes and rolling restarts in order of time, which skip
    absent clients; churn applies last and avoids all other events. Configs are those of the run with all config changes
    and rollouts up to that time. Strategies plan reassignments in order of time, each from the result of the earlier
    ones.

    Args:
        events: the planned events.
        world: the world without disturbances; its application has the configs of the run.
        seed: the random seed.
        stream: a name for draws that are independent of the usual ones; None for the usual ones.

    Returns:
        The disturbances, in the order of the events.

    Raises:
        NoPlanError: a strategy finds no plan.
    """
    draws = EventDraws(seed, stream)
    sampled_kinds = ConfigEdit | CrashPlan | RollingBouncePlan | ChurnPlan | ReassignmentPlan
    protocol = world.application.group_configs.protocol
    deterministic = [
        _with_protocol(event, protocol) if isinstance(event, BrokerUpgradePlan) else event
        for event in events
        if not isinstance(event, sampled_kinds)
    ]
    # Reassignments do not affect the uptime of clients.
    client_events = tuple(event for event in deterministic if not isinstance(event, Reassignment))
    uptime = ClientUptime(replace(world, disturbances=client_events))
    configs = world.application.assignment_configs
    disturbances: dict[int, list[Disturbance]] = {}
    for i, event in sorted(enumerate(events), key=lambda pair: pair[1].at_ms):
        match event:
            case ConfigEdit(at_ms=at_ms, changes=changes):
                configs = replace(configs, **changes)
                disturbances[i] = [ConfigChange(at_ms, configs)]
            case RollingBouncePlan(changes=changes):
                configs = replace(configs, **changes)
                group_configs = event.group_configs.get(protocol)
                disturbances[i] = list(_bounce(event, configs if changes else None, group_configs, uptime, draws))
            case BrokerUpgradePlan():
                disturbances[i] = [_with_protocol(event, protocol)]
            case CrashPlan():
                disturbances[i] = list(_crash(event, uptime, draws))
            case ReassignmentPlan():
                deterministic.append(plan_reassignment(event, replace(world, disturbances=tuple(deterministic))))
                disturbances[i] = [deterministic[-1]]
            case ChurnPlan():
                continue
            case _:
                disturbances[i] = [event]
    for i, event in enumerate(events):
        if isinstance(event, ChurnPlan):
            disturbances[i] = list(draw_churn(event, uptime, draws))
    return tuple(disturbance for i in range(len(events)) for disturbance in disturbances[i])


def _with_protocol(plan: BrokerUpgradePlan, protocol: GroupProtocol) -> BrokerUpgrade:
    """Return the upgrade of the brokers of a group with a protocol."""
    configs = plan.group_configs[protocol]
    return BrokerUpgrade(plan.at_ms, plan.brokers, plan.down_ms, plan.pause_ms, plan.release, configs)


def _crash(plan: CrashPlan, uptime: ClientUptime, draws: EventDraws) -> Iterator[Crash]:
    crashing_clients = pick_crashing_clients(plan, uptime, draws)
    for client in crashing_clients:
        uptime.add_absence(client, plan.at_ms, None if plan.down_ms is None else plan.at_ms + plan.down_ms)
    if crashing_clients:
        yield Crash(plan.at_ms, crashing_clients, plan.down_ms, plan.disk)


def _bounce(
    plan: RollingBouncePlan,
    configs: AssignmentConfigs | None,
    group_configs: GroupConfigs | None,
    uptime: ClientUptime,
    draws: EventDraws,
) -> Iterator[RollingBounce]:
    clients = draw_bounce_order(plan, uptime, draws)
    for i, client in enumerate(clients):
        at_ms = plan.at_ms + i * plan.interval_ms
        uptime.add_absence(client, at_ms + plan.closing.begins_after_ms, at_ms + plan.interval_ms - plan.pause_ms)
    if clients:
        yield RollingBounce(
            at_ms=plan.at_ms,
            clients=clients,
            down_ms=plan.down_ms,
            pause_ms=plan.pause_ms,
            disk=plan.disk,
            configs=configs,
            announces_rack=plan.announces_rack,
            closing=plan.closing,
            release=plan.release,
            group_configs=group_configs,
            consumer=plan.consumer,
        )
