"""Run time of Kafka's own assignors in a warm JVM."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from statistics import median
from typing import Any

from tools.kafka_oracle.oracle import KafkaOracle, Oracle

Json = dict[str, Any]
OracleFactory = Callable[..., AbstractContextManager[Oracle]]

RUNS = 5
WARM_UPS = 2
BUDGET_S = 50.0
LIMIT_S = 150.0
STARTING_S = 60.0
"""Time for Java to start and to read the problem."""
OPTIONS = ("-Xmx4g",)
"""JVM options; defaults otherwise, as in production."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Kafka's run time on one problem.

    Attributes:
        name: Id of the problem.
        runs_ms: Duration of each measured run; empty if Kafka was stopped.
        stopped_after_s: Time after which the first run was stopped; None if it finished.
        java: Java virtual machine.
    """

    name: str
    runs_ms: tuple[float, ...]
    stopped_after_s: float | None = None
    java: str = ""

    @property
    def median_ms(self) -> float | None:
        """Median of the measured runs; None if Kafka was stopped in the first run."""
        return median(self.runs_ms) if self.runs_ms else None

    def line(self) -> str:
        """Return one line of text."""
        if self.median_ms is None:
            return f"{self.name}: > {self.stopped_after_s:g} s (stopped)"
        least, most = min(self.runs_ms), max(self.runs_ms)
        return f"{self.name}: median {self.median_ms:.1f} ms of {len(self.runs_ms)} ({least:.1f} to {most:.1f})"

    def summary(self) -> Json:
        """Return the measurements as plain values."""
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
    open_oracle: OracleFactory = KafkaOracle,
) -> Timing:
    """Measure the run time of Kafka's `assign` alone, with hash collections as in production, in a separate JVM.

    No run starts after `budget_s` seconds of runs; if that leaves no measured run, the last warm-up counts. A run that
    exceeds `limit_s` seconds is stopped and is the last one. `warm_ups`: number of runs before the measured ones.
    `budget_s`: time after which no run starts. `open_oracle`: starts the Java process; takes the arguments of
    `KafkaOracle`.
    """
    mode = ("time", str(warm_ups + runs), str(int(budget_s * 1000)), str(int(limit_s * 1000)))
    with open_oracle(kafka_version, mode, options=OPTIONS, limit_s=STARTING_S + budget_s + limit_s) as oracle:
        [(_, timed)] = oracle.ask([problem])
    runs_ms = measured(timed["nanos"], warm_ups)
    return Timing(str(problem.get("id", "")), runs_ms, None if runs_ms else limit_s, timed["java"])


def measured(nanos: list[int], warm_ups: int) -> tuple[float, ...]:
    """Return the measured runs in milliseconds: those after the warm-ups, or the last one if there are none."""
    return tuple(n / 1e6 for n in nanos[warm_ups:] or nanos[-1:])
