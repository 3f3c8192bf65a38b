"""The options `--columns` and `--wide` of commands that print a comparison."""

from __future__ import annotations

from typing import Annotated

import typer

Columns = Annotated[
    str | None,
    typer.Option(help="Metrics to show, by key, separated by commas (keys: list metrics).", metavar="KEYS"),
]
Wide = Annotated[bool, typer.Option("--wide", help="One row per assignor, however wide; for less -S.")]


class ColumnError(ValueError):
    """A key of `--columns` is unknown."""


def parse_columns(text: str | None) -> list[str]:
    """Return the keys of `--columns`; raise ColumnError if a key is not that of a metric."""
    if text is None:
        return []
    from reports.analysis.metrics import ALL_METRICS
    from simulator.results.run_metrics import metric_hint

    keys = [key.strip() for key in text.split(",") if key.strip()]
    for key in keys:
        if key not in ALL_METRICS:
            raise ColumnError(f"--columns: {key}: unknown metric ({metric_hint(key, list(ALL_METRICS))})")
    if not keys:
        raise ColumnError("--columns: names no metric (as in --columns active_moves,restored_bytes)")
    return list(dict.fromkeys(keys))
