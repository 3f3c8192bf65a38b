"""The tables of two small runs with moves, restoration and standbys, for the round player.

Client `away` crashes after 9 minutes and returns after 20; `late` joins in the second round and never leaves. The
assignor `eager` moves tasks at once, `calm` only if it must.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from simulator.results.tables import SCHEMAS
from tests.reports.sample_runs import MANIFEST, MINUTE_MS, RUN, run_rounds, tables

RACKS = {"first": "az1", "away": "az2", "late": "az1"}
TASKS = ("0_0", "0_1", "1_0", "1_1")
NUMBERS = (1, 2, 3)
STARTS_MS = (0, 10 * MINUTE_MS, 20 * MINUTE_MS)

Rows = list[dict[str, Any]]

OWNERS: dict[str, tuple[tuple[str, ...], ...]] = {
    "eager": (
        ("first", "away", "first", "away"),
        ("first", "late", "first", "late"),
        ("first", "late", "away", "late"),
    ),
    "calm": (("first", "away", "first", "away"), ("first", "first", "first", "first"), ("first",) * 4),
}
"""Active client of each task, by round."""

STANDBYS: dict[str, tuple[Mapping[str, str], ...]] = {
    "eager": ({"0_1": "first"}, {"0_1": "first"}, {"0_1": "first", "1_0": "first"}),
    "calm": ({"0_1": "first"}, {}, {"1_1": "away"}),
}
"""Client of each standby, by round and task."""


PLAYER_MANIFEST: dict[str, Any] = {
    **MANIFEST,
    "scenario": {
        **MANIFEST["scenario"],
        "file": "scenario/rack_outage.yaml",
        "imports": {},
        "renamed": [],
        "inferred": [],
        "warnings": [],
    },
    "assignors": [
        {
            **MANIFEST["assignors"][0],
            "label": label,
            "protocol": "classic",
            "broker_release": None,
            "client_release": None,
            "group": {
                "session_timeout_ms": 45_000,
                "heartbeat_interval_ms": 3_000,
                "has_leave_config": False,
                "static": [],
                "of_consumers": False,
            },
            "unused": [],
            "ignored": [],
            "refused": [],
        }
        for label in OWNERS
    ],
    "model": 1,
}
"""The manifest of the runs."""


def player_runs(names: Mapping[str, str] | None = None) -> dict[str, pa.Table]:
    """Return the tables; `names` are new names of clients, racks, tasks and assignors."""
    new_names = names or {}
    rows: dict[str, Rows] = {"clients": [], "assignments": [], "moves": [], "task_states": [], "reasons": []}
    for assignor in OWNERS:
        rows["clients"] += _clients()
        rows["assignments"] += _assignments(assignor)
        rows["moves"] += _moves(assignor)
        rows["task_states"] += _task_states(assignor)
        rows["reasons"] += _reasons(assignor)
        for table_rows in rows.values():
            for row in table_rows:
                row.setdefault("assignor", assignor)
    results = tables(
        [{"assignor": assignor} for assignor in OWNERS],
        [row for assignor in OWNERS for row in run_rounds(assignor, [(0, 4e6, 3), (10, 3e6, 2), (20, 1e6, 0)])],
        [
            {"assignor": assignor, "at_ms": minute * MINUTE_MS, "event": event}
            for assignor in OWNERS
            for minute, event in ((9, "away goes down"), (20, "away starts"))
        ],
        [
            {"assignor": assignor, "task": task, "downtime_ms": 1_000 * n}
            for assignor in OWNERS
            for n, task in enumerate(TASKS)
        ],
        [
            {"assignor": assignor, "kind": kind, "from_rack": "az1", "to_rack": "az2", "bytes": carried}
            for assignor in OWNERS
            for kind, carried in (("source_read", 3e9), ("restore_read", 1e9))
        ],
        convergence=[{"assignor": assignor} for assignor in OWNERS],
    )
    key = {"scenario": RUN["scenario"], "seed": RUN["seed"]}
    for table, table_rows in rows.items():
        results[table] = pa.Table.from_pylist([{**key, **row} for row in table_rows], schema=SCHEMAS[table])
    return {table: _renamed(results[table], new_names) for table in results}


def _clients() -> Rows:
    stays = {"first": [(1, None)], "away": [(1, 2), (3, None)], "late": [(2, None)]}
    return [
        {"client": client, "rack": RACKS[client], "threads": 2, "from_round": from_round, "until_round": until_round}
        for client, rounds in stays.items()
        for from_round, until_round in rounds
    ]


def _assignments(assignor: str) -> Rows:
    rows: Rows = []
    for number, owners, standbys in zip(NUMBERS, OWNERS[assignor], STANDBYS[assignor], strict=True):
        pairs = [(task, client, "active") for task, client in zip(TASKS, owners, strict=True)]
        pairs += [(task, client, "standby") for task, client in standbys.items()]
        rows += [{"round": number, "task": task, "client": client, "role": role} for task, client, role in pairs]
    return rows


def _moves(assignor: str) -> Rows:
    return [
        {
            "round": number,
            "at_ms": at_ms,
            "task": task,
            "role": "active",
            "from_client": old,
            "to_client": new,
            "reason": "member_lost" if old == "away" else "balance",
        }
        for number, at_ms, task, old, new in _changes(assignor)
    ]


def _changes(assignor: str) -> Sequence[tuple[int, int, str, str, str]]:
    owners = OWNERS[assignor]
    return [
        (NUMBERS[index], STARTS_MS[index], task, old, new)
        for index in (1, 2)
        for task, old, new in zip(TASKS, owners[index - 1], owners[index], strict=True)
        if old != new
    ]


def _reasons(assignor: str) -> Rows:
    """Return one step per move, which balances load; the standby of the third round is a warm-up."""
    loads = {"load_from": 2.0, "load_to": 0.0, "load_from_after": 1.0, "load_to_after": 1.0}
    decisions = [
        {"round": number, "task": task, "from_client": old, "to_client": new, "step_from": old, "step_to": new}
        for number, _, task, old, new in _changes(assignor)
    ]
    task, client = {"eager": ("1_0", "first"), "calm": ("1_1", "away")}[assignor]
    copy = {"round": 3, "task": task, "to_client": client, "step_to": client, "lag_to": 90, "acceptable_lag": 10}
    return [
        *({"step": 1, "role": "active", "kind": "balanced", **loads, **decision} for decision in decisions),
        {"step": 1, "role": "standby", "kind": "warm_up", **copy},
    ]


def _task_states(assignor: str) -> Rows:
    """Return task states: a moved task restores for 30 s; tasks of a lost client stop a minute before they move."""
    steps = [
        (0, task, state, client)
        for task, client in zip(TASKS, OWNERS[assignor][0], strict=True)
        for state in ("assigned", "running")
    ]
    for _, at_ms, task, old, new in _changes(assignor):
        steps.append((9 * MINUTE_MS, task, "unassigned", None) if old == "away" else (at_ms, task, "revoked", old))
        steps += [
            (at_ms, task, "assigned", new),
            (at_ms, task, "restoring", new),
            (at_ms + 30_000, task, "running", new),
        ]
    return [
        {"at_ms": at_ms, "task": task, "state": state, "client": client}
        for at_ms, task, state, client in sorted(steps, key=lambda step: step[0])
    ]


def _renamed(table: pa.Table, new_names: Mapping[str, str]) -> pa.Table:
    columns = (
        "assignor",
        "client",
        "rack",
        "task",
        "from_client",
        "to_client",
        "step_from",
        "step_to",
        "from_rack",
        "to_rack",
        "event",
        "reason",
    )
    renamed_columns = [column for column in columns if column in table.column_names]
    rows = [
        {**row, **{column: new_names.get(row[column], row[column]) for column in renamed_columns}}
        for row in table.to_pylist()
    ]
    return pa.Table.from_pylist(rows, schema=table.schema)
