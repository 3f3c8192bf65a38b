"""The group configs of clients that are upgraded one after the other; those of the others are the application's."""

from __future__ import annotations

from simulator.world.disturbances import RollingBounce
from simulator.world.world import GroupConfigs, World


def group_configs_of(world: World, client: str, at_ms: int) -> GroupConfigs:
    """Return the group configs that a client has, given its Kafka release at a time.

    Args:
        world: the disturbances, of which upgrades change releases.
        client: name of the client.
        at_ms: the time; a client that restarts at that time has its new release.
    """
    upgrades = [
        (restart_ms, bounce.group_configs)
        for bounce in world.disturbances
        if isinstance(bounce, RollingBounce) and bounce.group_configs is not None
        for name, restart_ms in zip(bounce.clients, bounce.restarts_ms, strict=True)
        if name == client and restart_ms <= at_ms
    ]
    return max(upgrades, key=lambda upgrade: upgrade[0])[1] if upgrades else world.application.group_configs
