"""The hashes that identify runs. Imports little, because workers compute them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable


def run_ids(world: str, overrides: str, assignor: str) -> Callable[[int], str]:
    """Return the function that returns the hash of a run by its seed, equal in every sweep that contains the run.

    Args:
        world: hash of the scenario, from the manifest of the sweep.
        overrides: overrides of the scenario, as JSON.
        assignor: label of the assignor.
    """
    common = json.dumps([world, overrides, assignor], ensure_ascii=False).removesuffix("]")
    common_hash = hashlib.sha256(common.encode())  # The common part of the text is hashed once.

    def of_seed(seed: int) -> str:
        whole = common_hash.copy()
        whole.update(f", {seed}]".encode())
        return whole.hexdigest()[:32]

    return of_seed
