"""Results of two small runs whose assignments are written down, so that a diff of their rounds is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from simulator.results.tables import SCHEMAS
from tests.reports import sample_runs

Held = Mapping[str, str]
"""For each task who has it: who runs it, or `-`, and then who stands by."""

HA: tuple[Held, ...] = (
    {"0_2": "a b", "0_10": "b", "1_0": "a"},
    {"0_2": "b a", "0_10": "c", "1_0": "a c"},
    {"0_2": "b a", "0_10": "c", "1_0": "a c"},
    {"0_2": "b a", "0_10": "c", "1_0": "a c"},
)
STICKY: tuple[Held, ...] = ({"0_2": "a b", "0_10": "- b", "1_0": "c"},)
RECORDED = "recorded"
"""The assignor of which it is known how it came to its moves."""

REASONS = {"0_2": "promoted", "0_10": "member_lost", "0_3": "member_lost"}
"""Why tasks move; the others for balance."""


def results(runs: Mapping[str, Sequence[Held]] | None = None, **names: str) -> dict[str, pa.Table]:
    """Tables of runs, by the assignor's label; `names` replaces client and task names by others."""
    every = {"HA": HA, "sticky": STICKY} if runs is None else runs
    keys = {label: {"scenario": "rack_outage", "assignor": label, "seed": 7} for label in every}
    copies, moves, rounds = [], [], []
    for label, held in every.items():
        for number, of_round in enumerate(held, 1):
            changed = of_round != held[number - 2] if number > 1 else True
            row = {"at_ms": number * 1000, "reason": "follow-up", "active_moves": 2 * changed, "standby_moves": 0}
            rounds.append({**keys[label], "round": number, "withheld_tasks": 0, **row})
            copies += [{**keys[label], "round": number, **copy} for copy in _copies(of_round, names)]
            if number > 1 and changed:
                moves += [{**keys[label], **move} for move in _moves(number, held[number - 2], of_round, names)]
    tables = sample_runs.tables([{"assignor": label, "rebalances": len(held)} for label, held in every.items()], rounds)
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


def _copies(held: Held, names: Mapping[str, str]) -> list[dict[str, Any]]:
    return [
        {"task": names.get(task, task), "client": names.get(client, client), "role": "standby" if place else "active"}
        for task, clients in held.items()
        for place, client in enumerate(clients.split())
        if client != "-"
    ]


def _moves(number: int, before: Held, after: Held, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Of the second round; 1_0 gets a standby, the others another owner."""
    moves: list[dict[str, Any]] = []
    for task in after:
        one, other = before[task].split()[0], after[task].split()[0]
        active = {"round": number, "at_ms": 0, "task": names.get(task, task), "role": "active"}
        ends = {"from_client": names.get(one, one), "to_client": names.get(other, other)}
        if one != other:
            moves.append({**active, **ends, "reason": REASONS.get(task, "balance")})
        else:
            moves.append({**active, "role": "standby", "to_client": names.get("c", "c")})
    return moves
