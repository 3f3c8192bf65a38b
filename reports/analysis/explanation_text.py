"""The steps of a move, cycles and costs as text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from reports.analysis.explanation import ExplainedMove
from reports.analysis.formatting import format_clock, format_count, format_duration, format_number
from reports.analysis.text import printable
from reports.analysis.triggers import trigger_text

Row = Mapping[str, Any]

_RUNS, _UNKNOWN = -2, -3
"""Kafka's special lags: `_RUNS` if the client runs the task, `_UNKNOWN` if its offsets are unknown."""

_NON_OVERLAP_COST = "rack.aware.assignment.non_overlap_cost"


def step_text(step: Row) -> str:
    """Return a step as text."""
    return _STEP_TEXTS[step["kind"]](step)


def edge_text(edge: Row) -> str:
    """Return a move of a cycle, with the change in cost."""
    moving = f" + {edge['non_overlap_cost']} for moving" if edge["non_overlap_cost"] else ""
    change = f"{edge['traffic_from']} → {edge['traffic_to']}{moving}"
    return f"{edge['task']}: {_name(edge['from_client'])} → {_name(edge['to_client'])}, {change} = {edge['cost']:+d}"


def cycle_text(edges: tuple[Row, ...]) -> str:
    """Return the change in cost of a cycle."""
    total, break_even = edges[0]["cycle_cost"], edges[0]["cycle_break_even"]
    if total >= 0:
        return f"total {total:+d}: balances subtopologies rather than reducing cost"
    text = f"total {total:+d}"
    return text if break_even is None else f"{text}; no reduction with a {_NON_OVERLAP_COST} of {break_even}"


def cost_text(move: ExplainedMove) -> str:
    """Return the non_overlap_cost that would have kept the task on its client, or why there is none; may be empty."""
    source = _name(move.source)
    if move.break_even is not None:
        return f"A {_NON_OVERLAP_COST} of {move.break_even} would have kept it on {source}."
    return {
        "no_racks": f"Racks had no influence: no {_NON_OVERLAP_COST} would have kept it on {source}.",
        "any_cost": f"No {_NON_OVERLAP_COST} that was tried would have kept it on {source}.",
        "not_recorded": "The assignor does not record its decisions.",
        "not_requested": f"The {_NON_OVERLAP_COST} that would have kept it was not computed.",
    }.get(move.no_break_even or "", "")


def wait_text(move: ExplainedMove) -> str:
    """Return when the task ran on its new client, and its downtime until then; empty for standbys."""
    if move.role != "active":
        return ""
    if move.runs_at_ms is None:
        return "It did not run there before it moved again."
    down = f", after a downtime of {format_duration(move.downtime_ms)}" if move.downtime_ms else ""
    return f"It ran there from {format_clock(move.runs_at_ms)} on{down}."


def move_text(move: ExplainedMove) -> str:
    """Return the source and the target of a move."""
    if move.role == "standby":
        return f"standby on {_name(move.target)}"
    if move.source is None:
        return f"placed on {_name(move.target)}"
    return f"{_name(move.source)} → {_name(move.target)}"


def round_text(row: Row) -> Iterator[str]:
    """Yield the number of a round, then its time and reason."""
    yield f"Round {row['round']}"
    yield f"{format_clock(row['at_ms'])}, {trigger_text(row['reason'])}"


def _name(name: str | None) -> str:
    return "no client" if name is None else printable(name)


def _load(value: float) -> str:
    number = format_number(value)
    return f"{number} {'task' if number == '1' else 'tasks'} per thread"


def _lag(lag: int) -> str:
    if lag == _UNKNOWN:
        return "lag unknown"
    return "ran it" if lag == _RUNS else f"lag {format_count(lag)}"


def _acceptable(step: Row) -> str:
    lag = step["acceptable_lag"]
    return "any lag is acceptable" if lag == 2**63 - 1 else f"acceptable: {format_count(lag)}"


def _kept(step: Row, role: str) -> str:
    text = f"to {_name(step['step_to'])}, which {role}"
    if step["room"] is not None:
        return f"{text} and has capacity: {step['held']} of {step['room']} tasks so far"
    if step["load_to"] is not None:
        return f"{text} and is not overloaded: {_load(step['load_to'])}"
    return text


def _balanced(step: Row) -> str:
    before = f"{format_number(step['load_from'])} and {format_number(step['load_to'])}"
    after = f"{format_number(step['load_from_after'])} and {format_number(step['load_to_after'])}"
    return f"balance, {_name(step['step_from'])} → {_name(step['step_to'])}: from {before} tasks per thread to {after}"


def _waits(step: Row) -> str:
    warming_up = f"{_name(step['step_from'])} ({_lag(step['lag_from'])}; {_acceptable(step)})"
    return f"{_name(step['step_to'])} ({_lag(step['lag_to'])}) keeps it until {warming_up} catches up"


def _caught_up(step: Row) -> str:
    if step["lag_to"] == _RUNS:
        return f"stays on {_name(step['step_to'])}, which ran it"
    return f"stays on {_name(step['step_to'])}, which is caught up ({_lag(step['lag_to'])}; {_acceptable(step)})"


def _tags(step: Row) -> str:
    tags = f" ({printable(step['tags'])})" if step["tags"] else ""
    return f"to {_name(step['step_to'])}{tags}, with tags that its other copies lack: {_load(step['load_to'])}"


_STEP_TEXTS: Mapping[str, Callable[[Row], str]] = {
    "dealt": lambda step: f"round-robin placed it on {_name(step['step_to'])}",
    "kept": lambda step: _kept(step, "ran it before"),
    "stood_by": lambda step: _kept(step, "had a standby before"),
    "least_loaded": lambda step: f"to {_name(step['step_to'])}, the least loaded client: {_load(step['load_to'])}",
    "fewest_actives": lambda step: (
        f"to {_name(step['step_to'])}, with the fewest active tasks: {format_number(step['load_to'])} per thread"
    ),
    "mixed": lambda step: (
        f"to {_name(step['step_to'])}, the least loaded client with a new pair of tasks: {_load(step['load_to'])}"
    ),
    "tags": _tags,
    "balanced": _balanced,
    "caught_up": _caught_up,
    "closest": lambda step: (
        f"stays on {_name(step['step_to'])} ({_lag(step['lag_to'])}; {_acceptable(step)}): no client has a lower lag"
    ),
    "waits": _waits,
    "warm_up": lambda step: (
        f"warm-up on {_name(step['step_to'])}, its target ({_lag(step['lag_to'])}; {_acceptable(step)})"
    ),
    "swapped": lambda step: (
        f"{_name(step['step_from'])} runs it, so its target {_name(step['step_to'])} "
        f"gets the standby ({_lag(step['lag_to'])}; {_acceptable(step)})"
    ),
    "rack": lambda step: f"racks, {_name(step['step_from'])} → {_name(step['step_to'])}, in a cycle that reduces cost:",
    "spread": lambda step: f"subtopologies, {_name(step['step_from'])} → {_name(step['step_to'])}, in a cycle:",
    "member_lost": lambda step: f"{_name(step['step_from'])} had left the group",
    "initial": lambda step: f"{_name(step['step_to'])} had it when the run began",
    "not_recorded": lambda step: f"to {_name(step['step_to'])}, by an assignor that does not record its decisions",
}
