"""Comparison of task assignments to threads, with a replacement for Kafka."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from tools.kafka_oracle import threads
from tools.kafka_oracle.__main__ import argument_parser, compare_threads

Json = dict[str, Any]


class AgreeingOracle:
    """An oracle that agrees with the reimplementation, except that the threads of given problems are reversed."""

    def __init__(self, *reversed_ids: str) -> None:
        self.reversed_ids = reversed_ids

    def ask(self, problems: Iterable[Json]) -> Iterator[tuple[Json, Json]]:
        for problem in problems:
            answer = threads.our_answer(problem)
            if problem["id"] in self.reversed_ids:
                answer = {role: tasks[::-1] for role, tasks in answer.items()}
            yield problem, answer


def problem_with_reversible_threads(problems: Iterable[Json]) -> str:
    return str(
        next(p["id"] for p in problems if threads.our_answer(p)["active"][::-1] != threads.our_answer(p)["active"])
    )


def run(oracle: AgreeingOracle, out: Path, *arguments: str) -> int:
    command = ["threads", "--kafka", "4.3.1", "--problems", "60", "--seed", "9", "--out", str(out), *arguments]
    return compare_threads(oracle, argument_parser().parse_args(command))


def test_a_longer_run_begins_with_the_same_problems() -> None:
    assert list(islice(threads.generate(3, 50), 20)) == list(threads.generate(3, 20))
    assert list(threads.generate(3, 20)) != list(threads.generate(4, 20))


def test_problems_cover_all_kinds() -> None:
    problems = list(threads.generate(1, 300))
    assert {problem["id"].rpartition("-")[2] for problem in problems} == {
        p.replace(" ", "_") for p in threads.PREVIOUS_TASK_SCHEMES
    }
    assert {len(problem["previous"]) for problem in problems} == set(range(1, threads.MAX_THREADS + 1))
    assert {problem["pluggable"] for problem in problems} == {True, False}
    sizes = [sum(len(problem[kind]) for kind in ("stateful", "stateless", "standby")) for problem in problems]
    assert min(sizes) == 0
    assert max(sizes) > 48
    assert any(problem["stateful"] and problem["stateless"] and problem["standby"] for problem in problems)


def test_differences_are_counted_and_reported() -> None:
    problems = list(threads.generate(2, 40))
    name = problem_with_reversible_threads(problems)
    tally: Counter[str] = Counter()
    answered = list(threads.compare(AgreeingOracle(name), problems, tally))
    assert [pair["problem"]["id"] for pair in answered if "found" in pair] == [name]
    assert tally["built-in compared"] + tally["pluggable compared"] == 40
    assert tally["built-in agreed"] + tally["pluggable agreed"] == 39


def test_the_command_succeeds_if_all_agree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(AgreeingOracle(), tmp_path) == 0
    assert "All 60 identical" in capsys.readouterr().out
    assert not list(tmp_path.rglob("*.gz"))


def test_the_command_stores_differences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = problem_with_reversible_threads(threads.generate(9, 60))
    assert run(AgreeingOracle(name), tmp_path) == 1
    assert "1 of 60 differ" in capsys.readouterr().out
    [pair] = threads.read(tmp_path / "4.3.1" / "threads_disagreements.jsonl.gz")
    assert pair["problem"]["id"] == name
    assert pair["found"] != pair["expected"]


def test_recording_is_reproducible(tmp_path: Path) -> None:
    for name in ("first", "second"):
        run(AgreeingOracle(), tmp_path, "--record", str(tmp_path / f"{name}.jsonl.gz"))
    assert (tmp_path / "first.jsonl.gz").read_bytes() == (tmp_path / "second.jsonl.gz").read_bytes()
    recorded = threads.read(tmp_path / "first.jsonl.gz")
    assert [json.dumps(pair["problem"]) for pair in recorded] == [json.dumps(p) for p in threads.generate(9, 60)]
