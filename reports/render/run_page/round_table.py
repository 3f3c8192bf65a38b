"""The rounds of runs as table cells of a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from reports.analysis.cells import UNKNOWN
from reports.analysis.comparison import Tables, proofs_by_round, table_rows
from reports.analysis.formatting import (
    NumberFormat,
    format_bytes,
    format_clock,
    format_count,
    format_duration,
    format_rate,
)
from reports.analysis.scaled_rounds import cause_text, decisions_by_round

MAX_ROUNDS = 100
"""Maximum number of rounds of a run in a table of a page."""

_REASON_CHARS = 240

RoundRow = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RunRounds:
    """The rounds of one run.

    Attributes:
        scenario: name of the scenario.
        assignor: label of the assignor.
        seed: random seed.
        cells: one row per round.
    """

    scenario: str
    assignor: str
    seed: int
    cells: tuple[tuple[str, ...], ...]


def _number(name: str, write: NumberFormat = format_count, unknown: str = UNKNOWN) -> Callable[[RoundRow], str]:
    return lambda row: unknown if row[name] is None else write(row[name])


def _list_of(*names: str) -> Callable[[RoundRow], str]:
    return lambda row: ", ".join(_number(name)(row) for name in names)


def _cross_rack_partitions(row: RoundRow) -> str:
    return f"{_number('cross_rack_source_partitions')(row)} ({_number('cross_rack_source_partitions_bound')(row)})"


def _cost(row: RoundRow) -> str:
    proof = row["proof"]
    proven = (
        ""
        if proof is None
        else " proven"
        if proof.is_exact
        else f", optimum up to {format_count(proof.best_known_cost)}"
    )
    return f"{_number('total_cost')(row)} ({_number('total_cost_bound')(row)}{proven})"


_COLUMNS: dict[str, Callable[[RoundRow], str]] = {
    "Round": lambda row: str(row["round"]),
    "Time": _number("at_ms", format_clock),
    "Reason": lambda row: cause_text(row["reason"], row["scaled"], _REASON_CHARS),
    "Clients": _number("members"),
    "Leader compute time": _number("leader_compute_ms", format_duration),
    "Active task moves": _number("active_moves"),
    "Moves in follow-up rebalances": _number("withheld_tasks"),
    "Thread moves": _number("thread_moves"),
    "Standby moves": _number("standby_moves"),
    "Tasks not at final client": _number("displaced_tasks"),
    "Tasks not running": _number("restoring_tasks"),
    "Standbys and warm-ups behind": _number("warming_up"),
    "State restored": _number("restored_bytes", format_bytes),
    "Task downtime (total)": _number("downtime_ms", format_duration),
    "Cross-rack source partitions (bound)": _cross_rack_partitions,
    "Kafka's rack-aware cost: stateful, stateless, standbys": _list_of(
        "stateful_cost", "stateless_cost", "standby_cost"
    ),
    "KIP-925 cost (bound)": _cost,
    "Cross-rack bytes": _number("cross_rack_bytes", format_bytes),
    "Cross-rack traffic (steady state)": _number("cross_rack_bytes_per_s", format_rate),
    "Follow-up rebalance after": _number("followup_delay_ms", format_duration, "–"),
}

HEADERS = tuple(_COLUMNS)
"""Column headers; all columns but the reason are numeric."""


def first_runs(tables: Tables) -> list[RunRounds]:
    """Return the rounds of the first run of each assignor.

    Raises:
        TableError: the table `runs` or `rounds` is missing.
    """
    cells_by_run: dict[tuple[str, str, int], list[tuple[str, ...]]] = {}
    proofs, decisions = proofs_by_round(tables), decisions_by_round(tables)
    for row in table_rows(tables, "rounds"):
        key = (row["scenario"], row["assignor"], row["seed"])
        proof, scaled = proofs.get((*key, row["round"])), decisions.get((*key, row["round"]), ())
        cells_by_run.setdefault(key, []).append(
            tuple(cell({**row, "proof": proof, "scaled": scaled}) for cell in _COLUMNS.values())
        )
    runs: dict[tuple[str, str], RunRounds] = {}
    for run in table_rows(tables, "runs"):
        run_name = run["scenario"], run["assignor"]
        if run_name not in runs:
            runs[run_name] = RunRounds(*run_name, run["seed"], tuple(cells_by_run.get((*run_name, run["seed"]), ())))
    return list(runs.values())
