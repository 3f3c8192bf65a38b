"""Named streams of random numbers from one seed.

Each random decision has a stream of its own, named after what it decides. A new decision therefore never changes an
existing one, and all assignors of a scenario get the same random events.
"""

from __future__ import annotations

import hashlib

import numpy as np


def random_stream(seed: int, *names: str) -> np.random.Generator:
    """Return the random number generator for one purpose.

    `seed`: the run's seed, not negative; `names`: the purpose of the numbers, such as ("process_id", "app-3"). Returns
    the same sequence for the same seed and names, on every platform.
    """
    digest = hashlib.sha256("\x1f".join(names).encode()).digest()
    key = tuple(int.from_bytes(digest[i : i + 4], "big") for i in range(0, 16, 4))
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))


def random_order(seed: int, *names: str) -> int:
    """Return a random number for the order of one thing among others, much faster than a stream of its own.

    `seed`: the run's seed, not negative; `names`: the purpose of the number and what is ordered, such as ("member_id",
    "app-3", "0"). Returns a number from 0 to 2**64 - 1; the same for the same seed and names, on every platform.
    """
    digest = hashlib.sha256("\x1f".join((str(seed), *names)).encode()).digest()
    return int.from_bytes(digest[:8], "big")
