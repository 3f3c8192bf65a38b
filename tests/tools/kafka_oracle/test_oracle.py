"""Communication with the Java process, tested with a Python script in its place."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.java import ClusterError
from tools.kafka_oracle.__main__ import main
from tools.kafka_oracle.oracle import KafkaOracle, check_version

ECHO = "for line in sys.stdin: print(json.dumps({'sorted': json.loads(line), 'production': sys.argv[2:]}), flush=True)"
SILENCE = "for line in sys.stdin: pass"
COLLAPSE = "sys.stdin.readline(); print('a stack trace', file=sys.stderr); sys.exit(3)"

StartOracle = Callable[..., KafkaOracle]


@pytest.fixture
def start_oracle(tmp_path: Path) -> StartOracle:
    """Return a function that starts an oracle with a Python script in place of Java."""

    def start(script: str, *mode: str, limit_s: float = 10.0) -> KafkaOracle:
        program = tmp_path / "java"
        program.write_text(f"#!{sys.executable}\nimport json, sys\n{script}\n")
        program.chmod(0o755)
        return KafkaOracle("4.0.2", mode, options=(), limit_s=limit_s, java=str(program), kafka_classpath="")

    return start


def test_answers_are_in_the_order_of_the_problems(start_oracle: StartOracle) -> None:
    problems = [{"id": str(number)} for number in range(200)]
    with start_oracle(ECHO, "answer") as kafka:
        answered = list(kafka.ask(iter(problems)))
    assert [problem for problem, _ in answered] == problems
    assert [answers["sorted"] for _, answers in answered] == problems


def test_oracle_answers_several_batches(start_oracle: StartOracle) -> None:
    with start_oracle(ECHO) as kafka:
        assert len(list(kafka.ask([{"id": "a"}]))) == 1
        assert [problem["id"] for problem, _ in kafka.ask([{"id": "b"}, {"id": "c"}])] == ["b", "c"]


def test_the_mode_is_passed_to_java(start_oracle: StartOracle) -> None:
    with start_oracle(ECHO, "time", "7", "50000") as kafka:
        [(_, answers)] = kafka.ask([{"id": "a"}])
    assert answers["production"] == ["time", "7", "50000"]


def test_process_exceeding_time_limit_is_killed(start_oracle: StartOracle) -> None:
    with (
        start_oracle(SILENCE, limit_s=0.3) as kafka,
        pytest.raises(TimeoutError, match=r"4\.0\.2 took longer than 0\.3 s for big one"),
    ):
        list(kafka.ask([{"id": "big one"}]))


def test_the_output_of_an_exited_process_is_reported(start_oracle: StartOracle) -> None:
    with start_oracle(COLLAPSE) as kafka, pytest.raises(ClusterError, match="a stack trace"):
        list(kafka.ask([{"id": "bad"}]))


def test_the_process_ends_with_the_oracle(start_oracle: StartOracle) -> None:
    with start_oracle(SILENCE) as kafka:
        assert kafka.is_running
    assert not kafka.is_running


@pytest.mark.parametrize("version", ["3.8.0", "3.9.1", "4.0.2", "10.0.0"])
def test_a_supported_release_is_accepted(version: str) -> None:
    check_version(version)


@pytest.mark.parametrize(("version", "message"), [("3.7.2", "too old"), ("trunk", "not a version"), ("4.x", "such as")])
def test_other_versions_are_rejected_in_one_line(
    version: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["parity", "--kafka", version]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1
