"""Wait for the first of several events."""

from __future__ import annotations

from collections.abc import Sequence

import simpy


def first_of(env: simpy.Environment, awaited: Sequence[simpy.Event]) -> simpy.Event:
    """Return an event that succeeds with the first of some events: `any_of` without their values, which cost time.

    Args:
        env: the environment.
        awaited: events that have not been processed, and that do not fail.
    """
    first = env.event()

    def succeed(_: simpy.Event) -> None:
        if not first.triggered:
            first.succeed()

    for event in awaited:
        event.callbacks.append(succeed)
    return first
