"""Data of the round player: names once, and only the changes from round to round.

All values are indices into lists of names, so that hundreds of rounds with a thousand tasks stay small.

The sentences about the decisions behind each move come from the tables `reasons` and `cycles`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa

from reports.analysis.comparison import Tables, rows_of_run
from reports.analysis.explanation import cycle_text, step_text
from reports.analysis.runs.breakdowns import MOVE_REASONS, Key, assignor_label, runs_by_assignor
from reports.analysis.runs.warmups import Copy, warm_ups
from reports.analysis.scaled_rounds import trigger_text
from reports.analysis.text import printable, shortened_list

Row = Mapping[str, Any]


def step_sentences(reasons: pa.Table, cycles: pa.Table, tasks: Sequence[str]) -> dict[str, str]:
    """Describe the steps by which the assignor placed active tasks.

    `reasons`: rows of one run; empty if explanations were not recorded. `cycles`: rows of one run; empty if
    explanations were not recorded. Returns a sentence by `round:index of the task`.
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
    return (
        f"{step_text(step)} {cycle_text(tuple(cycle), spreads=step['kind'] == 'spread')}" if cycle else step_text(step)
    )


def _sentence(parts: Sequence[str]) -> str:
    sentence = "; then ".join(parts)
    return f"{sentence[:1].upper()}{sentence[1:]}."


MAX_BYTES = 3_000_000
"""Maximum size of the data of runs on a page."""

MAX_SENTENCE_BYTES = 1_200_000
"""Maximum size of the sentences about moves in these data."""

STATES: Final = ("unassigned", "assigned", "restoring", "running", "revoked", "blocked")
"""Task states, as numbered by the player."""

_NO_CLIENT = -1
_REASON_CHARS = 110
_WARM_UP = "warm_up"

Json = dict[str, Any]


