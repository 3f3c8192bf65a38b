"""Explanations in words: what they say, whatever the names are, and what they look for in the tables."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from reports.analysis.explanation import ExplanationError, explain
from reports.analysis.explanation_text import cost_text, step_text
from reports.render.terminal.explanation import draw, record
from simulator.results.tables import SCHEMAS
from tests.reports.sample_runs import RUN, tables

KEY = {"scenario": "plausible", "assignor": "own", "seed": 1}
CONFIG = "rack.aware.assignment.non_overlap_cost"


def made(**rows: list[dict[str, Any]]) -> dict[str, pa.Table]:
    """Tables in which what a row does not say is null."""
    found = {}
    for name, schema in SCHEMAS.items():
        given = [{field.name: {**KEY, **row}.get(field.name) for field in schema} for row in rows.get(name, [])]
        found[name] = pa.Table.from_pylist(given, schema=schema)
    return found


def moved(source: str = "app-0", target: str = "app-1", **changes: Any) -> dict[str, pa.Table]:
    """A task that was moved in the second round, along a cycle of two."""
    first = {"round": 1, "task": "0_3", "role": "active", "to_client": source, "no_break_even": "new"}
    second = {**first, "round": 2, "from_client": source, "to_client": target, "no_break_even": None, "break_even": 10}
    edge = {"round": 2, "cycle": 1, "role": "active", "cycle_cost": -9, "cycle_break_even": 10}
    there = {"traffic_from": 10, "traffic_to": 0, "non_overlap_cost": 1, "cost": -9}
    back = {"traffic_from": 0, "traffic_to": 0, "non_overlap_cost": 0, "cost": 0}
    return made(
        runs=[{}],
        tasks=[{"task": "0_2"}, {"task": "0_3"}],
        rounds=[
            {"round": 1, "at_ms": 6_000, "reason": f"{source} joined"},
            {"round": 2, "at_ms": 60_000, "reason": "configs changed"},
            {"round": 3, "at_ms": 90_000, "reason": "tasks to hand over"},
        ],
        reasons=[
            {**first, "step": 1, "kind": "dealt", "step_to": source},
            {**second, "step": 1, "kind": "dealt", "step_to": source, **changes},
            {**second, "step": 2, "kind": "rack", "step_from": source, "step_to": target, "cycle": 1, **changes},
        ],
        cycles=[
            {**edge, "edge": 1, "task": "0_3", "from_client": source, "to_client": target, **there},
            {**edge, "edge": 2, "task": "0_2", "from_client": target, "to_client": source, **back},
        ],
        lives=[
            {"at_ms": 6_000, "task": "0_3", "state": "running", "client": source},
            {"at_ms": 60_000, "task": "0_3", "state": "revoked", "client": source},
            {"at_ms": 63_000, "task": "0_3", "state": "assigned", "client": target},
            {"at_ms": 65_000, "task": "0_3", "state": "running", "client": target},
        ],
    )


def test_a_move_is_told_with_its_steps_its_cycle_its_cost_and_what_it_took() -> None:
    drawn = draw([explain(moved(), "own", None, "0_3", 2)], 100, color=False)
    assert drawn.splitlines() == [
        "0_3 in plausible, own, seed 1",
        "",
        "Round 2: app-0 → app-1  (0:01:00, configs changed)",
        "  1. to app-0, as clients are dealt the tasks in turn",
        "  2. racks, app-0 → app-1, along a cycle that saves:",
        "       0_3: app-0 → app-1, 10 → 0 + 1 for moving = -9",
        "       0_2: app-1 → app-0, 0 → 0 = +0",
        f"       in all -9; with a {CONFIG} of 10 it would not have saved",
        "       anything",
        f"  A {CONFIG} of 10 would have kept it on app-0.",
        "  It ran there from 0:01:05 on, after 5 s in which it was not processed.",
    ]


def test_a_round_without_a_move_shows_the_last_one() -> None:
    drawn = draw([explain(moved(), "own", 1, "0_3", 3)], 100, color=False)
    assert "Round 3: stayed on app-1, assigned in round 2:\nRound 2: app-0 → app-1" in drawn


def test_all_rounds_end_with_how_often_it_moved() -> None:
    assert draw([explain(moved(), "own", 1, "0_3")], 100, color=False).endswith("\nMoved once in 3 rounds.\n")


def test_a_record_has_every_number() -> None:
    told = record(explain(moved(), "own", 1, "0_3", 2))
    (move,) = told["moves"]
    assert (move["break_even"], move["runs_at_ms"], move["downtime_ms"]) == (10, 65_000, 5_000)
    assert [step["kind"] for step in move["steps"]] == ["dealt", "rack"]
    assert [edge["cost"] for edge in move["cycles"][0]["edges"]] == [-9, 0]


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "[bold]x[/bold]", "a\x1b[31mb", "\u202eevil", "🦆 \"q'"])
def test_names_are_text_and_never_markup(name: str) -> None:
    drawn = draw([explain(moved(source=name), "own", 1, "0_3")], 200, color=False)
    assert "\x1b" not in drawn
    assert "\u202e" not in drawn
    if name.startswith(("<", "[")):
        assert f"{name} → app-1" in drawn


def test_whether_somebody_has_looked_for_costs_is_known() -> None:
    looked = explain(moved(), "own", 1, "0_3")
    nobody = explain(moved(break_even=None, no_break_even="not_asked"), "own", 1, "0_3")
    assert not looked.lacks_break_evens
    assert nobody.lacks_break_evens
    assert f"Which {CONFIG} would have kept it is not known." in draw([nobody], 120, color=False)


@pytest.mark.parametrize(
    ("why", "said"), [("no_racks", "Racks played no part"), ("any_cost", f"No {CONFIG} that was tried"), ("new", "")]
)
def test_why_no_cost_would_have_kept_it_is_said(why: str, said: str) -> None:
    move = explain(moved(break_even=None, no_break_even=why), "own", 1, "0_3", 2).moves[0]
    assert cost_text(move).startswith(said)
    assert bool(cost_text(move)) == bool(said)


def test_results_without_reasons_say_what_to_do() -> None:
    silent = {**moved(), "reasons": SCHEMAS["reasons"].empty_table()}
    with pytest.raises(ExplanationError, match="run the scenario again with --out"):
        explain(silent, "own", 1, "0_3")


def test_an_empty_run_is_told_so() -> None:
    empty = {**moved(), "rounds": SCHEMAS["rounds"].empty_table(), "reasons": SCHEMAS["reasons"].empty_table()}
    assert "No rounds: no client joined." in draw([explain(empty, "own", 1, "0_3")], 100, color=False)


STEP = {"step_from": "a", "step_to": "b", "tags": "zone=1", "load_from": 3.0, "load_to": 1.0, "acceptable_lag": 100}
AFTER = {"load_from_after": 2.5, "load_to_after": 1.5}


@pytest.mark.parametrize(
    ("kind", "numbers", "words"),
    [
        ("balanced", AFTER, "balance, a → b: from 3 and 1 tasks a thread to 2.5 and 1.5"),
        ("kept", {"held": 2, "room": 4}, "to b, which ran it before and has room: 2 of 4 tasks so far"),
        ("stood_by", {}, "to b, which stood by before and is not to be relieved: 1 tasks a thread"),
        ("kept", {"load_to": None}, "to b, which ran it before"),
        (
            "waits",
            {"lag_from": 5_000, "lag_to": -2},
            "a is 5,000 records behind (acceptable: 100); until it is caught up, b has it, which ran it",
        ),
        ("caught_up", {"lag_to": 7}, "stays on b, which is caught up: it is 7 records behind (acceptable: 100)"),
        (
            "caught_up",
            {"lag_to": 7, "acceptable_lag": 2**63 - 1},
            "stays on b, which is caught up: it is 7 records behind (any lag is acceptable)",
        ),
        (
            "closest",
            {"lag_to": -3},
            "stays on b, which has a copy of unknown offsets (acceptable: 100), but nobody is less behind",
        ),
        ("tags", {}, "to b (zone=1), whose tags its other copies lack: 1 tasks a thread"),
        ("member_lost", {}, "a was gone"),
    ],
)
def test_steps_in_words(kind: str, numbers: dict[str, Any], words: str) -> None:
    step = {"held": None, "room": None, **STEP, "kind": kind, **numbers}
    assert step_text(step) == words


def test_tables_of_reports_in_general_have_no_reasons() -> None:
    with pytest.raises(ExplanationError):
        explain(tables([RUN], [], []), str(RUN["assignor"]), None, "0_0")
