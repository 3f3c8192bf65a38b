"""Check the size of a scenario, and its seeds."""

from __future__ import annotations

from collections.abc import Sequence

from scenarios.language.validation import SourceMap
from scenarios.sampling.blueprint import MAX_TASK_CLIENT_PAIRS


def check_size(num_tasks: int, num_clients: int, source_map: SourceMap) -> None:
    """Report more tasks times clients than can be simulated."""
    if num_tasks * num_clients > MAX_TASK_CLIENT_PAIRS:
        product = f"{num_tasks:,} tasks on {num_clients:,} clients are {num_tasks * num_clients:,} pairs"
        source_map.add_mistake((), f"{product}, more than the {MAX_TASK_CLIENT_PAIRS:,} that can be simulated")


def check_seeds(seeds: Sequence[int], source_map: SourceMap) -> None:
    """Report duplicate seeds."""
    seen: set[int] = set()
    for i, seed in enumerate(seeds):
        if seed in seen:
            source_map.add_mistake(("seeds", i), f"duplicate seed {seed}")
        seen.add(seed)
