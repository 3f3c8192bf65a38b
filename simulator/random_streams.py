"""Named streams of random numbers from one seed.

Each use of chance has a stream of its own, named after what it decides, so that adding one use never changes another,
and all assignors of a scenario meet the same chances.
"""

from __future__ import annotations

import hashlib

import numpy as np


def random_stream(seed: int, *names: str) -> np.random.Generator:
    """The random numbers for one purpose.

    Args:
        seed: the run's seed, at least 0.
        names: what the numbers are for, such as ("process_id", "app-3").
    """
    digest = hashlib.sha256("\x1f".join(names).encode()).digest()
    key = tuple(int.from_bytes(digest[i : i + 4], "big") for i in range(0, 16, 4))
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))
