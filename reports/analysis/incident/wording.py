"""The figures of a past night as text, for terminals and pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from reports.analysis.formatting import format_bytes, format_count, format_duration
from reports.analysis.incident.report import (
    IncidentMove,
    IncidentRebalance,
    IncidentReport,
    WhatIf,
    clock,
    timestamp,
)
from reports.analysis.text import printable

STATE_COLUMNS: Final = {
    "active_moves": "active\nmoves",
    "new_standbys": "new\nstandbys",
    "follow_ups": "probing\nrequested",
}
"""Figures of a comparison of recorded states: key and title in lines."""

NIGHT_COLUMNS: Final = {
    "rebalances": "rebalances",
    "active_moves": "active\nmoves",
    "restored_bytes": "restored",
    "worst_downtime_ms": "worst task\ndowntime",
}
"""Figures of a simulation of the night: key and title in lines."""


CONSUMER_COLUMNS: Final = {"active_moves": "partitions\nmoved", "worst_downtime_ms": "worst partition\ndowntime"}
"""Titles of figures of a consumer group that differ from those of an application."""


def known_columns(report: IncidentReport, what_ifs: Sequence[WhatIf], columns: Mapping[str, str]) -> dict[str, str]:
    """Return the columns of a comparison that have a figure, with the titles for the group of the report."""
    titles = {**columns, **CONSUMER_COLUMNS} if report.is_consumer_group else columns
    return {key: titles[key] for key in columns if any(what_if.metrics.get(key) is not None for what_if in what_ifs)}


def task_noun(report: IncidentReport) -> str:
    """Return what the group assigns."""
    return "partition" if report.is_consumer_group else "task"


def move_noun(report: IncidentReport) -> str:
    """Return what a move is."""
    return "partition move" if report.is_consumer_group else "active move"


def span_text(report: IncidentReport) -> str:
    """Return the time of a night, and the protocol of its group."""
    of_consumers = "consumer group, " if report.is_consumer_group else ""
    span = f"{timestamp(report.since_ms)} to {timestamp(report.until_ms)} UTC"
    return f"{span} ({of_consumers}{report.protocol} protocol)"


def summary_text(report: IncidentReport) -> str:
    """Return the numbers of rebalances and moves, and the longest time without a stable assignment."""
    longest = report.longest_unstable()
    moved = len(report.moves_by_task())
    moves = counted(report.num_moves(), move_noun(report))
    text = (
        f"{counted(len(report.later), 'rebalance')} after the first, {moves} of {moved} of "
        f"{counted(report.num_tasks, task_noun(report))}."
    )
    if longest is None:
        return f"{text} Each assignment was stable at once."
    duration = format_duration(longest[1] - longest[0])
    return f"{text} Longest time without a stable assignment: {duration}, from {clock(longest[0])}."


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, as in `2 rebalances`."""
    return f"{format_count(number)} {noun}{'' if number == 1 else 's'}"


def match_text(rebalance: IncidentRebalance) -> str:
    """Return whether the recomputed assignment is equal, or how many copies differ."""
    if not rebalance.is_compared:
        return "–"
    text = "equal" if not rebalance.differences else f"{len(rebalance.differences)} differ"
    return text if rebalance.unrecorded_offsets == "none" else f"{text}*"


def figure_text(key: str, value: float | None) -> str:
    """Return a figure of a comparison with its unit, by its key."""
    if value is None:
        return "n/a"
    if key.endswith("_bytes"):
        return format_bytes(value)
    return format_duration(value) if key.endswith("_ms") else format_count(value)


def place_text(rebalance: IncidentRebalance, task: str, move: IncidentMove | None) -> str:
    """Return where a task is after a rebalance, and where it was if it moved."""
    owner = rebalance.owners.get(task)
    of_consumers = rebalance.new_standbys is None
    standbys = ", ".join(map(printable, rebalance.standbys.get(task, ()))) or "none"
    if move is not None and move.source is not None:
        gone = ", which had left" if move.has_left else ""
        where = f"{printable(move.source)}{gone} → {printable(move.target)}"
    else:
        where = "not assigned yet" if owner is None else f"on {printable(owner)}"
    return where if of_consumers else f"{where}; standbys: {standbys}"


OFFSETS_NOTE: Final = (
    "*: the answer depends on task offsets, which clients of Kafka 4.4 report and records do not have. Equal: with "
    "offsets that the records allow."
)
"""Explanation of the mark of `match_text`."""


def recomputation_text(report: IncidentReport) -> str:
    """Return how many recorded assignments the assignor returns; empty if none was recomputed."""
    compared = len(report.compared)
    if not compared:
        return ""
    name, by_offsets = printable(report.assignor), report.explained_by_offsets
    with_offsets = (
        f" ({format_count(by_offsets)} of them with task offsets that the records allow)" if by_offsets else ""
    )
    if report.matching == compared:
        noun = task_noun(report)
        return f"{name} returns all {format_count(compared)} recorded assignments, {noun} for {noun}{with_offsets}."
    return f"{name} returns {report.matching} of {format_count(compared)} recorded assignments{with_offsets}."


def depends_on_offsets(report: IncidentReport) -> bool:
    """Return whether a recomputed assignment depends on offsets that were not recorded."""
    return any(rebalance.unrecorded_offsets != "none" for rebalance in report.compared)
