"""How long Java assignors took, measured in Java; results of runs do not depend on it."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Final

_MAX_CALLS: Final = 100_000
"""Number of calls whose times are kept: enough for the median of long sweeps."""


@dataclass(slots=True)
class CallTimes:
    """The calls of one Java assignor in this process.

    Attributes:
        reference: how the user names it.
        java_ns: time of `assign` alone, measured in Java, in the order of the calls.
        total_ns: time of each exchange, with writing and reading JSON in Java.
        count: number of calls.
    """

    reference: str
    java_ns: list[int]
    total_ns: list[int]
    count: int = 0

    def __str__(self) -> str:
        first, median_ms, longest = (ns / 1e6 for ns in (self.java_ns[0], median(self.java_ns), max(self.java_ns)))
        bridge_ms = median(self.total_ns) / 1e6 - median_ms
        return (
            f"{self.count:,} calls; in Java, median {median_ms:.3g} ms, first {first:.3g} ms, "
            f"longest {longest:.3g} ms; bridge {bridge_ms:.2g} ms more"
        )


_TIMES: dict[str, CallTimes] = {}


def record_call(reference: str, java_ns: int, total_ns: int) -> None:
    """Record a call that returned."""
    times = _TIMES.setdefault(reference, CallTimes(reference, [], []))
    times.count += 1
    if len(times.java_ns) < _MAX_CALLS:
        times.java_ns.append(java_ns)
        times.total_ns.append(total_ns)


def call_times() -> list[CallTimes]:
    """Return the calls of each Java assignor in this process, in the order of the first calls."""
    return list(_TIMES.values())
