"""Sentences about the assignor's decisions behind each move, from the tables `reasons` and `cycles`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from reports.analysis.explanation_text import cycle_text, step_text

Row = Mapping[str, Any]


def step_sentences(reasons: pa.Table, cycles: pa.Table, tasks: Sequence[str]) -> dict[str, str]:
    """Describe the steps by which the assignor placed active tasks.

    Args:
        reasons: rows of one run; empty if explanations were not recorded.
        cycles: rows of one run; empty if explanations were not recorded.
        tasks: task ids.

    Returns:
        A sentence by `round:index of the task`.
    """
    index_by_task = {task: index for index, task in enumerate(tasks)}
    edges: dict[tuple[int, int], list[Row]] = {}
    for row in cycles.to_pylist():
        edges.setdefault((row["round"], row["cycle"]), []).append(row)
    steps: dict[tuple[int, str], list[str]] = {}
    for row in reasons.to_pylist():
        if row["role"] == "active":
            steps.setdefault((row["round"], row["task"]), []).append(_words(row, edges))
    return {f"{number}:{index_by_task[task]}": _sentence(parts) for (number, task), parts in steps.items()}


def _words(step: Row, edges: Mapping[tuple[int, int], Sequence[Row]]) -> str:
    cycle = edges.get((step["round"], step["cycle"]))
    return f"{step_text(step)} {cycle_text(tuple(cycle))}" if cycle else step_text(step)


def _sentence(parts: Sequence[str]) -> str:
    sentence = "; then ".join(parts)
    return f"{sentence[:1].upper()}{sentence[1:]}."
