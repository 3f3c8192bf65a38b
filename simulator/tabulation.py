"""How a trace becomes the rows of the result tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from assignors.assignment import UNASSIGNED
from simulator.convergence import convergence
from simulator.tables import SCHEMAS
from simulator.trace import Round, Trace
from simulator.traffic import TrafficKind

Rows = list[dict[str, Any]]

_OF_MEASURES = (
    "remote_source_partitions",
    "least_remote_source_partitions",
    "remote_standby_partitions",
    "load_skew",
    "active_skew",
    "subtopology_skew",
    "tasks_in_one_rack",
)


def tabulate(trace: Trace, assignor: str, seed: int) -> dict[str, pa.Table]:
    """Lay a run out in every table of `SCHEMAS`.

    Args:
        trace: the run.
        assignor: the label under which it is compared.
        seed: the seed that its world was drawn from.
    """
    key = {"scenario": trace.world.name, "assignor": assignor, "seed": seed}
    moves = _moves(trace)
    rounds = _rounds(trace, moves)
    rows = {
        "runs": [_run(trace, rounds)],
        "rounds": rounds,
        "assignments": _assignments(trace),
        "moves": moves,
        "traffic": _traffic(trace),
        "events": [{"at_ms": timed.at_ms, "event": str(timed.change)} for timed in trace.changes],
    }
    return {
        name: pa.Table.from_pylist([{**key, **row} for row in rows[name]], schema=schema)
        for name, schema in SCHEMAS.items()
    }


def _run(trace: Trace, rounds: Rows) -> dict[str, Any]:
    verdict = convergence(trace)
    last = rounds[-1] if rounds else {}
    first_ms = trace.rounds[0].at_ms if trace.rounds else 0
    kept = (*_OF_MEASURES, "active_cost", "stateless_cost", "standby_cost", "cross_rack_bytes_per_s")
    return {
        **{column: last.get(column) for column in kept},
        "verdict": str(verdict.verdict),
        "verdict_round": verdict.round,
        "failure": trace.failure,
        "rounds": len(trace.rounds),
        "rounds_to_stable": verdict.rounds,
        "stable_after_ms": verdict.after_ms,
        "active_moves": sum(row["active_moves"] for row in rounds),
        "standby_moves": sum(row["standby_moves"] for row in rounds),
        "restored_bytes": trace.restored_bytes,
        "down_ms": int((trace.down_ms - first_ms).sum()),
        "cross_rack_bytes": _cross_rack_bytes(rounds),
        "stateful_tasks": int(trace.layout.tasks.stateful.sum()),
    }


def _cross_rack_bytes(rounds: Rows) -> float | None:
    rates = [row["cross_rack_bytes_per_s"] for row in rounds]
    if None in rates:
        return None
    spans_ms = [row["until_ms"] - row["at_ms"] for row in rounds]
    return sum((rate * span / 1000 for rate, span in zip(rates, spans_ms, strict=True)), 0.0)


def _rounds(trace: Trace, moves: Rows) -> Rows:
    if not trace.rounds:
        return []
    final = trace.rounds[-1].owners()
    ends = [each.at_ms for each in trace.rounds[1:]] + [trace.world.duration_ms]
    moved = {(each.number, role): 0 for each in trace.rounds for role in ("active", "standby")}
    for move in moves:
        moved[move["round"], move["role"]] += 1
    return [
        {
            **{column: getattr(each.measures, column) for column in _OF_MEASURES},
            "round": each.number,
            "at_ms": each.at_ms,
            "until_ms": until_ms,
            "reason": each.reason,
            "members": len(each.members),
            "followup_delay_ms": each.decided.columns.followup_rebalance_delay_ms,
            "active_moves": moved[each.number, "active"],
            "standby_moves": moved[each.number, "standby"],
            "displaced_tasks": int((each.owners() != final).sum()),
            "restoring_tasks": each.restoring,
            "standbys": each.measures.standbys,
            "active_cost": each.costs.active,
            "stateless_cost": each.costs.stateless,
            "standby_cost": each.costs.standby,
            # Where a client has no rack, nobody knows what crosses racks; 0 would be a lie.
            "cross_rack_bytes_per_s": None
            if each.measures.remote_source_partitions is None
            else each.traffic.cross_rack(),
        }
        for each, until_ms in zip(trace.rounds, ends, strict=True)
    ]


def _assignments(trace: Trace) -> Rows:
    names = [client.name for client in trace.world.clients]
    ids = [str(task) for task in trace.layout.tasks.ids]
    rows: Rows = []
    for each in trace.rounds:
        owners = each.owners().tolist()
        rows += [
            {"round": each.number, "task": ids[task], "client": names[owner], "role": "active"}
            for task, owner in enumerate(owners)
            if owner != UNASSIGNED
        ]
        rows += [
            {"round": each.number, "task": ids[task], "client": names[client], "role": "standby"}
            for task, client in np.argwhere(each.standbys(len(names))).tolist()
        ]
    return rows


def _moves(trace: Trace) -> Rows:
    rows: Rows = []
    for before, after in zip(trace.rounds, trace.rounds[1:], strict=False):
        rows += _moves_between(trace, before, after)
    return rows


def _moves_between(trace: Trace, before: Round, after: Round) -> Rows:
    names = [client.name for client in trace.world.clients]
    ids = [str(task) for task in trace.layout.tasks.ids]
    here = {"round": after.number, "at_ms": after.at_ms}

    def name(client: int) -> str | None:
        return None if client == UNASSIGNED else names[client]

    old, new = before.owners(), after.owners()
    gained = after.standbys(len(names)) & ~before.standbys(len(names))
    actives = [
        {**here, "task": ids[t], "role": "active", "from_client": name(old[t]), "to_client": name(new[t])}
        for t in np.flatnonzero(old != new).tolist()
    ]
    standbys = [
        {**here, "task": ids[t], "role": "standby", "from_client": None, "to_client": names[n]}
        for t, n in np.argwhere(gained).tolist()
    ]
    return actives + standbys


def _traffic(trace: Trace) -> Rows:
    racks = [*trace.layout.racks, None]
    return [
        {
            "round": each.number,
            "kind": str(kind),
            "from_rack": racks[source],
            "to_rack": racks[target],
            "bytes_per_s": float(each.traffic.bytes_per_s[kind][source, target]),
        }
        for each in trace.rounds
        for kind in TrafficKind
        for source, target in np.argwhere(each.traffic.bytes_per_s[kind] > 0).tolist()
    ]
