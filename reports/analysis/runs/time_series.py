"""Values over time for charts: one series per assignor, aggregated over seeds."""

from __future__ import annotations

import statistics
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reports.analysis.comparison import Tables, table_rows
from simulator.results.verdict import Verdict

RoundValues = Callable[[Sequence[Mapping[str, Any]]], list[float | None]]
"""Computes a value for each round of a run; None if unknown."""

_SHORT_MS = 60_000
"""Rounds shorter than this are merged with the next one: their mean rate says little about the assignment."""


@dataclass(frozen=True, slots=True)
class TimeSeries:
    """A step function of time for one assignor: each value holds until the next time.

    Attributes:
        label: label of the assignor, with the scenario if there are several.
        at_ms: times of the rounds of all seeds, strictly ascending.
        values: median over the seeds with a known value; None without any.
        minimums: minimum over the same seeds.
        maximums: maximum over the same seeds.
        until_ms: end of the last value.
        rounds_ms: times of the rounds of the first seed, which are marked.
        failed: whether a run failed.
    """

    label: str
    at_ms: tuple[int, ...]
    values: tuple[float | None, ...]
    minimums: tuple[float | None, ...]
    maximums: tuple[float | None, ...]
    until_ms: int
    rounds_ms: tuple[int, ...]
    failed: bool

    def at(self, time_ms: int) -> float | None:
        """Return the value at a time; None before the first round."""
        index = bisect_right(self.at_ms, time_ms)
        return self.values[index - 1] if index else None

    @property
    def varies(self) -> bool:
        """Whether seeds differ at any time."""
        return self.minimums != self.maximums


@dataclass(frozen=True, slots=True)
class EventMarker:
    """The events of a scenario at one time.

    Attributes:
        at_ms: the time.
        texts: descriptions of the events.
    """

    at_ms: int
    texts: tuple[str, ...]


def displaced_tasks(rounds: Sequence[Mapping[str, Any]]) -> list[float | None]:
    """Return the number of active tasks that are not on their final client, for each round."""
    return [row["displaced_tasks"] for row in rounds]


def cross_rack_rate(rounds: Sequence[Mapping[str, Any]]) -> list[float | None]:
    """Return the mean cross-rack bytes per second of each round.

    Short rounds, for example before a follow-up rebalance, are merged with the next round.
    """
    rates: list[float | None] = []
    merged: list[Mapping[str, Any]] = []
    for row in rounds:
        merged.append(row)
        span_ms = row["until_ms"] - merged[0]["at_ms"]
        if span_ms >= _SHORT_MS or row is rounds[-1]:
            known = [row["cross_rack_bytes"] for row in merged if row["cross_rack_bytes"] is not None]
            rate = 1000 * sum(known) / span_ms if span_ms and len(known) == len(merged) else None
            rates += [rate] * len(merged)
            merged = []
    return rates


def series(tables: Tables, of: RoundValues) -> list[TimeSeries]:
    """Return the series of each assignor, in the order of the table `runs`; empty for assignors without rounds.

    `tables`: must hold `runs` and `rounds`.
    """
    runs = table_rows(tables, "runs")
    several = len({run["scenario"] for run in runs}) > 1
    rounds: dict[tuple[str, str], dict[int, list[dict[str, Any]]]] = {}
    failed: dict[tuple[str, str], bool] = {}
    for run in runs:
        key = run["scenario"], run["assignor"]
        rounds.setdefault(key, {})[run["seed"]] = []
        failed[key] = failed.get(key, False) or run["verdict"] in (Verdict.FAILED, Verdict.STOPPED)
    for row in table_rows(tables, "rounds"):
        rounds[row["scenario"], row["assignor"]][row["seed"]].append(row)
    return [
        _series(": ".join(key) if several else key[1], list(seeds.values()), of, failed[key])
        for key, seeds in rounds.items()
    ]


def events(tables: Tables) -> list[EventMarker]:
    """Return the events of the first run: all assignors of a scenario get the same events."""
    texts: dict[int, list[str]] = {}
    rows = table_rows(tables, "events")
    keys = ("scenario", "assignor", "seed")
    for row in rows:
        if all(row[key] == rows[0][key] for key in keys):
            texts.setdefault(row["at_ms"], []).append(row["event"])
    return [EventMarker(at_ms, tuple(descriptions)) for at_ms, descriptions in sorted(texts.items())]


def _series(label: str, seeds: Sequence[list[dict[str, Any]]], of: RoundValues, failed: bool) -> TimeSeries:
    times = tuple(sorted({row["at_ms"] for rounds in seeds for row in rounds}))
    per_seed = [_values_at(times, rounds, of) for rounds in seeds]
    known = [[value for value in values if value is not None] for values in zip(*per_seed, strict=True)]
    return TimeSeries(
        label=label,
        at_ms=times,
        values=tuple(statistics.median(values) if values else None for values in known),
        minimums=tuple(min(values, default=None) for values in known),
        maximums=tuple(max(values, default=None) for values in known),
        until_ms=max((row["until_ms"] for rounds in seeds for row in rounds), default=0),
        rounds_ms=tuple(row["at_ms"] for row in seeds[0]),
        failed=failed,
    )


def _values_at(times: Sequence[int], rounds: Sequence[dict[str, Any]], of: RoundValues) -> list[float | None]:
    """Return the value at each time for one seed; None before its first round."""
    starts = [row["at_ms"] for row in rounds]
    indices = [bisect_right(starts, time) - 1 for time in times]
    round_values = of(rounds)
    return [round_values[index] if index >= 0 else None for index in indices]
