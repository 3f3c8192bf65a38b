"""The time and the memory of an assignment, of two assignors at several sizes."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean


@dataclass(frozen=True, slots=True)
class TimedSize:
    """Two assignors at one size, in several JVMs each.

    Attributes:
        tasks: number of tasks.
        threads: number of threads.
        base_ns: mean nanoseconds of a call of the baseline, by JVM.
        head_ns: the same for the assignor under review.
        base_bytes: what a call of the baseline allocates on the heap, in bytes.
        head_bytes: the same for the assignor under review.
    """

    tasks: int
    threads: int
    base_ns: tuple[float, ...]
    head_ns: tuple[float, ...]
    base_bytes: float
    head_bytes: float

    @property
    def ratio(self) -> float:
        """The mean time of the assignor under review, divided by that of the baseline."""
        return fmean(self.head_ns) / fmean(self.base_ns)

    @property
    def ratio_range(self) -> tuple[float, float]:
        """The lowest and the highest ratio of two JVMs, one of each."""
        return min(self.head_ns) / max(self.base_ns), max(self.head_ns) / min(self.base_ns)
