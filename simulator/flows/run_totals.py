"""Cumulative totals of a run."""

from __future__ import annotations

from dataclasses import dataclass

from assignors.model.columns import IntArray
from simulator.world.layout import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class RunTotals:
    """Cumulative totals over all clients, from the start of the run to some moment.

    Attributes:
        restored_bytes: changelog bytes read to catch up.
        restored_again_bytes: the part of `restored_bytes` that the same client had held before and lost.
        downtime_ms: shape (T,); how long each task was not processed.
        unqueryable_ms: shape (T,); how long no client had a queryable copy of each task.
        backlog_s: shape (T,); the waiting input of each task, in seconds of usual input.
    """

    restored_bytes: float
    restored_again_bytes: float
    downtime_ms: IntArray
    unqueryable_ms: IntArray
    backlog_s: FloatArray
