"""Data of the round player: names once, and only the changes from round to round.

All values are indices into lists of names, so that hundreds of rounds with a thousand tasks stay small.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa

from reports.analysis.comparison import Tables, rows_of_run
from reports.analysis.runs.breakdowns import MOVE_REASONS, Key, assignor_label, runs_by_assignor
from reports.analysis.runs.warmups import Copy, warm_ups
from reports.analysis.text import printable, shortened
from reports.render.run_page.step_sentences import step_sentences

MAX_BYTES = 3_000_000
"""Maximum size of the data of runs on a page."""

MAX_SENTENCE_BYTES = 1_200_000
"""Maximum size of the sentences about moves in these data."""

STATES: Final = ("unassigned", "assigned", "restoring", "running", "revoked", "blocked")
"""Task states, as numbered by the player."""

_NOBODY = -1
_REASON_CHARS = 110
_WARM_UP = "warm_up"

Json = dict[str, Any]


def player_data(tables: Tables) -> Json:
    """Return the first run of each assignor as data for the player.

    Args:
        tables: must contain `runs`, `rounds`, `tasks`, `clients`, `assignments`, `moves`, `reasons`, `cycles`, the task
            states and `events`.

    Returns:
        `runs` in the order of the table, `left_out` with the labels of runs that exceed the size limit, and the texts
        of `reasons` and `states`. For the data of a run see `_run`.

    Raises:
        TableError: a table is missing.
    """
    runs = runs_by_assignor(tables)
    carried: list[Json] = []
    left_out: list[str] = []
    size = 0
    for key, of_one in runs.items():
        label = printable(assignor_label(key, runs))
        made = _run(tables, key, of_one[0], label, MAX_SENTENCE_BYTES // len(runs))
        size += len(json.dumps(made, separators=(",", ":")))
        if size <= MAX_BYTES or not carried:
            carried.append(made)
        else:
            left_out.append(label)
    words = {name.removeprefix("moves_"): text for name, text in MOVE_REASONS.items()}
    return {"runs": carried, "left_out": left_out, "reasons": words, "states": STATES}


def _run(tables: Tables, key: Key, run: Mapping[str, Any], label: str, max_sentence_chars: int) -> Json:
    """Return the data of one run.

    Tasks and clients are indices into `tasks` and `clients`; -1 is no client. `transitions` has a list per time: the
    time since the previous one, then task and `6 × (client + 1) + state` alternately. A round has the differences from
    the previous one: `own` (task, client, index into `why` or -1), `add` and `drop` (task, client of standbys), `warm`
    and `cool` (standbys that become or cease to be warm-ups). `sentences` has sentences about moves by `round:task`;
    None if they exceed `max_sentence_chars` characters.
    """
    of = {name: rows_of_run(tables, name, key, run["seed"]) for name in ("tasks", "clients", "task_states", "events")}
    tasks = of["tasks"]["task"].to_pylist()
    clients = list(dict.fromkeys(of["clients"]["client"].to_pylist()))
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
        "stateless": [place for place, has in enumerate(of["tasks"]["stateful"].to_pylist()) if not has],
        "clients": _clients(of["clients"].to_pylist(), clients),
        "rounds": [
            {
                "n": row["round"],
                "at": row["at_ms"],
                "reason": shortened(printable(row["reason"] or ""), _REASON_CHARS),
                **delta,
            }
            for row, delta in zip(rounds, deltas, strict=True)
        ],
        "why": why,
        "transitions": _transitions(of["task_states"], tasks, clients),
        "events": [[row["at_ms"], printable(row["event"])] for row in of["events"].to_pylist()],
        "sentences": sentences if sum(map(len, sentences.values())) <= max_sentence_chars else None,
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
    held = rows_of_run(tables, "assignments", key, seed)
    round_, task, client = held["round"].to_numpy(), _places(held["task"], tasks), _places(held["client"], clients)
    active = _places(held["role"], ["active"]) == 0
    reasons = _reasons(rows_of_run(tables, "moves", key, seed), tasks, why)
    bounds = np.searchsorted(round_, [row["round"] for row in rounds] + [np.iinfo(np.int64).max])
    owner = np.full(len(tasks), _NOBODY)
    standbys = np.zeros(0, dtype=np.int64)
    deltas = []
    for place, row in enumerate(rounds):
        part = slice(bounds[place], bounds[place + 1])
        runs, stands = active[part], ~active[part]
        now = np.full(len(tasks), _NOBODY)
        now[task[part][runs]] = client[part][runs]
        copies = np.sort(task[part][stands] * len(clients) + client[part][stands])
        moved = np.flatnonzero(now != owner).tolist()
        delta: Json = {
            "own": [part for t in moved for part in (t, int(now[t]), reasons.get((row["round"], t), -1))],
            "add": _pairs(np.setdiff1d(copies, standbys), len(clients)),
            "drop": _pairs(np.setdiff1d(standbys, copies), len(clients)),
        }
        deltas.append(delta)
        owner, standbys = now, copies
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

    came = reasons.filter(pc.and_(pc.equal(reasons["kind"], _WARM_UP), pc.equal(reasons["role"], "standby")))
    if not came:
        return
    new: dict[int, set[Copy]] = {}
    places = zip(_places(came["task"], tasks).tolist(), _places(came["to_client"], clients).tolist(), strict=True)
    for number, copy in zip(came["round"].to_pylist(), places, strict=True):
        new.setdefault(number, set()).add(copy)
    copies = list(_copies(deltas))
    before: set[Copy] = set()
    marked = warm_ups(copies, [new.get(row["round"], set()) for row in rounds])
    for delta, present, warm in zip(deltas, copies, marked, strict=True):
        delta["warm"] = [place for copy in sorted(warm - before) for place in copy]
        delta["cool"] = [place for copy in sorted((before - warm) & present) for place in copy]
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
    places = _places(moves["task"], tasks).tolist()
    for number, task, reason in zip(numbers, places, moves["reason"].to_pylist(), strict=True):
        if reason is not None:
            if reason not in why:
                why.append(reason)
            reason_indices[number, task] = why.index(reason)
    return reason_indices


def _transitions(task_states: pa.Table, tasks: Sequence[str], clients: Sequence[str]) -> list[list[int]]:
    """Return the task states by time of change; of several changes of a task at one time, only the last counts."""
    at = task_states["at_ms"].to_numpy()
    task = _places(task_states["task"], tasks)
    code = len(STATES) * (_places(task_states["client"], clients) + 1) + _places(task_states["state"], STATES)
    moments: list[list[int]] = []
    edges = [0, *(np.flatnonzero(np.diff(at)) + 1).tolist(), len(at)] if len(at) else [0]
    before = 0
    for start, end in pairwise(edges):
        last = dict(zip(task[start:end].tolist(), code[start:end].tolist(), strict=True))
        moments.append([int(at[start]) - before, *(part for pair in sorted(last.items()) for part in pair)])
        before = int(at[start])
    return moments


def _pairs(keys: Any, clients: int) -> list[int]:
    return [part for key in keys.tolist() for part in divmod(key, clients)]


def _places(column: Any, names: Sequence[str]) -> Any:
    """Return the index of each value of a column in a list of names; -1 if missing."""
    import pyarrow.compute as pc

    indices = pc.index_in(column, value_set=pa.array(names, pa.string()))
    return pc.fill_null(indices, _NOBODY).to_numpy().astype(np.int64)
