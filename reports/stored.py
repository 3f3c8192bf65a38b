"""Stored results: what a scenario came to, as JSON that people can review, and what has changed since.

Every figure of every run is stored, what each round decided as a digest, and the final assignment where it is small.
Figures that are sums of floats are stored to nine digits, so that the last bits of another processor do not matter.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from reports.comparison import Tables, table_rows

FORMAT = 1
MOST_TASKS = 100
"""Of an application whose final assignment is stored task by task."""

_KEY = ("scenario", "assignor", "seed")
_OF_ROUND = ("round", "at_ms", "reason", "active_moves", "standby_moves", "withheld_tasks")

Stored = dict[str, Any]


class StoredError(Exception):
    """A file that holds no stored results; says which and why."""


def stored(tables: Tables) -> Stored:
    """What there is to store of some runs.

    Args:
        tables: must hold `runs`, `rounds` and `assignments`.
    """
    rounds, copies = _by_run(tables, "rounds"), _by_run(tables, "assignments")
    return {
        "format": FORMAT,
        "runs": [
            {
                **{name: run[name] for name in _KEY},
                "figures": {name: _rounded(value) for name, value in run.items() if name not in _KEY},
                "rounds": _rounds(rounds.get(_key(run), []), copies.get(_key(run), [])),
                "final": _final(copies.get(_key(run), [])),
            }
            for run in table_rows(tables, "runs")
        ],
    }


def write_stored(results: Stored) -> str:
    """The text of a file of stored results: the same for the same results, a line a round."""
    parts = []
    for run in results["runs"]:
        head = json.dumps({name: run[name] for name in _KEY}, ensure_ascii=False)[1:-1]
        figures = json.dumps(run["figures"], indent=6, ensure_ascii=False)[:-1] + "    }"
        rounds = ",\n      ".join(json.dumps(each, ensure_ascii=False) for each in run["rounds"])
        final = json.dumps(run["final"], ensure_ascii=False)
        parts.append(
            f'    {{{head},\n    "figures": {figures},\n    "rounds": [\n      {rounds}\n    ],\n    "final": {final}}}'
        )
    return f'{{"format": {FORMAT}, "runs": [\n' + ",\n".join(parts) + "\n]}\n"


def read_stored(text: str, name: str) -> Stored:
    """Read stored results back.

    Args:
        text: what the file holds.
        name: what messages call the file.

    Raises:
        StoredError: it holds something else.
    """
    try:
        results = json.loads(text)
    except ValueError as error:
        raise StoredError(f"{name}: not stored results: {error}") from error
    if not isinstance(results, dict) or results.get("format") != FORMAT or not isinstance(results.get("runs"), list):
        raise StoredError(f"{name}: not stored results of format {FORMAT}; record them anew")
    return results


def differences(before: Stored, now: Stored) -> list[str]:
    """What has changed, a line a difference; empty if nothing has."""
    old, new = ({_key(run): run for run in results["runs"]} for results in (before, now))
    lines = [f"{_title(key)}: is not run any more" for key in old if key not in new]
    for key, run in new.items():
        if key not in old:
            lines.append(f"{_title(key)}: was not stored")
        else:
            lines += [f"{_title(key)}: {line}" for line in _changes(old[key], run)]
    return lines


def _changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    was, is_ = old["figures"], new["figures"]
    lines = [
        f"{name}: {was.get(name)} was stored, now {is_.get(name)}"
        for name in dict.fromkeys((*was, *is_))
        if was.get(name) != is_.get(name)
    ]
    for before, after in zip(old["rounds"], new["rounds"], strict=False):
        if before != after:
            changed = [name for name in after if before.get(name) != after[name]]
            lines.append(f"round {after['round']} is the first that differs: {', '.join(changed)}")
            break
    tasks = [
        task
        for task in dict.fromkeys((*old["final"], *new["final"]))
        if old["final"].get(task) != new["final"].get(task)
    ]
    lines += [f"task {task}: {_place(old, task)} was stored, now {_place(new, task)}" for task in tasks]
    return lines


def _place(run: Mapping[str, Any], task: str) -> str:
    return " + ".join(run["final"].get(task, ["nowhere"]))


def _rounds(rounds: Sequence[Mapping[str, Any]], copies: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    decided: dict[int, list[str]] = {}
    for copy in copies:
        decided.setdefault(copy["round"], []).append(f"{copy['task']} {copy['role']} {copy['client']}")
    return [
        {**{name: each[name] for name in _OF_ROUND}, "digest": _digest(decided.get(each["round"], []))}
        for each in rounds
    ]


def _digest(lines: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()[:12]


def _final(copies: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """For each task its client and those that stand by, in the last round; nothing where there are too many."""
    last = max((copy["round"] for copy in copies), default=0)
    places: dict[str, list[str]] = {}
    for copy in copies:
        if copy["round"] == last:
            place = copy["client"] if copy["role"] == "active" else f"({copy['client']})"
            places.setdefault(copy["task"], []).append(place)
    return places if len(places) <= MOST_TASKS else {}


def _rounded(value: Any) -> Any:
    return float(f"{value:.9g}") if isinstance(value, float) else value


def _by_run(tables: Tables, name: str) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in table_rows(tables, name):
        found.setdefault(_key(row), []).append(row)
    return found


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in _KEY)


def _title(key: Sequence[Any]) -> str:
    scenario, assignor, seed = key
    return f"{scenario}, {assignor}, seed {seed}"
