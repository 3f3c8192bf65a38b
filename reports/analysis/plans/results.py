"""Plan folders that `assignor-sim plan --out` writes: their tables, the metrics of each plan, remarks and changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final

import pyarrow as pa
from pydantic import Field, create_model

from reports.analysis.comparison import Tables
from reports.analysis.formatting import format_number
from simulator.plurals import counted
from simulator.results.result_directory import MANIFEST, ResultFormat, ResultsError, read_results
from simulator.results.schema_checks import Reference, StoredRecord, TableRules
from simulator.results.tables import table_schema


@dataclass(frozen=True, slots=True)
class PartitionChange:
    """A partition whose replicas or leader change.

    Attributes:
        topic: name of the topic.
        before: broker ids of its replicas, the preferred leader first.
        after: broker ids of its replicas after the plan, the preferred leader first.
        leader: broker id of the current leader; None without one.
        new_leader: broker id of the leader after the plan.
        copied_bytes: bytes to copy; None if sizes are unknown.
    """

    topic: str
    partition: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    leader: int | None
    new_leader: int
    copied_bytes: int | None

    @property
    def num_copies(self) -> int:
        """The number of replicas to copy."""
        return len(set(self.after) - set(self.before))


@dataclass(frozen=True, slots=True)
class BrokerChange:
    """What a broker holds before and after a plan.

    Attributes:
        broker: broker id.
        rack: its rack; None if it has none or it is unknown.
        replicas: number of replicas, before and after.
        leaders: number of partitions of which it is the preferred leader, before and after.
        bytes: size of its replicas, before and after; None if sizes are unknown.
    """

    broker: int
    rack: str | None
    replicas: tuple[int, int]
    leaders: tuple[int, int]
    bytes: tuple[int, int] | None

    @classmethod
    def of(cls, before: Mapping[str, Any], after: Mapping[str, Any]) -> BrokerChange:
        """Return the change from two rows of the table `brokers`."""
        sizes = None if before["bytes"] is None else (before["bytes"], after["bytes"])
        replicas, leaders = ((before[key], after[key]) for key in ("replicas", "leaders"))
        return cls(before["broker"], before["rack"], replicas, leaders, sizes)


def change_records(changes: Sequence[PartitionChange], brokers: Sequence[BrokerChange]) -> dict[str, Any]:
    """Return the changes of a plan as a record for JSON."""
    return {"partitions": [asdict(change) for change in changes], "brokers": [asdict(broker) for broker in brokers]}


TODAY: Final = "today"
"""Name of the row on the current cluster."""

CRITERIA: Final = ("storage", "constraints", "movement", "leadership", "determinism", "failover")
"""Criteria by which plans are compared."""

_FAILURE_FIGURES = ("range", "mean_range", "most_leaders", "leaderless")

FIGURES: Final = (
    "storage_bytes_range", "storage_bytes_cv", "replicas_range", "topic_replicas_range",
    "broken_replication_factor", "broken_duplicate", "broken_forbidden_broker", "broken_rack",
    "replicas_moved", "bytes_moved", "replicas_moved_bound",
    "leaders_range", "topic_leaders_range", "leaders_out_of_sync",
    "leaders_changed_by_order", "leaders_changed_by_copy",
    "rerun_replicas_moved", "rerun_leaders_changed", "distinct_plans", "shuffles",
    *(f"{failed}_down_{figure}" for failed in ("broker", "rack") for figure in _FAILURE_FIGURES),
)  # fmt: skip
"""Keys of all metrics of plans."""


@dataclass(frozen=True, slots=True)
class PlanRow:
    """A strategy in the comparison.

    Attributes:
        strategy: name of the strategy, or TODAY.
        status: status of the plan; empty for TODAY.
        reason: why there is no plan; empty if there is one.
        figures: metrics by the keys FIGURES; missing or None if unknown or not applicable.
        aims: the CRITERIA that the strategy optimizes.
        notes: further notes for the user.
        objective: description of the objective; empty without a single objective.
        value: value of the objective.
        bound: proven bound of the objective.
        changes: number of changed partitions.
        elections: number of partitions that need a preferred leader election.
        batches: number of batches of the plan.
        folder: folder with the files of the plan; None if they were not written.
    """

    strategy: str
    status: str = ""
    reason: str = ""
    figures: Mapping[str, float | None] = field(default_factory=dict)
    aims: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    objective: str = ""
    value: float | None = None
    bound: float | None = None
    changes: int | None = None
    elections: int | None = None
    batches: int | None = None
    folder: str | None = None

    @property
    def has_plan(self) -> bool:
        """Whether there are metrics to show."""
        return bool(self.figures)


def records(rows: Sequence[PlanRow]) -> list[dict[str, Any]]:
    """Return the rows as records for JSON, with the same keys for all rows."""
    return [dict(_record(row)) for row in rows]


def parse_plan_rows(records: Sequence[Mapping[str, Any]]) -> list[PlanRow]:
    """Return rows from their records."""
    return [_row(record) for record in records]


def _row(record: Mapping[str, Any]) -> PlanRow:
    return PlanRow(
        strategy=record["strategy"],
        status=record["status"] or "",
        reason=record["reason"] or "",
        figures={name: record[name] for name in FIGURES if record.get(name) is not None},
        aims=frozenset(record["aims"]),
        notes=tuple(record["notes"]),
        objective=record["objective"] or "",
        value=record["value"],
        bound=record["bound"],
        changes=record["changes"],
        elections=record["elections"],
        batches=record["batches"],
        folder=record["folder"],
    )


def _record(row: PlanRow) -> Iterator[tuple[str, Any]]:
    yield from (("strategy", row.strategy), ("status", row.status or None), ("reason", row.reason or None))
    yield from ((name, row.figures.get(name)) for name in FIGURES)
    yield "aims", [criterion for criterion in CRITERIA if criterion in row.aims]
    yield from (("objective", row.objective or None), ("value", row.value), ("bound", row.bound))
    yield from (("changes", row.changes), ("elections", row.elections), ("batches", row.batches))
    yield from (("folder", row.folder), ("notes", list(row.notes)))


def remarks(row: PlanRow) -> Iterator[str]:
    """Yield the reason for a missing plan, the objective, notes, and the location of the files."""
    if row.reason:
        yield f"{status_words(row.status)}: {row.reason}"
    if row.objective and row.value is not None:
        yield f"{row.objective}: {format_number(row.value)}{_proof(row)}"
    yield from row.notes
    if row.changes == 0 and not row.elections:
        yield "nothing to change"
    elif row.folder is not None:
        yield f"{_files(row)} in {row.folder}"


def _proof(row: PlanRow) -> str:
    if row.bound is None:
        return ""
    return ", proven optimal" if row.bound == row.value else f", proven bound {format_number(row.bound)}"


def _files(row: PlanRow) -> str:
    text = f"{counted(row.changes or 0, 'partition')}, {counted(row.elections or 0, 'election')}"
    return text if row.batches is None else f"{text}, {counted(row.batches, 'batch', 'batches')}"


def status_words(status: str) -> str:
    """Return a status as text."""
    return status.replace("_", " ")


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


PLAN_KIND = "plan"
"""Value of `kind` in the manifest of a plan folder."""

_Amount = Annotated[float, Field(ge=-(2**63), le=2**63)]
_Count = Annotated[int, Field(ge=0, le=2**53)]


class _ClusterRecord(StoredRecord):
    source: str


class _PlanRequestRecord(StoredRecord):
    throttle_bytes_per_s: _Count | None = None


class _PlanRecord(StoredRecord):
    """A plan in the manifest without its figures, as `reports.analysis.plans.results.records` writes it."""

    strategy: str
    status: str | None
    reason: str | None
    aims: list[Annotated[str, Field(pattern=f"^({'|'.join(CRITERIA)})$")]]
    notes: list[str]
    objective: str | None
    value: _Amount | None
    bound: _Amount | None
    changes: _Count | None
    elections: _Count | None
    batches: _Count | None
    folder: str | None


_FIGURE_FIELDS: dict[str, Any] = dict.fromkeys(FIGURES, (_Amount | None, None))
_PlanRecordWithFigures = create_model("_PlanRecordWithFigures", __base__=_PlanRecord, **_FIGURE_FIELDS)


class PlanManifest(StoredRecord):
    """The manifest of a plan folder."""

    title: str
    asked: str
    remarks: list[str]
    cluster: _ClusterRecord
    request: _PlanRequestRecord | None = None
    plans: Annotated[list[_PlanRecordWithFigures], Field(min_length=1)]  # type: ignore[valid-type]


PLAN_FORMAT: Final = ResultFormat(
    PLAN_KIND, "a plan", PLAN_SCHEMAS, PLAN_RULES, PLAN_REFERENCES, PlanManifest, "plan again with this version"
)
"""The results of `assignor-sim plan --out`."""


@dataclass(frozen=True, slots=True)
class PlanResults:
    """The content of a plan folder.

    Attributes:
        rows: the cluster before any plan, then one row per strategy.
        tables: the tables of `PLAN_SCHEMAS`.
        manifest: cluster, request, versions and command.
    """

    rows: tuple[PlanRow, ...]
    tables: Tables
    manifest: Mapping[str, Any]

    @property
    def title(self) -> str:
        """Name and size of the cluster."""
        return str(self.manifest["title"])

    @property
    def source(self) -> str:
        """Name of the cluster that the user gave."""
        return str(self.manifest["cluster"]["source"])

    @property
    def planned(self) -> list[str]:
        """Strategies that have a plan."""
        return [row.strategy for row in self.rows[1:] if row.has_plan]

    @property
    def throttle_bytes_per_s(self) -> int | None:
        """The replication throttle per broker; None without one."""
        return (self.manifest.get("request") or {}).get("throttle_bytes_per_s")

    def min_copy_ms(self, strategy: str) -> int | None:
        """Return a lower bound of the time to copy a plan, batch after batch; None without a throttle or sizes."""
        times = [row["min_copy_ms"] for row in self.tables["batches"].to_pylist() if row["strategy"] == strategy]
        return sum(times) if times and None not in times else None


def read_plans(directories: Sequence[Path]) -> list[PlanResults]:
    """Return the content of plan folders; of several folders, each manifest gets its `directory`.

    Raises ResultsError if a folder cannot be read.
    """
    results = [_read(directory) for directory in directories]
    if len(results) == 1:
        return results
    return [
        PlanResults(result.rows, result.tables, {"directory": str(directory), **result.manifest})
        for directory, result in zip(directories, results, strict=True)
    ]


def _read(directory: Path) -> PlanResults:
    tables, manifest = read_results(directory, PLAN_FORMAT)
    records = manifest["plans"]
    names = [record["strategy"] for record in records]
    for number, name in enumerate(names):
        place = f"{directory / MANIFEST}: plans[{number}].strategy"
        if (name == TODAY) != (number == 0):
            raise ResultsError(f"{place}: expected '{TODAY}' in the first plan, and only there")
        if name in names[:number]:
            raise ResultsError(f"{place}: occurs twice")
    for table_name, table in tables.items():
        unknown = sorted(set(table["strategy"].unique().to_pylist()) - set(names))
        if unknown:
            raise ResultsError(
                f"{directory / table_name}.parquet: column 'strategy': {ascii(unknown[0])[:60]} is not in {MANIFEST}"
            )
    return PlanResults(tuple(parse_plan_rows(records)), tables, manifest)
