"""The Arrow schema of the table of runs whose outcome depends on client times."""

from __future__ import annotations

import pyarrow as pa

from simulator.results.table_schema import RUN_KEY, table_schema

TIME_RANGES = table_schema(
    "One row per run of `run` whose outcome depends on client times (application.times) within their uncertainty.",
    *RUN_KEY,
    ("rebalances_to_converge", pa.int64(), "as in runs"),
    ("time_to_converge_ms", pa.int64(), "as in runs"),
    (
        "early_rebalances_to_converge",
        pa.int64(),
        "the same if copies begin to read early: open_store, restore_start / uncertainty; rejoin * uncertainty",
    ),
    (
        "early_time_to_converge_ms",
        pa.int64(),
        "the same if copies begin to read early: open_store, restore_start / uncertainty; rejoin * uncertainty",
    ),
    (
        "late_rebalances_to_converge",
        pa.int64(),
        "the same if copies begin to read late: open_store, restore_start * uncertainty; rejoin / uncertainty",
    ),
    (
        "late_time_to_converge_ms",
        pa.int64(),
        "the same if copies begin to read late: open_store, restore_start * uncertainty; rejoin / uncertainty",
    ),
    ("uncertainty", pa.float64(), "the factor by which client times may differ"),
    ("round", pa.int64(), "first rebalance that decides differently; null if none does"),
    ("task", pa.string(), "a task that it moves or not, depending on when its copy has caught up; null if unknown"),
    ("client", pa.string(), "the client with that copy"),
    ("caught_up_after_ms", pa.int64(), "when that copy has caught up, from the assignment of that rebalance on"),
)
