"""The steps of a move, cycles and costs in words and numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from reports.analysis.explanation import ExplainedMove
from reports.analysis.formatting import format_clock, format_count, format_duration, format_number
from reports.analysis.text import printable

Row = Mapping[str, Any]

_RUNS, _UNKNOWN = -2, -3
"""Kafka's marks in place of a lag: the client runs the task; its offsets are not known."""

CONFIG = "rack.aware.assignment.non_overlap_cost"


def step_text(step: Row) -> str:
    """What happened in a step."""
    return _WORDS[step["kind"]](step)


def edge_text(edge: Row) -> str:
    """A move of a cycle, and what it changed."""
    moving = f" + {edge['non_overlap_cost']} for moving" if edge["non_overlap_cost"] else ""
    change = f"{edge['traffic_from']} → {edge['traffic_to']}{moving}"
    return f"{edge['task']}: {_name(edge['from_client'])} → {_name(edge['to_client'])}, {change} = {edge['cost']:+d}"


def cycle_text(edges: tuple[Row, ...]) -> str:
    """What a cycle came to."""
    total, even = edges[0]["cycle_cost"], edges[0]["cycle_break_even"]
    if total >= 0:
        return f"in all {total:+d}: not to save, but to spread subtopologies evenly"
    told = f"in all {total:+d}"
    return told if even is None else f"{told}; with a {CONFIG} of {even} it would not have saved anything"


def cost_text(move: ExplainedMove) -> str:
    """Which cost would have kept an active task; empty if there is nothing to say."""
    source = _name(move.source)
    if move.break_even is not None:
        return f"A {CONFIG} of {move.break_even} would have kept it on {source}."
    return {
        "no_racks": f"Racks played no part: no {CONFIG} would have kept it on {source}.",
        "any_cost": f"No {CONFIG} that was tried would have kept it on {source}.",
        "untold": "The assignor does not say how it decides.",
        "not_asked": f"Which {CONFIG} would have kept it is not known.",
    }.get(move.no_break_even or "", "")


def wait_text(move: ExplainedMove) -> str:
    """When the task ran at its new place, and what that cost; empty for standbys."""
    if move.role != "active":
        return ""
    if move.runs_at_ms is None:
        return "It did not come to run there."
    down = f", after {format_duration(move.downtime_ms)} in which it was not processed" if move.downtime_ms else ""
    return f"It ran there from {format_clock(move.runs_at_ms)} on{down}."


def move_text(move: ExplainedMove) -> str:
    """From where to where."""
    if move.role == "standby":
        return f"standby on {_name(move.target)}"
    if move.source is None:
        return f"placed on {_name(move.target)}"
    return f"{_name(move.source)} → {_name(move.target)}"


def round_text(row: Row) -> Iterator[str]:
    """A round, when it was and what called for it."""
    yield f"Round {row['round']}"
    yield f"{format_clock(row['at_ms'])}, {printable(row['reason'])}"


def _name(name: str | None) -> str:
    return "nobody" if name is None else printable(name)


def _load(value: float) -> str:
    return f"{format_number(value)} tasks a thread"


def _behind(lag: int) -> str:
    if lag == _UNKNOWN:
        return "has a copy of unknown offsets"
    return "ran it" if lag == _RUNS else f"is {format_count(lag)} records behind"


def _acceptable(step: Row) -> str:
    lag = step["acceptable_lag"]
    return "any lag is acceptable" if lag == 2**63 - 1 else f"acceptable: {format_count(lag)}"


def _kept(step: Row, who: str) -> str:
    told = f"to {_name(step['step_to'])}, which {who}"
    if step["room"] is not None:
        return f"{told} and has room: {step['held']} of {step['room']} tasks so far"
    if step["load_to"] is not None:
        return f"{told} and is not to be relieved: {_load(step['load_to'])}"
    return told


def _balanced(step: Row) -> str:
    before = f"{format_number(step['load_from'])} and {format_number(step['load_to'])}"
    after = f"{format_number(step['load_from_after'])} and {format_number(step['load_to_after'])}"
    return f"balance, {_name(step['step_from'])} → {_name(step['step_to'])}: from {before} tasks a thread to {after}"


def _waits(step: Row) -> str:
    told = f"{_name(step['step_from'])} {_behind(step['lag_from'])} ({_acceptable(step)})"
    return f"{told}; until it is caught up, {_name(step['step_to'])} has it, which {_behind(step['lag_to'])}"


def _caught_up(step: Row) -> str:
    if step["lag_to"] == _RUNS:
        return f"stays on {_name(step['step_to'])}, which ran it"
    return f"stays on {_name(step['step_to'])}, which is caught up: it {_behind(step['lag_to'])} ({_acceptable(step)})"


def _tags(step: Row) -> str:
    tags = f" ({printable(step['tags'])})" if step["tags"] else ""
    return f"to {_name(step['step_to'])}{tags}, whose tags its other copies lack: {_load(step['load_to'])}"


_WORDS: Mapping[str, Callable[[Row], str]] = {
    "dealt": lambda step: f"to {_name(step['step_to'])}, as clients are dealt the tasks in turn",
    "kept": lambda step: _kept(step, "ran it before"),
    "stood_by": lambda step: _kept(step, "stood by before"),
    "least_loaded": lambda step: f"to {_name(step['step_to'])}, which has least to do: {_load(step['load_to'])}",
    "fewest_actives": lambda step: (
        f"to {_name(step['step_to'])}, which has fewest active tasks: {format_number(step['load_to'])} a thread"
    ),
    "mixed": lambda step: (
        f"to {_name(step['step_to'])}, the least loaded with a task it had not met: {_load(step['load_to'])}"
    ),
    "tags": _tags,
    "balanced": _balanced,
    "caught_up": _caught_up,
    "closest": lambda step: (
        f"stays on {_name(step['step_to'])}, which {_behind(step['lag_to'])} ({_acceptable(step)}), "
        "but nobody is less behind"
    ),
    "waits": _waits,
    "warm_up": lambda step: (
        f"{_name(step['step_to'])}, which is to have it, warms up: it {_behind(step['lag_to'])} ({_acceptable(step)})"
    ),
    "swapped": lambda step: (
        f"{_name(step['step_from'])} runs it, so {_name(step['step_to'])}, which is to have it, "
        f"stands by: it {_behind(step['lag_to'])} ({_acceptable(step)})"
    ),
    "rack": lambda step: f"racks, {_name(step['step_from'])} → {_name(step['step_to'])}, along a cycle that saves:",
    "spread": lambda step: f"subtopologies, {_name(step['step_from'])} → {_name(step['step_to'])}, along a cycle:",
    "member_lost": lambda step: f"{_name(step['step_from'])} was gone",
    "there": lambda step: f"{_name(step['step_to'])} had it when the run began",
    "untold": lambda step: f"to {_name(step['step_to'])}, by an assignor that does not say why",
}
