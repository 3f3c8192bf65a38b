"""Figures over time, ready to be drawn: one line an assignor, whatever the number of seeds."""

from __future__ import annotations

import statistics
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reports.comparison import Tables, table_rows


@dataclass(frozen=True, slots=True)
class Series:
    """A column of `rounds` over time for one assignor; between two points the first one's value holds.

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
class Event:
    """What the scenario did at a moment: everything of one moment together."""

    at_ms: int
    texts: tuple[str, ...]


def series(tables: Tables, column: str) -> list[Series]:
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
        _series(": ".join(key) if several else key[1], list(seeds.values()), column, failed[key])
        for key, seeds in rounds.items()
    ]


def events(tables: Tables) -> list[Event]:
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
    return [Event(at_ms, tuple(of_moment)) for at_ms, of_moment in sorted(texts.items())]


def _series(label: str, seeds: Sequence[list[dict[str, Any]]], column: str, failed: bool) -> Series:
    moments = tuple(sorted({row["at_ms"] for rounds in seeds for row in rounds}))
    per_seed = [_values_at(moments, rounds, column) for rounds in seeds]
    known = [[value for value in values if value is not None] for values in zip(*per_seed, strict=True)]
    return Series(
        label=label,
        at_ms=moments,
        values=tuple(statistics.median(values) if values else None for values in known),
        least=tuple(min(values, default=None) for values in known),
        most=tuple(max(values, default=None) for values in known),
        until_ms=max((row["until_ms"] for rounds in seeds for row in rounds), default=0),
        rounds_ms=tuple(row["at_ms"] for row in seeds[0]),
        failed=failed,
    )


def _values_at(moments: Sequence[int], rounds: Sequence[dict[str, Any]], column: str) -> list[float | None]:
    """What a seed's rounds have at each moment; None before the first of them."""
    starts = [row["at_ms"] for row in rounds]
    indices = [bisect_right(starts, moment) - 1 for moment in moments]
    return [rounds[index][column] if index >= 0 else None for index in indices]
