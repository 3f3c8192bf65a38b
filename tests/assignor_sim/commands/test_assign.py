"""`assignor-sim assign`: solve recorded assignment problems."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.assignor_sim.conftest import Shell

VECTORS = Path(__file__).parents[2] / "parity" / "data"


def read_lines(count: int, kind: str = "ha") -> list[str]:
    with gzip.open(VECTORS / "public.jsonl.gz", "rt", encoding="utf-8") as source:
        lines = [line for line in source if json.loads(line)["problem"]["assignor"] == kind]
    return lines[:count]


def test_solutions_keep_the_order_of_the_problems(shell: Shell) -> None:
    lines = read_lines(5)
    problems = [json.loads(line)["problem"] for line in lines]
    result = shell("assign", "-", stdin="\n".join(map(json.dumps, problems)))
    solutions = [json.loads(line) for line in result.out.splitlines()]
    assert [solution["id"] for solution in solutions] == [problem["id"] for problem in problems]
    assert all(solution["nanos"] > 0 for solution in solutions)
    assert set(solutions[0]) == set(json.loads(lines[0])["expected"])


def test_check_counts_identical_assignments(shell: Shell) -> None:
    shell.write("some.jsonl", "".join(read_lines(30)))
    result = shell("assign", "some.jsonl", "--check")
    assert result.code == 0, result.out + result.err
    assert "min_traffic" in result.out


def test_check_reports_a_difference(shell: Shell) -> None:
    pair = json.loads(read_lines(1)[0])
    pair["expected"]["probing_rebalance"] = not pair["expected"]["probing_rebalance"]
    result = shell("assign", "-", "--check", stdin=json.dumps(pair))
    assert result.code == 1
    assert f"{pair['problem']['id']}: probing_rebalance" in result.out


def test_check_without_expected_assignments_exits_with_1(shell: Shell) -> None:
    problem = json.loads(read_lines(1)[0])["problem"]
    assert shell("assign", "-", "--check", stdin=json.dumps(problem)).code == 1


def test_compressed_files_are_read_and_written(shell: Shell) -> None:
    with gzip.open(shell.folder / "in.jsonl.gz", "wt", encoding="utf-8") as target:
        target.writelines(read_lines(3))
    result = shell("assign", "in.jsonl.gz", "-o", "out.jsonl.gz")
    assert (result.code, result.out) == (0, "")
    with gzip.open(shell.folder / "out.jsonl.gz", "rt", encoding="utf-8") as source:
        assert len(source.readlines()) == 3


def test_exception_of_kafka_is_a_solution(shell: Shell) -> None:
    problem = json.loads(read_lines(1)[0])["problem"]
    problem["configs"]["max_warmup_replicas"] = 0
    result = shell("assign", "-", stdin=json.dumps(problem))
    solution = json.loads(result.out)
    assert result.code == 0
    assert solution["assignment"] is None
    assert solution["error"].startswith("org.apache.kafka.common.config.ConfigException: Invalid value 0")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not JSON"),
        ("[1]", "expected a JSON object"),
        ('{"id": "x"}', "the problem has no assignor, tasks, clients"),
        ('{"assignor": "ha", "tasks": [{"id": "zero", "stateful": true}], "clients": []}', "'zero' is not a task id"),
        ('{"assignor": "missing", "tasks": [], "clients": []}', "unknown assignor 'missing'"),
        ('{"assignor": "ha", "tasks": [{"id": "0_0"}], "clients": []}', "stateful"),
        ('{"assignor": "ha", "tasks": 3, "clients": []}', ""),
        ('{"assignor": "ha", "tasks": [], "clients": [], "configs": {"sticky": 1}}', "sticky"),
        ('{"assignor": "ha", "tasks": [], "clients": [{"process_id": "me"}]}', "'me' is not a process id"),
    ],
)
def test_invalid_problem_is_reported_and_nothing_is_written(shell: Shell, line: str, message: str) -> None:
    result = shell("assign", "-", "-o", "solutions.jsonl", stdin=read_lines(1)[0] + line)
    assert result.code == 2
    assert result.err.startswith("error: standard input:2: ")
    assert message in result.err
    assert list(shell.folder.iterdir()) == []


def test_missing_or_uncompressed_file_is_rejected(shell: Shell) -> None:
    shell.write("plain.jsonl.gz", "not compressed")
    for name in ("missing.jsonl", "plain.jsonl.gz"):
        result = shell("assign", name)
        assert result.code == 2
        assert result.err.strip()