def player_data(tables: Tables, *, max_bytes: int = MAX_BYTES, max_sentence_bytes: int = MAX_SENTENCE_BYTES) -> Json:
    """Return the first run of each assignor as data for the player.

    `tables`: must contain `runs`, `rounds`, `tasks`, `clients`, `assignments`, `moves`, `reasons`, `cycles`, the task
    states and `events`. `max_bytes`: maximum size of the data of all runs; the first run is always included.
    `max_sentence_bytes`: maximum size of the sentences about moves of all runs. Returns `runs` in the order of the
    table, `left_out` with the labels of runs that exceed the size limit, and the texts of `reasons` and `states`. For
    the data of a run see `_run`.
    """
    runs = runs_by_assignor(tables)
    included: list[Json] = []
    left_out: list[str] = []
    size = 0
    for key, assignor_runs in runs.items():
        label = printable(assignor_label(key, runs))
        run_data = _run(tables, key, assignor_runs[0], label, max_sentence_bytes // len(runs))
        size += len(json.dumps(run_data, separators=(",", ":")))
        if size <= max_bytes or not included:
            included.append(run_data)
        else:
            left_out.append(label)
    reason_texts = {name.removeprefix("moves_"): text for name, text in MOVE_REASONS.items()}
    return {"runs": included, "left_out": left_out, "reasons": reason_texts, "states": STATES}


def _run(tables: Tables, key: Key, run: Mapping[str, Any], label: str, max_sentence_bytes: int) -> Json:
    """Return the data of one run.

    Tasks and clients are indices into `tasks` and `clients`; -1 is no client. `transitions` has a list per time: the
    time since the previous one, then task and `6 × (client + 1) + state` alternately. A round has the differences from
    the previous one: `own` (task, client, index into `why` or -1), `add` and `drop` (task, client of standbys), `warm`
    and `cool` (standbys that become or cease to be warm-ups). `sentences` has sentences about moves by `round:task`;
    None if they exceed `max_sentence_bytes`.
    """
    rows = {name: rows_of_run(tables, name, key, run["seed"]) for name in ("tasks", "clients", "task_states", "events")}
    tasks = rows["tasks"]["task"].to_pylist()
    clients = list(dict.fromkeys(rows["clients"]["client"].to_pylist()))
    rounds = rows_of_run(tables, "rounds", key, run["seed"]).to_pylist()
    why: list[str] = []
    reasons = rows_of_run(tables, "reasons", key, run["seed"])
    deltas = _deltas(tables, key, run["seed"], rounds, tasks, clients, why)
    _add_warm_ups(deltas, rounds, reasons, tasks, clients)
    sentences = step_sentences(reasons, rows_of_run(tables, "cycles", key, run["seed"]), tasks)
    return {
        "label": label,
        "seed": run["seed"],
        "until": max((row["until_ms"] for row in rounds), default=0),
        "tasks": [printable(task) for task in tasks],
        "stateless": [
            index for index, is_stateful in enumerate(rows["tasks"]["stateful"].to_pylist()) if not is_stateful
        ],
        "clients": _clients(rows["clients"].to_pylist(), clients),
        "rounds": [
            {
                "n": row["round"],
                "at": row["at_ms"],
                "reason": shortened_list(trigger_text(row["reason"] or ""), _REASON_CHARS),
                **delta,
            }
            for row, delta in zip(rounds, deltas, strict=True)
        ],
        "why": why,
        "transitions": _transitions(rows["task_states"], tasks, clients),
        "events": [[row["at_ms"], printable(row["event"])] for row in rows["events"].to_pylist()],
        "sentences": sentences if sum(map(len, sentences.values())) <= max_sentence_bytes else None,
    }


def _clients(stays: Sequence[Mapping[str, Any]], clients: Sequence[str]) -> list[Json]:
    clients_by_name: dict[str, Json] = {}
    for row in stays:
        rack = None if row["rack"] is None else printable(row["rack"])
        client = clients_by_name.setdefault(
            row["client"], {"name": printable(row["client"]), "rack": rack, "threads": row["threads"], "stays": []}
        )
        if row["from_round"] is not None:
            client["stays"].append([row["from_round"], row["until_round"]])
    return [clients_by_name[client] for client in clients]


def _deltas(
    tables: Tables,
    key: Key,
    seed: int,
    rounds: Sequence[Mapping[str, Any]],
    tasks: Sequence[str],
    clients: Sequence[str],
    why: list[str],
) -> list[Json]:
    """Return the differences of each round; new reasons are appended to `why`."""
    copies = rows_of_run(tables, "assignments", key, seed)
    round_, task, client = (
        copies["round"].to_numpy(),
        _indices(copies["task"], tasks),
        _indices(copies["client"], clients),
    )
    is_active = _indices(copies["role"], ["active"]) == 0
    reasons = _reasons(rows_of_run(tables, "moves", key, seed), tasks, why)
    bounds = np.searchsorted(round_, [row["round"] for row in rounds] + [np.iinfo(np.int64).max])
    owner = np.full(len(tasks), _NO_CLIENT)
    standbys = np.zeros(0, dtype=np.int64)
    deltas = []
    for index, row in enumerate(rounds):
        part = slice(bounds[index], bounds[index + 1])
        actives, others = is_active[part], ~is_active[part]
        new_owner = np.full(len(tasks), _NO_CLIENT)
        new_owner[task[part][actives]] = client[part][actives]
        new_standbys = np.sort(task[part][others] * len(clients) + client[part][others])
        moved = np.flatnonzero(new_owner != owner).tolist()
        delta: Json = {
            "own": [value for t in moved for value in (t, int(new_owner[t]), reasons.get((row["round"], t), -1))],
            "add": _pairs(np.setdiff1d(new_standbys, standbys), len(clients)),
            "drop": _pairs(np.setdiff1d(standbys, new_standbys), len(clients)),
        }
        deltas.append(delta)
        owner, standbys = new_owner, new_standbys
    return deltas


def _add_warm_ups(
    deltas: Sequence[Json],
    rounds: Sequence[Mapping[str, Any]],
    reasons: pa.Table,
    tasks: Sequence[str],
    clients: Sequence[str],
) -> None:
    """Add which copies become and cease to be warm-ups, if the assignor reports them."""
    import pyarrow.compute as pc

    rows = reasons.filter(pc.and_(pc.equal(reasons["kind"], _WARM_UP), pc.equal(reasons["role"], "standby")))
    if not rows:
        return
    assigned: dict[int, set[Copy]] = {}
    assigned_copies = zip(
        _indices(rows["task"], tasks).tolist(), _indices(rows["to_client"], clients).tolist(), strict=True
    )
    for number, copy in zip(rows["round"].to_pylist(), assigned_copies, strict=True):
        assigned.setdefault(number, set()).add(copy)
    copies = list(_copies(deltas))
    before: set[Copy] = set()
    warm_ups_by_round = warm_ups(copies, [assigned.get(row["round"], set()) for row in rounds])
    for delta, present, warm in zip(deltas, copies, warm_ups_by_round, strict=True):
        delta["warm"] = [index for copy in sorted(warm - before) for index in copy]
        delta["cool"] = [index for copy in sorted((before - warm) & present) for index in copy]
        before = warm


def _copies(deltas: Sequence[Json]) -> Iterator[set[Copy]]:
    """Yield the standbys and warm-ups of each round."""
    present: set[Copy] = set()
    for delta in deltas:
        present -= set(zip(delta["drop"][::2], delta["drop"][1::2], strict=True))
        present |= set(zip(delta["add"][::2], delta["add"][1::2], strict=True))
        yield set(present)


def _reasons(moves: pa.Table, tasks: Sequence[str], why: list[str]) -> dict[tuple[int, int], int]:
    """Return the index into `why` of the reason of each active move, by round and task."""
    numbers = moves["round"].to_pylist()
    reason_indices = {}
    task_indices = _indices(moves["task"], tasks).tolist()
    for number, task, reason in zip(numbers, task_indices, moves["reason"].to_pylist(), strict=True):
        if reason is not None:
            if reason not in why:
                why.append(reason)
            reason_indices[number, task] = why.index(reason)
    return reason_indices


def _transitions(task_states: pa.Table, tasks: Sequence[str], clients: Sequence[str]) -> list[list[int]]:
    """Return the task states by time of change; of several changes of a task at one time, only the last counts."""
    at_ms = task_states["at_ms"].to_numpy()
    task = _indices(task_states["task"], tasks)
    code = len(STATES) * (_indices(task_states["client"], clients) + 1) + _indices(task_states["state"], STATES)
    transitions: list[list[int]] = []
    edges = [0, *(np.flatnonzero(np.diff(at_ms)) + 1).tolist(), len(at_ms)] if len(at_ms) else [0]
    before_ms = 0
    for start, end in pairwise(edges):
        last = dict(zip(task[start:end].tolist(), code[start:end].tolist(), strict=True))
        transitions.append([int(at_ms[start]) - before_ms, *(value for pair in sorted(last.items()) for value in pair)])
        before_ms = int(at_ms[start])
    return transitions


def _pairs(keys: Any, clients: int) -> list[int]:
    return [value for key in keys.tolist() for value in divmod(key, clients)]


def _indices(column: Any, names: Sequence[str]) -> Any:
    """Return the index of each value of a column in a list of names; -1 if missing."""
    import pyarrow.compute as pc

    indices = pc.index_in(column, value_set=pa.array(names, pa.string()))
    return pc.fill_null(indices, _NO_CLIENT).to_numpy().astype(np.int64)
