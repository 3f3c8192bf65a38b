"""Figures over time, ready to be drawn: one line an assignor, whatever the number of seeds."""

from __future__ import annotations

import statistics
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reports.analysis.comparison import Tables, table_rows

RoundValues = Callable[[Sequence[Mapping[str, Any]]], list[float | None]]
"""A figure of each of a run's rounds; None where it is not known."""

_SHORT_MS = 60_000
"""Rounds in which a rate would say more about the moment than about the assignment."""


@dataclass(frozen=True, slots=True)
class TimeSeries:
    """A figure of `rounds` over time for one assignor; between two points the first one's value holds.

    Attributes:
        label: names the assignor, and the scenario if there are several.
        at_ms: when the value may change: the rounds of all seeds, strictly ascending.
        values: the median over the seeds that have a value then; None where none has.
        least: the same for the least value.
        most: the same for the most.
        until_ms: until when the last value holds.
        rounds_ms: when the rounds of the first seed were; these get marks.
        failed: whether a run failed.
    """

    label: str
    at_ms: tuple[int, ...]
    values: tuple[float | None, ...]
    least: tuple[float | None, ...]
    most: tuple[float | None, ...]
    until_ms: int
    rounds_ms: tuple[int, ...]
    failed: bool

    def at(self, moment_ms: int) -> float | None:
        """The value that holds at a moment; None before the first round."""
        index = bisect_right(self.at_ms, moment_ms)
        return self.values[index - 1] if index else None

    @property
    def varies(self) -> bool:
        """Whether seeds differ anywhere."""
        return self.least != self.most


@dataclass(frozen=True, slots=True)
class EventMarker:
    """What the scenario did at a moment: everything of one moment together."""

    at_ms: int
    texts: tuple[str, ...]


def displaced_tasks(rounds: Sequence[Mapping[str, Any]]) -> list[float | None]:
    """How many tasks are not where they will be in the end."""
    return [row["displaced_tasks"] for row in rounds]


def cross_rack_rate(rounds: Sequence[Mapping[str, Any]]) -> list[float | None]:
    """Bytes per second that really crossed from rack to rack.

    It is the mean of a round; short ones, as those in which tasks are handed over, are taken together with the next.
    """
    rates: list[float | None] = []
    together: list[Mapping[str, Any]] = []
    for row in rounds:
        together.append(row)
        span_ms = row["until_ms"] - together[0]["at_ms"]
        if span_ms >= _SHORT_MS or row is rounds[-1]:
            known = [each["cross_rack_bytes"] for each in together if each["cross_rack_bytes"] is not None]
            rate = 1000 * sum(known) / span_ms if span_ms and len(known) == len(together) else None
            rates += [rate] * len(together)
            together = []
    return rates


def series(tables: Tables, of: RoundValues) -> list[TimeSeries]:
    """A line for each assignor, in the order of the table `runs`; empty ones for those without rounds.

    Raises:
        TableError: there is no table `runs` or `rounds`.
    """
    runs = table_rows(tables, "runs")
    several = len({run["scenario"] for run in runs}) > 1
    rounds: dict[tuple[str, str], dict[int, list[dict[str, Any]]]] = {}
    failed: dict[tuple[str, str], bool] = {}
    for run in runs:
        key = run["scenario"], run["assignor"]
        rounds.setdefault(key, {})[run["seed"]] = []
        failed[key] = failed.get(key, False) or run["verdict"] == "failed"
    for row in table_rows(tables, "rounds"):
        rounds[row["scenario"], row["assignor"]][row["seed"]].append(row)
    return [
        _series(": ".join(key) if several else key[1], list(seeds.values()), of, failed[key])
        for key, seeds in rounds.items()
    ]


def events(tables: Tables) -> list[EventMarker]:
    """What happened in the runs of the first assignor and seed: all assignors of a scenario face the same.

    Raises:
        TableError: there is no table `events`.
    """
    texts: dict[int, list[str]] = {}
    rows = table_rows(tables, "events")
    keys = ("scenario", "assignor", "seed")
    for row in rows:
        if all(row[key] == rows[0][key] for key in keys):
            texts.setdefault(row["at_ms"], []).append(row["event"])
    return [EventMarker(at_ms, tuple(of_moment)) for at_ms, of_moment in sorted(texts.items())]


def _series(label: str, seeds: Sequence[list[dict[str, Any]]], of: RoundValues, failed: bool) -> TimeSeries:
    moments = tuple(sorted({row["at_ms"] for rounds in seeds for row in rounds}))
    per_seed = [_values_at(moments, rounds, of) for rounds in seeds]
    known = [[value for value in values if value is not None] for values in zip(*per_seed, strict=True)]
    return TimeSeries(
        label=label,
        at_ms=moments,
        values=tuple(statistics.median(values) if values else None for values in known),
        least=tuple(min(values, default=None) for values in known),
        most=tuple(max(values, default=None) for values in known),
        until_ms=max((row["until_ms"] for rounds in seeds for row in rounds), default=0),
        rounds_ms=tuple(row["at_ms"] for row in seeds[0]),
        failed=failed,
    )


def _values_at(moments: Sequence[int], rounds: Sequence[dict[str, Any]], of: RoundValues) -> list[float | None]:
    """What a seed's rounds have at each moment; None before the first of them."""
    starts = [row["at_ms"] for row in rounds]
    indices = [bisect_right(starts, moment) - 1 for moment in moments]
    of_rounds = of(rounds)
    return [of_rounds[index] if index >= 0 else None for index in indices]
