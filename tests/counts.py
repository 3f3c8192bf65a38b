"""How many random cases tests try: few by default and in `.ci/run`, many in `make certify` and every night."""

from __future__ import annotations

import os
from typing import Final

PROFILE: Final = os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "default")
"""The profile of Hypothesis, which other random tests follow."""


def few_or(many: int, few: int) -> int:
    """Return `many` where time does not matter, else `few`."""
    return many if PROFILE in ("certify", "nightly") else few
