"""The tables that ingest writes, column by column; `docs/reference/ingested-tables.md` is made of this."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column: its name, its type as Spark's SQL writes it, and what it means."""

    name: str
    type: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table: the name of its folder, what a row is, and by which of its first columns the rows are sorted."""

    name: str
    about: str
    columns: tuple[TableColumn, ...]
    sorted_by: tuple[str, ...]

    @property
    def ddl(self) -> str:
        """The schema as Spark reads it."""
        return ", ".join(f"{column.name} {column.type}" for column in self.columns)


_TOPIC = TableColumn("topic", "string", "name of the topic")
_PARTITION = TableColumn("partition", "int", "number of the partition")
_SHARES = {"mean": "mean", "p50": "median", "p95": "95th percentile", "p99": "99th percentile"}

RATES = Table(
    "rates",
    "One row a partition and hour of the day: what flowed in, over all days that were measured.",
    (
        _TOPIC,
        _PARTITION,
        TableColumn("hour", "tinyint", "hour of the day, 0 to 23, UTC"),
        TableColumn("samples", "bigint", "intervals between two readings that the numbers are made of"),
        *(
            TableColumn(
                f"{what}_per_s_{share}", "double", f"{what} per second that came in, {meaning} of the samples{null}"
            )
            for what, null in (("bytes", "; null if not measured"), ("messages", "; null if not measured"))
            for share, meaning in _SHARES.items()
        ),
    ),
    ("topic", "partition", "hour"),
)

SIZES = Table(
    "sizes",
    "One row a partition whose size is known.",
    (
        _TOPIC,
        _PARTITION,
        TableColumn("size_bytes", "bigint", "bytes of its largest replica"),
        TableColumn("replicas", "int", "how many replicas it has; null if no source says"),
    ),
    ("topic", "partition"),
)

PLACEMENTS = Table(
    "placements",
    "One row a partition that `kafka-topics.sh --describe` names.",
    (
        _TOPIC,
        _PARTITION,
        TableColumn("leader", "int", "broker that leads it; null if none"),
        TableColumn("replicas", "array<int>", "brokers that have a replica, the preferred leader first"),
        TableColumn("isr", "array<int>", "brokers whose replica is in sync"),
    ),
    ("topic", "partition"),
)

HISTORY = Table(
    "history",
    "One row a task or partition and client that has it, for each rebalance or dump of a group.",
    (
        TableColumn("source", "string", "`leader_log` or `consumer_groups`"),
        TableColumn("file", "string", "file that says so"),
        TableColumn("rebalance", "int", "number of the rebalance in the file, from 1; of the dump, 1"),
        TableColumn("at_ms", "bigint", "when, in ms since 1970, the log's times taken for UTC; null for dumps"),
        TableColumn("leader", "string", "stream thread that led the group; null if not told"),
        TableColumn("group", "string", "consumer group; null for logs, which do not tell"),
        TableColumn("stable", "boolean", "whether no follow-up rebalance was needed; null if not told"),
        TableColumn("client", "string", "process id (logs) or client id (dumps)"),
        TableColumn("member", "string", "consumer id (dumps); null for logs"),
        TableColumn("threads", "int", "consumers of the client in this rebalance; null if not told"),
        TableColumn("kind", "string", "`active` or `standby`; null if the client has nothing"),
        TableColumn("task", "string", "task, such as 0_3; null for dumps"),
        TableColumn("stateful", "boolean", "whether the task has state; null if not told"),
        TableColumn("topic", "string", "topic (dumps); null for logs"),
        TableColumn("partition", "int", "partition (dumps); null for logs"),
    ),
    ("source", "file", "rebalance", "client", "member"),
)

QUALITY = Table(
    "quality",
    "One row a partition, or a topic where only topics are measured (partition -1): what its readings were like.",
    (
        _TOPIC,
        TableColumn("partition", "int", "number of the partition; -1 where the whole topic is measured"),
        TableColumn("rows", "bigint", "readings"),
        TableColumn("samples", "bigint", "intervals between two readings that rates are made of"),
        TableColumn("duplicates", "bigint", "readings of a time that there is another of; the largest counts"),
        TableColumn("conflicts", "bigint", "how many of these said something else"),
        TableColumn("late", "bigint", "readings that stand after a later one in their file; sorted in"),
        TableColumn("resets", "bigint", "counters that began again; that interval is left out"),
        TableColumn("gaps", "bigint", "times that readings are missing; that interval is left out"),
        TableColumn("missing", "bigint", "how many readings are missing in these gaps"),
        TableColumn("interval_ms", "bigint", "usual time from one reading to the next"),
        TableColumn("skew_ms", "bigint", "how far the broker's clock was ahead, which is corrected; 0 if within 5 s"),
        TableColumn("first_ms", "bigint", "time of the first reading, ms since 1970"),
        TableColumn("last_ms", "bigint", "time of the last reading"),
    ),
    ("topic", "partition"),
)

QUARANTINE = Table(
    "quarantine",
    "One row a row, or dump, that could not be read.",
    (
        TableColumn("file", "string", "file it stands in"),
        TableColumn("reason", "string", "what is wrong with it"),
        TableColumn("raw", "string", "its text; of a column format, JSON; of a dump, the first 2,000 characters"),
    ),
    ("file", "reason"),
)

TABLES = (RATES, SIZES, PLACEMENTS, HISTORY, QUALITY, QUARANTINE)
