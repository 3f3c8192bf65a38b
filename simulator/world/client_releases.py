"""The releases of clients and brokers that are upgraded one after the other; those of others are the application's."""

from __future__ import annotations

from simulator.world.disturbances import BrokerUpgrade, RollingBounce
from simulator.world.group_configs import GroupConfigs
from simulator.world.world import World


def group_configs_of(world: World, client: str, at_ms: int) -> GroupConfigs:
    """Return the group configs that a client has, given its Kafka release at a time.

    `world`: the disturbances, of which upgrades change releases. `at_ms`: the time; a client that restarts at that time
    has its new release.
    """
    upgrades = [
        (restart_ms, bounce.group_configs)
        for bounce in world.disturbances
        if isinstance(bounce, RollingBounce) and bounce.group_configs is not None
        for name, restart_ms in zip(bounce.clients, bounce.restarts_ms, strict=True)
        if name == client and restart_ms <= at_ms
    ]
    return max(upgrades, key=lambda upgrade: upgrade[0])[1] if upgrades else world.application.group_configs


def releases_after_upgrades(world: World, *, of_brokers: bool) -> frozenset[str]:
    """Return the releases to which brokers, or else clients, are upgraded."""
    if of_brokers:
        return frozenset(event.release for event in world.disturbances if isinstance(event, BrokerUpgrade))
    bounces = (event for event in world.disturbances if isinstance(event, RollingBounce))
    return frozenset(bounce.release for bounce in bounces if bounce.release is not None)
