"""Comparison of task assignments to threads, with stand-ins for Kafka."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Self

import pytest

from tools.kafka_oracle import __main__ as command
from tools.kafka_oracle import threads

Json = dict[str, Any]


class StandIn:
    """An oracle that agrees with the reimplementation, except that the threads of given problems are reversed."""

    def __init__(self, *turned: str) -> None:
        self.turned = turned

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def ask(self, problems: Iterable[Json]) -> Iterator[tuple[Json, Json]]:
        for problem in problems:
            answer = threads.our_answer(problem)
            if problem["id"] in self.turned:
                answer = {role: tasks[::-1] for role, tasks in answer.items()}
            yield problem, answer


def one_that_can_be_turned(problems: Iterable[Json]) -> str:
    return str(
        next(p["id"] for p in problems if threads.our_answer(p)["active"][::-1] != threads.our_answer(p)["active"])
    )


@pytest.fixture
def kafka(monkeypatch: pytest.MonkeyPatch) -> Callable[[StandIn], None]:
    """Replace Kafka by a stand-in."""

    def put(stand_in: StandIn) -> None:
        def start(version: str, mode: tuple[str, ...], *, main_class: str) -> StandIn:
            assert main_class == threads.MAIN_CLASS
            return stand_in

        monkeypatch.setattr(command, "KafkaOracle", start)

    return put


def run(out: Path, *arguments: str) -> int:
    return command.main(
        ["threads", "--kafka", "4.3.1", "--problems", "60", "--seed", "9", "--out", str(out), *arguments]
    )


def test_a_longer_run_begins_with_the_same_problems() -> None:
    assert list(islice(threads.generate(3, 50), 20)) == list(threads.generate(3, 20))
    assert list(threads.generate(3, 20)) != list(threads.generate(4, 20))


def test_the_problems_are_of_all_kinds() -> None:
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
    name = one_that_can_be_turned(problems)
    tally: Counter[str] = Counter()
    answered = list(threads.compare(StandIn(name), problems, tally))
    assert [pair["problem"]["id"] for pair in answered if "found" in pair] == [name]
    assert tally["built-in compared"] + tally["pluggable compared"] == 40
    assert tally["built-in agreed"] + tally["pluggable agreed"] == 39


def test_the_command_succeeds_if_all_agree(
    kafka: Callable[[StandIn], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kafka(StandIn())
    assert run(tmp_path) == 0
    assert "All 60 identical" in capsys.readouterr().out
    assert not list(tmp_path.rglob("*.gz"))


def test_the_command_stores_differences(
    kafka: Callable[[StandIn], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = one_that_can_be_turned(threads.generate(9, 60))
    kafka(StandIn(name))
    assert run(tmp_path) == 1
    assert "1 of 60 differ" in capsys.readouterr().out
    [pair] = threads.read(tmp_path / "4.3.1" / "threads_disagreements.jsonl.gz")
    assert pair["problem"]["id"] == name
    assert pair["found"] != pair["expected"]


def test_answers_that_are_recorded_twice_make_the_same_file(kafka: Callable[[StandIn], None], tmp_path: Path) -> None:
    kafka(StandIn())
    for name in ("one", "two"):
        run(tmp_path, "--record", str(tmp_path / f"{name}.jsonl.gz"))
    assert (tmp_path / "one.jsonl.gz").read_bytes() == (tmp_path / "two.jsonl.gz").read_bytes()
    recorded = threads.read(tmp_path / "one.jsonl.gz")
    assert [json.dumps(pair["problem"]) for pair in recorded] == [json.dumps(p) for p in threads.generate(9, 60)]
