"""Evaluation of Kafka's run times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Self

from tools.kafka_oracle.__main__ import Timing, measured, time_problem

Json = dict[str, Any]


class Stopwatch:
    """A replacement for the Java process with given run times."""

    def __init__(self, *nanos: int) -> None:
        self.nanos = nanos
        self.mode: tuple[str, ...] = ()

    def __call__(self, kafka_version: str, mode: tuple[str, ...], **options: Any) -> Self:
        self.mode = mode
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def ask(self, problems: Iterable[Json]) -> Iterator[tuple[Json, Json]]:
        return ((problem, {"nanos": list(self.nanos), "java": "A VM 17"}) for problem in problems)


def test_runs_budget_and_limit_are_passed_to_java() -> None:
    stopwatch = Stopwatch()
    time_problem("4.3.1", {}, runs=3, warm_ups=1, budget_s=7.5, limit_s=20, open_oracle=stopwatch)
    assert stopwatch.mode == ("time", "4", "7500", "20000")


def test_a_first_run_beyond_the_limit_is_reported_as_stopped() -> None:
    timing = time_problem("4.3.1", {"id": "huge"}, limit_s=20, open_oracle=Stopwatch())
    assert timing == Timing("huge", (), 20, "A VM 17")


def test_a_run_within_the_limit_is_not_reported_as_stopped() -> None:
    timing = time_problem("4.3.1", {"id": "large"}, limit_s=20, open_oracle=Stopwatch(19_000_000_000))
    assert timing == Timing("large", (19_000.0,), None, "A VM 17")


def test_warm_ups_do_not_count() -> None:
    assert measured([9_000_000, 8_000_000, 3_000_000, 1_000_000, 2_000_000], 2) == (3.0, 1.0, 2.0)


def test_warmup_counts_if_there_is_no_measured_run() -> None:
    assert measured([70_000_000_000], 2) == (70_000.0,)


def test_the_median_is_shown_with_its_range() -> None:
    assert Timing("300x30", (3.0, 1.0, 2.0)).line() == "300x30: median 2.0 ms of 3 (1.0 to 3.0)"


def test_a_stopped_run_has_no_median() -> None:
    timing = Timing("1000x50", (), 150.0)
    assert timing.line() == "1000x50: > 150 s (stopped)"
    assert timing.summary() == {"id": "1000x50", "median_ms": None, "runs_ms": [], "stopped_after_s": 150.0, "java": ""}
