"""Threads that cannot keep up with their input: which, since when, and what helps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reports.analysis.comparison import Tables, table_rows
from reports.analysis.formatting import format_clock, format_count, format_duration, format_number

Row = Mapping[str, Any]
"""A row of the table `thread_loads`."""


def overload_sentences(tables: Tables) -> dict[tuple[str, str], str]:
    """Return a sentence on the threads that cannot keep up at the end, by scenario and assignor with such threads.

    Args:
        tables: the table `thread_loads`; none without it. Over several seeds, the run with the longest delay counts.
    """
    runs: dict[tuple[str, str], dict[int, list[Row]]] = {}
    for row in table_rows(tables, "thread_loads") if "thread_loads" in tables else ():
        runs.setdefault((row["scenario"], row["assignor"]), {}).setdefault(row["seed"], []).append(row)
    return {key: text for key, by_seed in runs.items() for text in _sentence(key[1], list(by_seed.values()))}


def _sentence(assignor: str, runs: Sequence[Sequence[Row]]) -> Iterator[str]:
    overloaded = [run for run in runs if any(map(_is_behind, run))]
    if not overloaded:
        return
    run = max(overloaded, key=lambda rows: max(_delay_ms(row) for row in rows))
    behind = [row for row in run if _is_behind(row)]
    worst = max(behind, key=_delay_ms)
    which = f" in {len(overloaded)} of {len(runs)} runs" if len(runs) > 1 else ""
    arrives, processes = (_rate(worst[name]) for name in ("input_records_per_s", "max_records_per_s"))
    yield (
        f"{assignor}: {format_count(len(behind))} of {format_count(len(run))} threads cannot keep up{which}. "
        f"At the end, {arrives} arrive for thread {worst['thread']} of {worst['client']}, which processes {processes}: "
        f"{format_duration(_delay_ms(worst))} behind, since {format_clock(worst['behind_since_ms'])}. "
        f"{_remedy(run, behind)}"
    )


def _remedy(run: Sequence[Row], behind: Sequence[Row]) -> str:
    if any(row["active_tasks"] == 1 for row in behind):
        return (
            "More threads do not help a thread with one task: its subtopology needs more partitions, fewer source "
            "topics or faster processing."
        )
    arriving, limits = (sum(row[name] or 0 for row in run) for name in ("input_records_per_s", "max_records_per_s"))
    if arriving > limits:
        return f"All threads process {_rate(limits)} of {_rate(arriving)}: more threads or instances help."
    return "All threads together process enough: more threads help, or a more even assignment."


def _is_behind(row: Row) -> bool:
    return row["behind_since_ms"] is not None


def _delay_ms(row: Row) -> int:
    return int(row["processing_delay_ms"]) if _is_behind(row) else -1


def _rate(records_per_s: float) -> str:
    return f"{format_number(records_per_s)} records/s"
