"""Schemas of the ingested tables; `docs/reference/ingested-tables.md` is generated from them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column.

    Attributes:
        type: its type in Spark SQL.
        meaning: description for the reference.
    """

    name: str
    type: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        name: name of its folder.
        about: description of a row.
        sorted_by: names of the columns that rows are sorted by.
    """

    name: str
    about: str
    columns: tuple[TableColumn, ...]
    sorted_by: tuple[str, ...]

    @property
    def ddl(self) -> str:
        """Return the schema in Spark SQL."""
        return ", ".join(f"{column.name} {column.type}" for column in self.columns)


_TOPIC = TableColumn("topic", "string", "name of the topic")
_PARTITION = TableColumn("partition", "int", "number of the partition")
_SHARES = {"mean": "mean", "p50": "median", "p95": "95th percentile", "p99": "99th percentile"}

_MEANINGS = {"mean": "mean over the measured time"} | {
    share: f"{meaning} of the samples" for share, meaning in _SHARES.items() if share != "mean"
}
_SAMPLES = TableColumn(
    "samples",
    "bigint",
    "intervals of which at least half, or half an hour, is in the hour; if there are none, those that are partly in it",
)

RATES = Table(
    "rates",
    "One row per partition and hour of the day: incoming traffic over all measured days.",
    (
        _TOPIC,
        _PARTITION,
        TableColumn("hour", "tinyint", "hour of the day, 0 to 23, UTC"),
        _SAMPLES,
        *(
            TableColumn(f"{what}_per_s_{share}", "double", f"incoming {what} per second, {meaning}{null}")
            for what, null in (("bytes", "; null if not measured"), ("messages", "; null if not measured"))
            for share, meaning in _MEANINGS.items()
        ),
    ),
    ("topic", "partition", "hour"),
)

SIZES = Table(
    "sizes",
    "One row per partition with a known size.",
    (
        _TOPIC,
        _PARTITION,
        TableColumn("size_bytes", "bigint", "size of its largest replica in bytes"),
        TableColumn("replicas", "int", "number of replicas; null if unknown"),
    ),
    ("topic", "partition"),
)

BYTES_OUT = Table(
    "bytes_out",
    "One row per topic and hour of the day: what consumers fetch, over all measured days. Followers are not included: "
    "brokers count replication apart. Absent without such metrics.",
    (
        _TOPIC,
        TableColumn("hour", "tinyint", "hour of the day, 0 to 23, UTC"),
        _SAMPLES,
        *(
            TableColumn(f"bytes_out_per_s_{share}", "double", f"bytes per second, {meaning}")
            for share, meaning in _MEANINGS.items()
        ),
    ),
    ("topic", "hour"),
)

LAGS = Table(
    "lags",
    "One row per consumer group, partition and hour of the day: how far the committed offset is behind the end of the "
    "partition, over all measured days. Absent without such metrics.",
    (
        TableColumn("group", "string", "consumer group"),
        _TOPIC,
        TableColumn("partition", "int", "number of the partition; -1 for the sum over the topic, where it is measured"),
        TableColumn("hour", "tinyint", "hour of the day, 0 to 23, UTC"),
        TableColumn("samples", "bigint", "readings that the row is computed from"),
        *(
            TableColumn(f"lag_{share}", "double", f"lag in records, {meaning} of the readings")
            for share, meaning in _SHARES.items()
        ),
        TableColumn("lag_max", "double", "highest lag in records"),
        TableColumn("duplicates", "bigint", "further readings at the same time; the largest counts"),
        TableColumn("conflicts", "bigint", "duplicates with another value"),
        TableColumn("late", "bigint", "readings after a later one in their file; sorted in"),
        TableColumn("gaps", "bigint", "gaps in the readings"),
        TableColumn("missing", "bigint", "number of readings missing in gaps"),
    ),
    ("group", "topic", "partition", "hour"),
)

PLACEMENTS = Table(
    "placements",
    "One row per partition in `kafka-topics.sh --describe`.",
    (
        _TOPIC,
        _PARTITION,
        TableColumn("leader", "int", "broker of the leader; null if none"),
        TableColumn("replicas", "array<int>", "brokers with a replica, the preferred leader first"),
        TableColumn("isr", "array<int>", "brokers with an in-sync replica"),
    ),
    ("topic", "partition"),
)

HISTORY = Table(
    "history",
    "One row per task or partition and the client that it is assigned to, for each rebalance or dump of a group.",
    (
        TableColumn("source", "string", "`leader_log` or `consumer_groups`"),
        TableColumn("file", "string", "file that was read"),
        TableColumn("rebalance", "int", "number of the rebalance in the file, from 1; 1 for dumps"),
        TableColumn("at_ms", "bigint", "time in ms since 1970, with log times read as UTC; null for dumps"),
        TableColumn("leader", "string", "stream thread of the group leader; null if unknown"),
        TableColumn("group", "string", "consumer group; null for logs, which do not contain it"),
        TableColumn("stable", "boolean", "whether no follow-up rebalance was needed; null if unknown"),
        TableColumn("client", "string", "process id (logs) or client id (dumps)"),
        TableColumn("member", "string", "consumer id (dumps); null for logs"),
        TableColumn("threads", "int", "consumers of the client in this rebalance; null if unknown"),
        TableColumn("kind", "string", "`active` or `standby`; null if the client has no task or partition"),
        TableColumn("task", "string", "task, such as 0_3; null for dumps"),
        TableColumn("stateful", "boolean", "whether the task is stateful; null if unknown"),
        TableColumn("topic", "string", "topic (dumps); null for logs"),
        TableColumn("partition", "int", "partition (dumps); null for logs"),
    ),
    ("source", "file", "rebalance", "client", "member"),
)

QUALITY = Table(
    "quality",
    "One row per partition, or per topic where only topics are measured (partition -1): quality of its readings of "
    "traffic. Those of lags are in the table `lags`.",
    (
        _TOPIC,
        TableColumn("partition", "int", "number of the partition; -1 for a topic"),
        TableColumn("rows", "bigint", "readings"),
        TableColumn("samples", "bigint", "intervals between two readings that rates are computed from"),
        TableColumn("duplicates", "bigint", "further readings at the same time; the largest counts"),
        TableColumn("conflicts", "bigint", "duplicates with another value"),
        TableColumn("late", "bigint", "readings after a later one in their file; sorted in"),
        TableColumn("resets", "bigint", "counter resets; the interval is left out"),
        TableColumn("gaps", "bigint", "gaps in the readings; the interval is left out"),
        TableColumn("missing", "bigint", "number of readings missing in gaps"),
        TableColumn("interval_ms", "bigint", "usual time between readings"),
        TableColumn(
            "skew_ms", "bigint", "how far the clock of the broker was ahead, corrected in the times; 0 if within 5 s"
        ),
        TableColumn("first_ms", "bigint", "time of the first reading, ms since 1970"),
        TableColumn("last_ms", "bigint", "time of the last reading"),
    ),
    ("topic", "partition"),
)

QUARANTINE = Table(
    "quarantine",
    "One row per row or dump that could not be read.",
    (
        TableColumn("file", "string", "file that contains it"),
        TableColumn("reason", "string", "reason"),
        TableColumn("raw", "string", "its text; JSON for Parquet; the first 2,000 characters of a dump"),
    ),
    ("file", "reason"),
)

TABLES = (RATES, BYTES_OUT, LAGS, SIZES, PLACEMENTS, HISTORY, QUALITY, QUARANTINE)
