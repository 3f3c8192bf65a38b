"""`assignor-sim assign`: problems in, answers out."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.assignor_sim.conftest import Shell

VECTORS = Path(__file__).parents[2] / "parity" / "data"


def some(count: int, kind: str = "ha") -> list[str]:
    with gzip.open(VECTORS / "public.jsonl.gz", "rt", encoding="utf-8") as source:
        lines = [line for line in source if json.loads(line)["problem"]["assignor"] == kind]
    return lines[:count]


def test_answers_come_in_the_order_of_the_problems(shell: Shell) -> None:
    lines = some(5)
    problems = [json.loads(line)["problem"] for line in lines]
    ended = shell("assign", "-", stdin="\n".join(map(json.dumps, problems)))
    answers = [json.loads(line) for line in ended.out.splitlines()]
    assert [answer["id"] for answer in answers] == [problem["id"] for problem in problems]
    assert all(answer["nanos"] > 0 for answer in answers)
    assert set(answers[0]) == set(json.loads(lines[0])["expected"])


def test_check_agrees_with_kafka_and_counts_by_assignor_and_strategy(shell: Shell) -> None:
    shell.write("some.jsonl", "".join(some(30)))
    ended = shell("assign", "some.jsonl", "--check")
    assert ended.code == 0, ended.out + ended.err
    assert "min_traffic" in ended.out


def test_check_finds_a_planted_difference(shell: Shell) -> None:
    pair = json.loads(some(1)[0])
    pair["expected"]["probing_rebalance"] = not pair["expected"]["probing_rebalance"]
    ended = shell("assign", "-", "--check", stdin=json.dumps(pair))
    assert ended.code == 1
    assert f"{pair['problem']['id']}: probing_rebalance" in ended.out


def test_check_without_anything_to_compare_is_no_success(shell: Shell) -> None:
    problem = json.loads(some(1)[0])["problem"]
    assert shell("assign", "-", "--check", stdin=json.dumps(problem)).code == 1


def test_compressed_files_are_read_and_written(shell: Shell) -> None:
    with gzip.open(shell.folder / "in.jsonl.gz", "wt", encoding="utf-8") as target:
        target.writelines(some(3))
    ended = shell("assign", "in.jsonl.gz", "-o", "out.jsonl.gz")
    assert (ended.code, ended.out) == (0, "")
    with gzip.open(shell.folder / "out.jsonl.gz", "rt", encoding="utf-8") as source:
        assert len(source.readlines()) == 3


def test_an_exception_of_kafkas_is_an_answer(shell: Shell) -> None:
    problem = json.loads(some(1)[0])["problem"]
    problem["configs"]["max_warmup_replicas"] = 0
    ended = shell("assign", "-", stdin=json.dumps(problem))
    answer = json.loads(ended.out)
    assert ended.code == 0
    assert answer["assignment"] is None
    assert answer["error"].startswith("org.apache.kafka.common.config.ConfigException: Invalid value 0")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not JSON"),
        ("[1]", "expected a JSON object"),
        ('{"id": "x"}', "the problem has no assignor, tasks, clients"),
        ('{"assignor": "ha", "tasks": [{"id": "zero", "stateful": true}], "clients": []}', "'zero' is not a task id"),
        ('{"assignor": "nobody", "tasks": [], "clients": []}', "unknown assignor 'nobody'"),
        ('{"assignor": "ha", "tasks": [{"id": "0_0"}], "clients": []}', "stateful"),
        ('{"assignor": "ha", "tasks": 3, "clients": []}', ""),
        ('{"assignor": "ha", "tasks": [], "clients": [], "configs": {"sticky": 1}}', "sticky"),
        ('{"assignor": "ha", "tasks": [], "clients": [{"process_id": "me"}]}', "'me' is not a process id"),
    ],
)
def test_a_line_that_is_no_problem_is_named_and_nothing_is_written(shell: Shell, line: str, message: str) -> None:
    ended = shell("assign", "-", "-o", "answers.jsonl", stdin=some(1)[0] + line)
    assert ended.code == 2
    assert ended.err.startswith("standard input:2: ")
    assert message in ended.err
    assert "Traceback" not in ended.err
    assert list(shell.folder.iterdir()) == []


def test_a_file_that_is_not_there_or_not_compressed_is_named(shell: Shell) -> None:
    shell.write("plain.jsonl.gz", "not compressed")
    for name in ("missing.jsonl", "plain.jsonl.gz"):
        ended = shell("assign", name)
        assert ended.code == 2
        assert "Traceback" not in ended.err
        assert ended.err.strip()
