"""Results of two small runs with given assignments, for tests of round diffs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from simulator.results.tables import SCHEMAS
from tests.reports import sample_runs

Placements = Mapping[str, str]
"""Clients of each task: the active client, or `-` without one, then the clients of its standbys."""

HA_ROUNDS: tuple[Placements, ...] = (
    {"0_2": "a b", "0_10": "b", "1_0": "a"},
    {"0_2": "b a", "0_10": "c", "1_0": "a c"},
    {"0_2": "b a", "0_10": "c", "1_0": "a c"},
    {"0_2": "b a", "0_10": "c", "1_0": "a c"},
)
STICKY_ROUNDS: tuple[Placements, ...] = ({"0_2": "a b", "0_10": "- b", "1_0": "c"},)
RECORDED = "recorded"
"""Label of the assignor that recorded its decisions."""

REASONS = {"0_2": "promoted", "0_10": "member_lost", "0_3": "member_lost"}
"""Reasons of moves; all other tasks move for balance."""


def results(runs: Mapping[str, Sequence[Placements]] | None = None, **names: str) -> dict[str, pa.Table]:
    """Return the tables of runs by label of the assignor; `names` are new names of clients and tasks."""
    runs_by_label = {"HA": HA_ROUNDS, "sticky": STICKY_ROUNDS} if runs is None else runs
    keys = {label: {"scenario": "rack_outage", "assignor": label, "seed": 7} for label in runs_by_label}
    copies, moves, rounds = [], [], []
    for label, placements in runs_by_label.items():
        for number, placement in enumerate(placements, 1):
            changed = placement != placements[number - 2] if number > 1 else True
            row = {"at_ms": number * 1000, "reason": "follow-up", "active_moves": 2 * changed, "standby_moves": 0}
            rounds.append({**keys[label], "round": number, "withheld_tasks": 0, **row})
            copies += [{**keys[label], "round": number, **copy} for copy in _copies(placement, names)]
            if number > 1 and changed:
                moves += [{**keys[label], **move} for move in _moves(number, placements[number - 2], placement, names)]
    tables = sample_runs.tables(
        [{"assignor": label, "rebalances": len(placements)} for label, placements in runs_by_label.items()], rounds
    )
    steps = [
        {**move, "step": 1, "kind": "least_loaded", "step_to": move["to_client"], "load_to": 1.5}
        for move in moves
        if move["assignor"] == RECORDED and move["role"] == "active"
    ]
    return {
        **tables,
        "assignments": _table("assignments", copies),
        "moves": _table("moves", moves),
        "reasons": _table("reasons", steps),
    }


def _table(name: str, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=SCHEMAS[name])


def _copies(placement: Placements, names: Mapping[str, str]) -> list[dict[str, Any]]:
    return [
        {
            "task": names.get(task, task),
            "client": names.get(client, client),
            "role": "standby" if position else "active",
        }
        for task, clients in placement.items()
        for position, client in enumerate(clients.split())
        if client != "-"
    ]


def _moves(number: int, before: Placements, after: Placements, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the moves between two rounds: a task that keeps its active client gets a standby on client c."""
    moves: list[dict[str, Any]] = []
    for task in after:
        source, target = before[task].split()[0], after[task].split()[0]
        active = {"round": number, "at_ms": 0, "task": names.get(task, task), "role": "active"}
        ends = {"from_client": names.get(source, source), "to_client": names.get(target, target)}
        if source != target:
            moves.append({**active, **ends, "reason": REASONS.get(task, "balance")})
        else:
            moves.append({**active, "role": "standby", "to_client": names.get("c", "c")})
    return moves
