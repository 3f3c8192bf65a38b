"""Parsing of dumps and logs in Spark workers; does not import Spark."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from scenarios.kafka.formats.groups import parse_group_members
from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.formats.logs import (
    LogBounds,
    LoggedRebalance,
    find_bounds,
    heads_by_file,
    join_rotated,
    parse_rebalances,
    split_log,
    with_heads,
)
from scenarios.kafka.formats.topics import NO_LEADER, parse_replica_sizes, parse_topics

Row = dict[str, Any]

_MAX_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class RotatedLogs:
    """How leader logs continue one another.

    Attributes:
        joined: logs that begin with the end of a rebalance of another log.
        without_start: those in which no rebalance begins.
        heads: lines of other logs to append to a log, by file.
    """

    joined: frozenset[str]
    without_start: frozenset[str]
    heads: Mapping[str, list[str]]

    @classmethod
    def of(cls, bounds: Mapping[str, LogBounds]) -> RotatedLogs:
        """Find the logs that continue others."""
        joined = join_rotated(bounds)
        without_start = frozenset(file for file in joined if not bounds[file].has_start)
        return cls(frozenset(joined), without_start, heads_by_file(joined, bounds))

    def whole_text(self, file: str, text: str) -> str:
        """Return the text of a log with the rebalances that begin in it."""
        return with_heads(text, file in self.joined, self.heads.get(file, ()))


def describe_bounds(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Find where leader logs begin and end.

    Yields batches with `file` and `bounds`, a `LogBounds` as JSON.
    """
    for batch in batches:
        bounds = [json.dumps(asdict(find_bounds(_as_written(text)))) for text in batch["text"].to_pylist()]
        yield pa.RecordBatch.from_pydict({"file": batch["file"], "bounds": pa.array(bounds, pa.string())})


def parse_texts(
    kind: str, batches: Iterator[pa.RecordBatch], schema: pa.Schema, rotated: RotatedLogs | None = None
) -> Iterator[pa.RecordBatch]:
    """Parse texts into rows of a table.

    `batches`: batches with columns `file` and `text`. `schema`: schema of the result: the columns of the table, then
    `file`, `reason` and `raw`. `rotated`: how leader logs continue one another; None if they do not. Yields batches of
    rows; a text that cannot be parsed becomes one row with a reason.
    """
    for batch in batches:
        rows: list[Row] = []
        for source in batch.to_pylist():
            if rotated is not None:
                if source["file"] in rotated.without_start:
                    continue
                source["text"] = rotated.whole_text(source["file"], _as_written(source["text"]))
            try:
                rows += [{"file": source["file"], **row} for row in READERS[kind](source["text"])]
            except FormatError as error:
                where = "" if error.line is None else f"line {error.line}: "
                raw = source["text"][:_MAX_CHARS]
                rows.append({"file": source["file"], "reason": f"{where}{error}", "raw": raw})
        yield pa.RecordBatch.from_pylist(rows, schema)


def _as_written(text: str) -> str:
    """Return the lines of a log without what containers and collectors added, process by process."""
    return "\n".join(log.text for log in split_log(text))


def _placements(text: str) -> Iterator[Row]:
    for topic in parse_topics(text):
        described = zip(topic.replicas, topic.leaders, topic.in_sync, strict=True)
        for partition, (replicas, leader, in_sync) in enumerate(described):
            yield {
                "topic": topic.name,
                "partition": partition,
                "leader": None if leader == NO_LEADER else leader,
                "replicas": list(replicas),
                "isr": list(in_sync),
            }


def _sizes(text: str) -> Iterator[Row]:
    for partition, sizes in parse_replica_sizes(text).items():
        yield {
            "topic": partition.topic,
            "partition": partition.partition,
            "size_bytes": max(sizes),
            "replicas": len(sizes),
        }


def _members(text: str) -> Iterator[Row]:
    for member in parse_group_members(text):
        common = {
            "source": "consumer_groups",
            "rebalance": 1,
            "group": member.group,
            "client": member.client_id,
            "member": member.consumer_id,
        }
        for partition in member.partitions:
            yield {**common, "kind": "active", "topic": partition.topic, "partition": partition.partition}
        if not member.partitions:
            yield common


def _rebalances(text: str) -> Iterator[Row]:
    for number, rebalance in enumerate(parse_rebalances(text), start=1):
        yield from _rebalance(number, rebalance)


def _rebalance(number: int, rebalance: LoggedRebalance) -> Iterator[Row]:
    for client in rebalance.clients:
        common = {
            "source": "leader_log",
            "rebalance": number,
            "at_ms": rebalance.at_ms,
            "leader": rebalance.leader,
            "stable": rebalance.stable,
            "client": client.process_id,
            "threads": client.threads,
        }
        for kind, tasks in (("active", client.active), ("standby", client.standby)):
            for task in tasks:
                stateful = None if rebalance.stateful is None else task in rebalance.stateful
                yield {**common, "kind": kind, "task": task, "stateful": stateful}
        if not client.active and not client.standby:
            yield common


READERS: Mapping[str, Callable[[str], Iterator[Row]]] = {
    "topics": _placements,
    "log_dirs": _sizes,
    "groups": _members,
    "leader_logs": _rebalances,
}
"""The parser for each kind of source."""
