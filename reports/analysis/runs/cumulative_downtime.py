"""Cumulative downtime of all tasks over time, one curve per assignor."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc

from reports.analysis.comparison import Tables, rows_of_run
from reports.analysis.runs.breakdowns import Key, assignor_label, runs_by_assignor
from reports.analysis.statistics import Floats


@dataclass(frozen=True, slots=True)
class DowntimeCurve:
    """The downtime of all tasks since the first assignment, summed up to each time.

    Attributes:
        label: label of the assignor, with the scenario if there are several.
        at_ms: the times, ascending.
        values_ms: median over the seeds; empty if no run had a rebalance.
        minimums_ms: minimum over the seeds.
        maximums_ms: maximum over the seeds.
    """

    label: str
    at_ms: tuple[float, ...]
    values_ms: tuple[float, ...]
    minimums_ms: tuple[float, ...]
    maximums_ms: tuple[float, ...]


def cumulative_downtime(tables: Tables, at_ms: Sequence[float]) -> list[DowntimeCurve]:
    """Return the cumulative downtime of each assignor, in the order of the table `runs`.

    The sum is exact at the given times. At the end of a run, it equals `downtime_ms` of the table `runs`. `tables`:
    must hold `runs`, `rounds`, `tasks` and `task_states`; `at_ms`: times at which to compute the sum, ascending.
    """
    runs = runs_by_assignor(tables)
    curves = []
    for key, assignor_runs in runs.items():
        sums = [_sums_of_run(tables, key, run["seed"], at_ms) for run in assignor_runs]
        columns = list(zip(*(values.tolist() for values in sums if values is not None), strict=True))
        curves.append(
            DowntimeCurve(
                label=assignor_label(key, runs),
                at_ms=tuple(at_ms) if columns else (),
                values_ms=tuple(float(statistics.median(column)) for column in columns),
                minimums_ms=tuple(min(column) for column in columns),
                maximums_ms=tuple(max(column) for column in columns),
            )
        )
    return curves


def _sums_of_run(tables: Tables, key: Key, seed: int, at_ms: Sequence[float]) -> Floats | None:
    """Return the downtime of all tasks up to each time, shape (times,); None if the run has no task states."""
    rounds = rows_of_run(tables, "rounds", key, seed)
    states = rows_of_run(tables, "task_states", key, seed)
    if not len(rounds) or not len(states):
        return None
    start_ms, end_ms = pc.min(rounds["at_ms"]).as_py(), pc.max(rounds["until_ms"]).as_py()
    times, down = _tasks_down(states, len(rows_of_run(tables, "tasks", key, seed)), start_ms, end_ms)
    sums = np.concatenate(([0.0], np.cumsum(down[:-1] * np.diff(times))))
    return np.interp(np.asarray(at_ms, dtype=np.float64), times, sums)


def _tasks_down(states: Any, tasks: int, start_ms: int, end_ms: int) -> tuple[Floats, Floats]:
    """Return the times between start and end at which the number of tasks that are down changes, and that number."""
    task = np.unique(states["task"].to_numpy(zero_copy_only=False).astype(str), return_inverse=True)[1]
    order = np.argsort(task, kind="stable")
    at_ms = np.clip(states["at_ms"].to_numpy()[order], start_ms, end_ms)
    is_running = pc.equal(states["state"], "running").to_numpy(zero_copy_only=False)[order].astype(np.int64)
    change = is_running.copy()
    is_same_task = task[order][1:] == task[order][:-1]
    change[1:] -= np.where(is_same_task, is_running[:-1], 0)
    times, index = np.unique(np.concatenate((at_ms, [start_ms, end_ms])), return_inverse=True)
    running = np.cumsum(np.bincount(index[:-2], weights=change, minlength=len(times)))
    return times.astype(np.float64), (tasks - running).astype(np.float64)


def evenly_spaced(until_ms: int, count: int) -> tuple[float, ...]:
    """Return `count` times from 0 to `until_ms`, both included."""
    return tuple(until_ms * index / (count - 1) for index in range(count))
