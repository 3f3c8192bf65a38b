"""The stored instances, optima and reference answers: made again in part, and consistent as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest

from assignors.model.assignment import AssignmentColumns
from scenarios.problems import Problem, answer_differences, parse_problem, solve_problem
from scenarios.suite.scale_shapes import SHAPES
from scenarios.suite.standard import benchmark_cases
from tools import benchmark_instances as instances
from tools import leaderboard
from tools.benchmark_instances import (
    ENTRIES,
    KAFKAS,
    Optimum,
    answer,
    comparable,
    cost_of,
    evaluate,
    find_optimum,
    is_balanced,
)

pytestmark = pytest.mark.answers

REFRESH = "run `make leaderboard`"
MADE_AGAIN = ("crash-2", "racks-6", "threads-4", "cold-3", "placements-1")
EVERY = 6
"""Every sixth instance is solved again."""


@cache
def problems() -> list[dict[str, Any]]:
    return [line["problem"] for line in instances.read_lines(leaderboard.INSTANCES)]


@cache
def manifest() -> dict[str, Mapping[str, str]]:
    return {row["id"]: row for row in leaderboard.read_rows(leaderboard.MANIFEST)}


@cache
def optima() -> dict[str, Optimum | None]:
    return {problem["id"]: find_optimum(parse_problem(problem)) for problem in problems()[::EVERY]}


def test_the_manifest_has_the_digest_and_size_of_every_stored_instance() -> None:
    stored = {row["id"]: row["sha256"] for row in manifest().values() if row["stored"] == "1"}
    assert stored == {problem["id"]: instances.digest(instances.json_line(problem)) for problem in problems()}, REFRESH
    assert len(stored) == len(benchmark_cases()) + len(instances.STORED_SHAPES)


def test_the_digest_is_that_of_the_text_of_a_line() -> None:
    line = instances.json_line({"problem": problems()[0], "expected": {}})
    text = line.removeprefix(b'{"problem":').partition(b',"expected":')[0]
    assert instances.digest(text) == manifest()[problems()[0]["id"]]["sha256"]


@pytest.mark.parametrize("name", MADE_AGAIN)
def test_an_instance_is_made_again(name: str) -> None:
    [case] = [case for case in benchmark_cases() if case.name.partition(",")[0] == name]
    [stored] = [problem for problem in problems() if problem["id"] == f"{case.family}/{name}"]
    assert instances.json_line(instances.instance_of(case)) == instances.json_line(stored), REFRESH


@pytest.mark.parametrize("name", ["200x20", "large-partition-count"])
def test_a_large_instance_has_its_digest(name: str) -> None:
    [shape] = [shape for shape in SHAPES if shape.name == name]
    made = instances.large_instance(shape)
    assert instances.digest(instances.json_line(made)) == manifest()[made["id"]]["sha256"], REFRESH


def test_the_expected_answers_are_those_of_the_problems() -> None:
    for number, line in enumerate(instances.read_lines(leaderboard.INSTANCES), start=1):
        solved = solve_problem(Problem(number, line["problem"]), "instances")
        assert answer_differences(line["expected"], solved) == [], line["problem"]["id"]


def test_optima_are_proven_again() -> None:
    for problem in problems()[::EVERY]:
        row = instances.manifest_row(problem, optima()[problem["id"]], stored=True)
        assert row == manifest()[problem["id"]], REFRESH


def test_no_balanced_assignment_costs_less_than_the_bound() -> None:
    rows = [row for row in leaderboard.read_rows(leaderboard.SOLUTIONS) if row["balanced"] == "1" and row["cost"]]
    assert len(rows) > 1000
    assert [row for row in rows if int(row["cost"]) < int(manifest()[row["instance"]]["bound"])] == []


def test_no_random_balanced_assignment_costs_less_than_the_bound() -> None:
    """Independent of any assignor: tasks are dealt at random to the threads of clients."""
    rng = np.random.default_rng(1)
    compared = 0
    for problem in problems():
        row, state = manifest()[problem["id"]], parse_problem(problem)
        if row["status"] != "optimal" or len(state.tasks) > 12 or not state.tasks.stateful.all():
            continue
        if int(row["standbys"]) or int(row["slack"]):
            continue
        seats = np.repeat(np.arange(len(state.clients)), state.clients.threads)
        for _ in range(20):
            active = rng.permutation(np.resize(rng.permutation(seats), len(state.tasks)))
            columns = AssignmentColumns(active, np.zeros((len(active), len(state.clients)), dtype=np.bool_), None)
            if is_balanced(state, columns):
                cost = cost_of(state, columns)
                assert cost is not None
                assert cost >= int(row["bound"])
                compared += 1
    assert compared > 100


def test_assignors_give_kafkas_stored_answers() -> None:
    chosen = {problem["id"]: problem for problem in problems()[::EVERY]}
    by_entry = {entry.name: entry for entry in KAFKAS}
    lines = [line for line in instances.read_lines(leaderboard.ANSWERS) if line["id"] in chosen]
    assert len(lines) == len(chosen) * len(KAFKAS)
    for line in lines:
        entry = by_entry[line["entry"]]
        assert list(entry.java) == line["kafka"]
        assert comparable(answer(chosen[line["id"]], entry)) == line["answer"], (line["id"], line["entry"])


@pytest.mark.slow
def test_final_assignments_are_computed_again() -> None:
    chosen = {problem["id"]: problem for problem in problems()[::EVERY]}
    stored = [row for row in leaderboard.read_rows(leaderboard.SOLUTIONS) if row["instance"] in chosen]
    again = [evaluate(problem, entry, optima()[name]) for entry in ENTRIES for name, problem in chosen.items()]
    fields = instances.SOLUTION_FIELDS
    assert leaderboard.csv_text(again, fields) == leaderboard.csv_text(stored, fields), REFRESH
