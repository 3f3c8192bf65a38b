"""The tables of a plan folder: their Arrow schemas, column by column."""

from __future__ import annotations

import pyarrow as pa

from simulator.results.schema_checks import Reference, TableRules
from simulator.results.tables import table_schema

BROKERS = table_schema(
    "One row per broker, for the cluster before any plan (`today`) and for each plan.",
    ("strategy", pa.string(), "strategy as named on the command line; `today` before any plan"),
    ("broker", pa.int64(), "broker id"),
    ("rack", pa.string(), "`broker.rack`; null if the broker has none"),
    ("is_alive", pa.bool_(), "false for a broker that holds replicas but is missing from the list of brokers"),
    ("may_hold", pa.bool_(), "whether a plan may place replicas on the broker"),
    ("leaders", pa.int64(), "partitions of which the broker is the preferred leader"),
    ("replicas", pa.int64(), "replicas on the broker"),
    ("bytes", pa.int64(), "total size of the replicas; null if sizes are unknown"),
    ("capacity_bytes", pa.int64(), "disk capacity of the broker; null if unknown"),
)

MOVES = table_schema(
    "One row per pair of brokers between which a plan moves or copies replicas.",
    ("strategy", pa.string(), "strategy as named on the command line"),
    ("kind", pa.string(), "`move`: the replica leaves `source` for `target`; `copy`: `target` fetches from `source`"),
    ("source", pa.int64(), "`move`: the broker that loses the replica, null for an additional replica; "
     "`copy`: the leader, null if the partition has none"),
    ("target", pa.int64(), "the broker that gets the replica"),
    ("replicas", pa.int64(), "number of replicas"),
    ("bytes", pa.int64(), "total size of the replicas; null if sizes are unknown"),
)  # fmt: skip

BATCHES = table_schema(
    "One row per batch of each plan that changes anything; without `--batch-…` a plan is one batch.",
    ("strategy", pa.string(), "strategy as named on the command line"),
    ("batch", pa.int64(), "number of the batch, from 1"),
    ("partitions", pa.int64(), "partitions that are reassigned"),
    ("replicas", pa.int64(), "replicas to copy"),
    ("bytes", pa.int64(), "total size of the replicas; null if sizes are unknown"),
    ("elections", pa.int64(), "partitions for which the preferred leader is elected afterwards"),
    ("min_copy_ms", pa.int64(), "lower bound of the time to copy; null without a throttle or sizes"),
)

PLAN_SCHEMAS = {"brokers": BROKERS, "moves": MOVES, "batches": BATCHES}
"""Every table of a plan folder, by name."""

PLAN_RULES = {
    "brokers": TableRules(frozenset({"rack", "bytes", "capacity_bytes"}), key=("strategy", "broker")),
    "moves": TableRules(
        frozenset({"source", "bytes"}),
        {"kind": frozenset({"move", "copy"})},
        key=("strategy", "kind", "source", "target"),
    ),
    "batches": TableRules(frozenset({"bytes", "min_copy_ms"}), key=("strategy", "batch")),
}
"""The rules of each table of a plan folder."""

PLAN_REFERENCES = tuple(
    Reference("moves", ("strategy", column), "brokers", ("strategy", "broker")) for column in ("source", "target")
)
"""References between the tables of a plan folder."""
