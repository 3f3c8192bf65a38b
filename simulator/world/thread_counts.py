"""How many stream threads clients have at most."""

from __future__ import annotations

from simulator.world.world import World


def max_thread_numbers(world: World) -> list[int]:
    """Return, for each client, how many numbers its stream threads have in the course of a run."""
    return [client.threads for client in world.clients]
