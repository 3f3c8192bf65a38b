"""Tables of metrics in pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reports.analysis.metrics import METRIC


def first_runs(rows: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return the row of `runs` with each assignor's first seed."""
    runs: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        runs.setdefault(row["assignor"], row)
    return runs


def show(run: Mapping[str, Any], key: str) -> str:
    """Return a metric of a run as text; the verdict if the group did not converge, so that there is none."""
    if key == "not_converged":
        return str(run["verdict"])
    value = METRIC[key].of(run)
    if value is not None:
        return METRIC[key].write(value)
    return str(run["verdict"]) if key.endswith("_to_converge") or key == "time_to_converge_ms" else "n/a"


def title(key: str) -> str:
    """Return the title of a metric, or of the verdict."""
    return "Verdict" if key == "not_converged" else METRIC[key].title


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table whose columns after the first are aligned to the right."""
    rule = ["---", *("---:" for _ in head[1:])]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in [head, rule, *rows])


def figures_table(rows: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> str:
    """Return a table with a row for each assignor and a column for each metric."""
    runs = first_runs(rows)
    head = ["assignor", *(title(key) for key in keys)]
    return markdown_table(head, [[label, *(show(run, key) for key in keys)] for label, run in runs.items()])
