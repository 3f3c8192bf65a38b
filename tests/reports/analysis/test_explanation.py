"""Explanations of moves as text and as records."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from reports.analysis.explanation import (
    Explanation,
    ExplanationError,
    cause_of_move,
    cost_text,
    cycle_text,
    explain,
    list_moves,
    step_text,
)
from reports.render.explanation import explanation_report, moves_report, record
from reports.render.report_formats import report_text
from simulator.results.tables import SCHEMAS
from tests.reports.sample_runs import RUN, tables

KEY = {"scenario": "plausible", "assignor": "own", "seed": 1}
CONFIG = "rack.aware.assignment.non_overlap_cost"


def draw(explanation: Explanation, width: int = 100) -> str:
    return report_text(explanation_report([explanation]), width, color=False)


def result_tables(**rows: list[dict[str, Any]]) -> dict[str, pa.Table]:
    """Return result tables; columns that a row lacks are null."""
    results = {}
    for name, schema in SCHEMAS.items():
        records = [{field.name: {**KEY, **row}.get(field.name) for field in schema} for row in rows.get(name, [])]
        results[name] = pa.Table.from_pylist(records, schema=schema)
    return results


def moved_task(source: str = "app-0", target: str = "app-1", **changes: Any) -> dict[str, pa.Table]:
    """Return tables in which a task moved in the second round, in a cycle of two tasks."""
    first = {"round": 1, "task": "0_3", "role": "active", "to_client": source, "no_break_even": "new"}
    second = {**first, "round": 2, "from_client": source, "to_client": target, "no_break_even": None, "break_even": 10}
    edge = {"round": 2, "cycle": 1, "role": "active", "cycle_cost": -9, "cycle_break_even": 10}
    forward = {"traffic_from": 10, "traffic_to": 0, "non_overlap_cost": 1, "cost": -9}
    backward = {"traffic_from": 0, "traffic_to": 0, "non_overlap_cost": 0, "cost": 0}
    return result_tables(
        runs=[{}],
        tasks=[{"task": "0_2"}, {"task": "0_3"}],
        rounds=[
            {"round": 1, "at_ms": 6_000, "until_ms": 60_000, "reason": f"{source} joined"},
            {"round": 2, "at_ms": 60_000, "until_ms": 90_000, "reason": "configs changed"},
            {"round": 3, "at_ms": 90_000, "until_ms": 120_000, "reason": "tasks to hand over"},
        ],
        reasons=[
            {**first, "step": 1, "kind": "dealt", "step_to": source},
            {**second, "step": 1, "kind": "dealt", "step_to": source, **changes},
            {**second, "step": 2, "kind": "rack", "step_from": source, "step_to": target, "cycle": 1, **changes},
        ],
        cycles=[
            {**edge, "edge": 1, "task": "0_3", "from_client": source, "to_client": target, **forward},
            {**edge, "edge": 2, "task": "0_2", "from_client": target, "to_client": source, **backward},
        ],
        task_states=[
            {"at_ms": 6_000, "task": "0_3", "state": "running", "client": source},
            {"at_ms": 60_000, "task": "0_3", "state": "revoked", "client": source},
            {"at_ms": 63_000, "task": "0_3", "state": "assigned", "client": target},
            {"at_ms": 65_000, "task": "0_3", "state": "running", "client": target},
        ],
    )


def test_move_is_explained_with_steps_cycle_cost_and_downtime() -> None:
    text = draw(explain(moved_task(), "own", None, "0_3", 2))
    assert text.splitlines() == [
        "0_3 in plausible, own, seed 1",
        "",
        "Round 2: app-0 → app-1  (0:01:00, configs changed)",
        "1. round-robin placed it on app-0",
        "2. racks, app-0 → app-1, in a cycle:",
        "   0_3: app-0 → app-1, 10 → 0 + 1 for moving = -9",
        "   0_2: app-1 → app-0, 0 → 0 = +0",
        f"   total -9; no reduction with a {CONFIG} of 10",
        "",
        f"A {CONFIG} of 10 would have kept it on app-0. It ran there from",
        "0:01:05 on, after a downtime of 5 s.",
    ]


def test_round_without_a_move_shows_the_last_move() -> None:
    text = draw(explain(moved_task(), "own", 1, "0_3", 3))
    assert "Round 3: stayed on app-1, assigned in round 2:\nRound 2: app-0 → app-1" in text


def test_explanation_of_all_rounds_ends_with_number_of_moves() -> None:
    lines = draw(explain(moved_task(), "own", 1, "0_3")).splitlines()
    assert lines[1] == "Moved once in 3 rounds."


def test_record_has_all_numbers() -> None:
    parsed = record(explain(moved_task(), "own", 1, "0_3", 2))
    (move,) = parsed["moves"]
    assert (move["break_even"], move["runs_at_ms"], move["downtime_ms"]) == (10, 65_000, 5_000)
    assert [step["kind"] for step in move["steps"]] == ["dealt", "rack"]
    assert [edge["cost"] for edge in move["cycles"][0]["edges"]] == [-9, 0]


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "[bold]x[/bold]", "a\x1b[31mb", "\u202eevil", "🦆 \"q'"])
def test_hostile_names_are_drawn_as_text(name: str) -> None:
    text = draw(explain(moved_task(source=name), "own", 1, "0_3"), 200)
    assert "\x1b" not in text
    assert "\u202e" not in text
    if name.startswith(("<", "[")):
        assert f"{name} → app-1" in text


def test_missing_break_even_costs_are_reported() -> None:
    computed = explain(moved_task(), "own", 1, "0_3")
    not_computed = explain(moved_task(break_even=None, no_break_even="not_requested"), "own", 1, "0_3")
    assert not computed.lacks_break_evens
    assert not_computed.lacks_break_evens
    assert f"The {CONFIG} that would have kept it was not computed." in draw(not_computed, 120)


@pytest.mark.parametrize(
    ("why", "expected"),
    [("no_racks", "Racks had no influence"), ("any_cost", f"No {CONFIG} that was tried"), ("new", "")],
)
def test_missing_break_even_cost_has_a_reason(why: str, expected: str) -> None:
    move = explain(moved_task(break_even=None, no_break_even=why), "own", 1, "0_3", 2).moves[0]
    assert cost_text(move).startswith(expected)
    assert bool(cost_text(move)) == bool(expected)


@pytest.mark.parametrize(
    ("kind", "reason", "cause"),
    [
        ("rack", "balance", "rack-aware optimization"),
        ("rack", "rack", "rack-aware optimization"),
        ("spread", "balance", "balance of subtopologies"),
        ("least_loaded", "rack", "balance"),
        ("not_recorded", "rack", "fewer cross-rack partitions"),
        ("rack", "member_lost", "client lost"),
        ("dealt", None, ""),
    ],
)
def test_cause_of_a_move_does_not_contradict_the_steps(kind: str, reason: str | None, cause: str) -> None:
    move = explain(moved_task(kind=kind), "own", 1, "0_3", 2).moves[0]
    assert cause_of_move(move, reason) == cause


def test_cycle_balances_subtopologies_only_if_its_step_says_so() -> None:
    edges = ({"cycle_cost": 0, "cycle_break_even": None},)
    assert cycle_text(edges) == "total +0"
    assert cycle_text(edges, spreads=True) == "total +0: balances subtopologies rather than reducing cost"


def test_list_of_moves_begins_with_the_number_of_moves_by_reason() -> None:
    moves = [
        {"round": 2, "task": "0_3", "role": "active", "from_client": "app-0", "to_client": "app-1", "reason": "balance"}
    ]
    listed = list_moves({**moved_task(), "moves": result_tables(moves=moves)["moves"]}, "own")
    lines = report_text(moves_report([listed]), 200, color=False).splitlines()
    assert lines[1:4] == ["– rack-aware optimization: 1 move, downtime 5 s", "", "Round 2  0:01:00, configs changed"]


def test_results_without_reasons_are_rejected() -> None:
    without_reasons = {**moved_task(), "reasons": SCHEMAS["reasons"].empty_table()}
    with pytest.raises(ExplanationError, match="run the scenario again with --out"):
        explain(without_reasons, "own", 1, "0_3")


def test_run_without_rounds_is_explained() -> None:
    empty = {**moved_task(), "rounds": SCHEMAS["rounds"].empty_table(), "reasons": SCHEMAS["reasons"].empty_table()}
    assert "No rounds: no client joined." in draw(explain(empty, "own", 1, "0_3"))


STEP = {"step_from": "a", "step_to": "b", "tags": "zone=1", "load_from": 3.0, "load_to": 1.0, "acceptable_lag": 100}
AFTER = {"load_from_after": 2.5, "load_to_after": 1.5}


@pytest.mark.parametrize(
    ("kind", "numbers", "text"),
    [
        ("balanced", AFTER, "balance, a → b: from 3 and 1 tasks per thread to 2.5 and 1.5"),
        ("kept", {"held": 2, "room": 4}, "to b, which ran it before and has capacity: 2 of 4 tasks so far"),
        ("stood_by", {}, "to b, which had a standby before and is not overloaded: 1 task per thread"),
        ("kept", {"load_to": None}, "to b, which ran it before"),
        (
            "waits",
            {"lag_from": 5_000, "lag_to": -2},
            "b (ran it) keeps it until a (lag 5,000; acceptable: 100) catches up",
        ),
        ("caught_up", {"lag_to": 7}, "stays on b, which is caught up (lag 7; acceptable: 100)"),
        (
            "caught_up",
            {"lag_to": 7, "acceptable_lag": 2**63 - 1},
            "stays on b, which is caught up (lag 7; any lag is acceptable)",
        ),
        (
            "closest",
            {"lag_to": -3},
            "stays on b (lag unknown; acceptable: 100): no client has a lower lag",
        ),
        ("tags", {}, "to b (zone=1), with tags that its other copies lack: 1 task per thread"),
        ("member_lost", {}, "a had left the group"),
    ],
)
def test_step_texts(kind: str, numbers: dict[str, Any], text: str) -> None:
    step = {"held": None, "room": None, **STEP, "kind": kind, **numbers}
    assert step_text(step) == text


def test_tables_without_reasons_are_rejected() -> None:
    with pytest.raises(ExplanationError):
        explain(tables([RUN], [], []), str(RUN["assignor"]), None, "0_0")
