"""The declaration of a relation, and the number of worlds for which it is checked.

`RELATION_WORLDS=2000 make test-answers` checks ten times as many as usual; `HYPOTHESIS_PROFILE=nightly` draws others
each time, as `make certify` does.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, settings

from tests.counts import PROFILE

WORLDS = int(os.environ.get("RELATION_WORLDS", "200"))
"""The number of random worlds over all relations."""


def relation(share: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Mark a test as a relation; its docstring is the sentence in docs/development/relations.md.

    Args:
        share: number of worlds out of 2,000 for which the relation is checked.
    """

    def mark(test: Callable[..., Any]) -> Callable[..., Any]:
        return settings(
            max_examples=max(1, WORLDS * share // 2_000),
            derandomize=PROFILE not in ("certify", "nightly"),
            database=None,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        )(test)

    return mark
