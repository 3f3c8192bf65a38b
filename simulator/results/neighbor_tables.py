"""The Arrow schema of the table of neighbors: other applications that ran on the cluster at the same time."""

from __future__ import annotations

import pyarrow as pa

from simulator.results.table_schema import RUN_KEY, table_schema

NEIGHBORS = table_schema(
    "One row per other application that ran on the cluster at the same time (alongside); empty without any.",
    *RUN_KEY,
    ("application", pa.string(), "application.id"),
    ("neighbor", pa.string(), "name of its scenario"),
    ("verdict", pa.string(), "how it ended, as in runs"),
    ("cause", pa.string(), "as in runs"),
    ("rebalances", pa.int64(), "rebalances in the whole run, without the initial state"),
    ("rebalances_to_converge", pa.int64(), "as in runs"),
    ("time_to_converge_ms", pa.int64(), "as in runs"),
    ("active_moves", pa.int64(), "how often an active task moved to another client"),
    ("restored_bytes", pa.int64(), "bytes read from changelogs to catch up"),
    ("restored_again_bytes", pa.int64(), "the part of restored_bytes that the same client had held before and lost"),
    ("downtime_ms", pa.int64(), "time in which tasks were not processed, summed over tasks"),
    ("worst_downtime_ms", pa.int64(), "maximum over tasks"),
    ("unqueryable_ms", pa.int64(), "time without a queryable copy, summed over stateful tasks"),
    ("max_processing_delay_ms", pa.int64(), "maximum over tasks"),
)
