"""The rounds of runs as text: metrics as sparklines, and the changes of each round."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from reports.analysis.cells import event_cell
from reports.analysis.comparison import Tables, rows_of_run, table_rows
from reports.analysis.formatting import (
    NumberFormat,
    format_bytes,
    format_clock,
    format_count,
    format_duration,
    format_rate,
)
from reports.analysis.runs.round_diff import move_reason_text
from reports.analysis.runs.run_rows import first_seeds
from reports.analysis.scaled_rounds import cause_text, decisions_by_round
from reports.analysis.text import printable
from reports.render.terminal.console import HEADER, QUIET, grid, lines
from simulator.plurals import counted

_BARS: Final = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float | None], width: int) -> str:
    """Return values as bars relative to the maximum; a space for unknown values.

    `values`: at least 0, or None if unknown. `width`: maximum number of bars; longer series show the maximum of each
    part. Returns one character per bar.
    """
    bars = [_maximum(part) for part in _equal_parts(values, width)]
    maximum = max((value for value in bars if value is not None), default=0.0)
    return "".join(" " if value is None else _bar(value, maximum) for value in bars)


def _bar(value: float, maximum: float) -> str:
    """Return the bar of a value; the lowest bar is used for 0 only."""
    return _BARS[math.ceil(value / maximum * (len(_BARS) - 1))] if maximum else _BARS[0]


def _maximum(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _equal_parts(values: Sequence[float | None], width: int) -> list[Sequence[float | None]]:
    parts = min(len(values), max(width, 1))
    return [values[len(values) * part // parts : len(values) * (part + 1) // parts] for part in range(parts)]


_FIGURES: dict[str, tuple[str, NumberFormat]] = {
    "tasks not at final client": ("displaced_tasks", format_count),
    "active task moves": ("active_moves", format_count),
    "standby moves": ("standby_moves", format_count),
    "standbys and warm-ups behind": ("warming_up", format_count),
    "state restored": ("restored_bytes", format_bytes),
    "task downtime (total)": ("downtime_ms", format_duration),
    "cross-rack traffic (steady state)": ("cross_rack_bytes_per_s", format_rate),
}
"""Metrics shown over all rounds: label, column and number format."""

_MAX_WIDTH = 60
_MAX_LISTED_MOVES = 3
"""Maximum number of moves in a round that are listed individually."""

_REASON_CHARS = 60
_SPACE = (0, 1)

Row = Mapping[str, Any]


def draw(tables: Tables, assignors: Sequence[str] = (), width: int | None = None, *, color: bool | None = None) -> str:
    """Draw the rounds of the first run of each assignor.

    `tables`: must contain `runs`, `rounds`, `moves` and `convergence`. `assignors`: labels; all by default.
    """
    return lines(_parts(tables, assignors), width, color=color)


def _parts(tables: Tables, assignors: Sequence[str]) -> Iterator[RenderableType]:
    scaled = decisions_by_round(tables)
    verdicts = {(run["assignor"], run["seed"]): run for run in table_rows(tables, "runs")}
    for assignor, (scenario, seed) in first_seeds(tables).items():
        if assignors and assignor not in assignors:
            continue
        key = (scenario, assignor)
        rounds = rows_of_run(tables, "rounds", key, seed).to_pylist()
        moves: dict[int, list[Row]] = {}
        for move in rows_of_run(tables, "moves", key, seed).to_pylist():
            moves.setdefault(move["round"], []).append(move)
        yield Text()
        yield _heading(verdicts[assignor, seed])
        yield from _events(rows_of_run(tables, "convergence", key, seed).to_pylist())
        numbers = [row["round"] for row in rounds]
        if rounds:
            yield _sparklines(rounds)
            yield Text()
            yield _rounds(rounds, moves, {number: scaled.get((*key, seed, number), ()) for number in numbers})


def _heading(run: Row) -> Text:
    text = Text(f"{printable(run['assignor'])}, seed {run['seed']}", style=HEADER)
    return text.append(f": {run['verdict']}, {counted(run['rebalances'], 'round')}", style="not bold")


def _events(events: Sequence[Row]) -> Iterator[Text]:
    """Yield one line per event: `event 1, join of client late, 60 min: converged after 20.3 min (6 rebalances)`."""
    for row in events:
        what = f"event {row['number']}, {printable(row['event'])}, {format_clock(row['at_ms'])}"
        after = str(event_cell(row)).removeprefix("> ")
        how = "converged after" if row["time_to_converge_ms"] is not None else "not converged after"
        yield Text(f"{what}: {how} {after}", style=QUIET)


def _sparklines(rounds: Sequence[Row]) -> Table:
    table = Table.grid(padding=_SPACE)
    for name, (column, write) in _FIGURES.items():
        values = [row[column] for row in rounds]
        known = [value for value in values if value is not None]
        if any(known):
            maximum, last = write(max(known)), "n/a" if values[-1] is None else write(values[-1])
            table.add_row(
                Text(name),
                Text(sparkline(values, _MAX_WIDTH)),
                Text(f"max {maximum}, last {last}", style=QUIET),
            )
    return table


def _rounds(rounds: Sequence[Row], moves: Mapping[int, Sequence[Row]], scaled: Mapping[int, Sequence[Row]]) -> Table:
    table = grid()
    for header in ("round", "time"):
        table.add_column(Text(header), justify="right")
    for header in ("trigger", "changes"):
        table.add_column(Text(header))
    for first, last in _unchanged_spans(rounds):
        number = str(first["round"]) if first is last else f"{first['round']}–{last['round']}"
        reason = Text(cause_text(first["reason"], scaled[first["round"]], _REASON_CHARS))
        initial_text = "initial assignment" if first["round"] else "existing assignment"
        changed = Text(initial_text if first is rounds[0] else _changed(first, moves.get(first["round"], ())))
        table.add_row(Text(number), Text(format_clock(first["at_ms"])), reason, changed)
    table.padding = _SPACE
    return table


def _unchanged_spans(rounds: Sequence[Row]) -> Iterator[tuple[Row, Row]]:
    """Yield the first and last of consecutive rounds that have the same reason and change nothing."""

    def group_key(row: Row) -> tuple[Any, ...]:
        is_quiet = not row["active_moves"] and not row["standby_moves"] and row is not rounds[0]
        return (row["reason"],) if is_quiet else (row["reason"], row["round"])

    for _, group in groupby(rounds, key=group_key):
        span = list(group)
        yield span[0], span[-1]


def _changed(row: Row, moves: Sequence[Row]) -> str:
    """Return the changes of a round, with few moves listed individually.

    For example `70 tasks moved (43 to a copy, 27 balance), 53 new standbys`.
    """
    actives = [move for move in moves if move["role"] == "active"]
    changes = []
    if actives and len(actives) <= _MAX_LISTED_MOVES:
        changes += [_move(move) for move in actives]
    elif actives:
        counts = Counter(move_reason_text(move["reason"]) for move in actives)
        reasons = ", ".join(f"{count} {reason}".rstrip() for reason, count in counts.most_common())
        changes.append(f"{format_count(len(actives))} tasks moved ({reasons})")
    if standbys := len(moves) - len(actives):
        changes.append(counted(standbys, "new standby"))
    if row["withheld_tasks"]:
        changes.append(f"{format_count(row['withheld_tasks'])} to move in a follow-up rebalance")
    return ", ".join(changes) or "–"


def _move(move: Row) -> str:
    source, target = (printable(move[end] or "no client") for end in ("from_client", "to_client"))
    return f"{printable(move['task'])} {source} → {target} ({move_reason_text(move['reason'])})"


def records(tables: Tables) -> list[dict[str, Any]]:
    """Return the rounds of the first run of each assignor as records with every column."""
    rows: list[dict[str, Any]] = []
    for assignor, (scenario, seed) in first_seeds(tables).items():
        rows += rows_of_run(tables, "rounds", (scenario, assignor), seed).to_pylist()
    return rows
