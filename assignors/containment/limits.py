"""The limits of a custom assignor."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

DEFAULT_TIMEOUT_S: Final = 300.0
"""Time limit of a call; Kafka's default `max.poll.interval.ms`, after which a leader has lost its group."""

DEFAULT_MEMORY_BYTES: Final = 4 * 2**30
"""Memory that an isolated assignor may allocate."""


@dataclass(frozen=True, slots=True)
class CallLimits:
    """The limits of the calls of a custom assignor; built-in assignors have none.

    Attributes:
        timeout_s: time limit of each call in seconds; `math.inf` for none.
        isolate: whether the assignor runs in a process of its own.
        memory_bytes: memory that this process may allocate for the assignor; applies on Linux.

    Raises:
        ValueError: a limit is not positive.
    """

    timeout_s: float = DEFAULT_TIMEOUT_S
    isolate: bool = False
    memory_bytes: int = DEFAULT_MEMORY_BYTES

    def __post_init__(self) -> None:
        if not self.timeout_s > 0 or math.isnan(self.timeout_s):
            raise ValueError(f"timeout_s is {self.timeout_s} (expected: seconds above 0, or math.inf)")
        if self.memory_bytes <= 0:
            raise ValueError(f"memory_bytes is {self.memory_bytes} (expected: bytes above 0)")


DEFAULT_LIMITS: Final = CallLimits()
"""The limits of custom assignors by default."""
