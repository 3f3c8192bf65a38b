"""How long Kafka's own assignors take, in a warm JVM."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Any

from tools.kafka_oracle.oracle import KafkaOracle

Json = dict[str, Any]

RUNS = 5
WARM_UPS = 2
BUDGET_S = 50.0
LIMIT_S = 150.0
STARTING_S = 60.0
"""Enough for Java to start and to read the problem."""
OPTIONS = ("-Xmx4g",)
"""The JVM's own choice in all else, as in production."""


@dataclass(frozen=True, slots=True)
class Timing:
    """How long one problem took Kafka.

    Attributes:
        name: the problem's id.
        runs_ms: what each measured run took, in milliseconds; empty if Kafka was stopped.
        stopped_after_s: after how many seconds of its first run it was stopped; None if it came to its end.
        java: the Java virtual machine.
    """

    name: str
    runs_ms: tuple[float, ...]
    stopped_after_s: float | None = None
    java: str = ""

    @property
    def median_ms(self) -> float | None:
        """The median of the measured runs; None if Kafka was stopped before the first was over."""
        return median(self.runs_ms) if self.runs_ms else None

    def line(self) -> str:
        """One line for people."""
        if self.median_ms is None:
            return f"{self.name}: > {self.stopped_after_s:g} s (stopped)"
        least, most = min(self.runs_ms), max(self.runs_ms)
        return f"{self.name}: median {self.median_ms:.1f} ms of {len(self.runs_ms)} ({least:.1f} to {most:.1f})"

    def summary(self) -> Json:
        """The same for programs."""
        return {
            "id": self.name,
            "median_ms": self.median_ms,
            "runs_ms": list(self.runs_ms),
            "stopped_after_s": self.stopped_after_s,
            "java": self.java,
        }


def time_problem(
    kafka_version: str,
    problem: Json,
    *,
    runs: int = RUNS,
    warm_ups: int = WARM_UPS,
    budget_s: float = BUDGET_S,
    limit_s: float = LIMIT_S,
) -> Timing:
    """Time Kafka's `assign` alone, in the order of production, in a JVM of its own that answers nothing else.

    No run is begun once `budget_s` seconds were spent on runs; where that leaves none after the warm-ups, the last
    warm-up counts. A run that takes longer than `limit_s` seconds is given up, and no other is begun.

    Raises:
        ClusterError: Maven, Java or Kafka fail.
        TimeoutError: Java does not even start.
    """
    mode = ("time", str(warm_ups + runs), str(int(budget_s * 1000)), str(int(limit_s * 1000)))
    with KafkaOracle(kafka_version, mode, options=OPTIONS, limit_s=STARTING_S + budget_s + limit_s) as oracle:
        [(_, timed)] = oracle.ask([problem])
    runs_ms = measured(timed["nanos"], warm_ups)
    return Timing(str(problem.get("id", "")), runs_ms, None if runs_ms else limit_s, timed["java"])


def measured(nanos: list[int], warm_ups: int) -> tuple[float, ...]:
    """The runs that count, in milliseconds: those after the warm-ups, or the last one if there are none."""
    return tuple(n / 1e6 for n in nanos[warm_ups:] or nanos[-1:])
