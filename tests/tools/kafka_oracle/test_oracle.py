"""Communication with the Java process, tested with a Python script in its place."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.kafka_cluster.java import ClusterError
from tools.kafka_oracle import oracle
from tools.kafka_oracle.__main__ import main
from tools.kafka_oracle.oracle import KafkaOracle, check_version

ECHO = "for line in sys.stdin: print(json.dumps({'sorted': json.loads(line), 'production': sys.argv[2:]}), flush=True)"
SILENCE = "for line in sys.stdin: pass"
COLLAPSE = "sys.stdin.readline(); print('a stack trace', file=sys.stderr); sys.exit(3)"

StandIn = Callable[[str], None]


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """Replace Java by a Python script."""

    def put(script: str) -> None:
        program = tmp_path / "java"
        program.write_text(f"#!{sys.executable}\nimport json, sys\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setattr(oracle, "find_executable", lambda name, what: str(program))
        monkeypatch.setattr(oracle, "build_classpath", lambda version, project: "")

    return put


def test_answers_are_in_the_order_of_the_problems(stand_in: StandIn) -> None:
    stand_in(ECHO)
    problems = [{"id": str(number)} for number in range(200)]
    with KafkaOracle("4.0.2", ["answer"], options=()) as kafka:
        told = list(kafka.ask(iter(problems)))
    assert [problem for problem, _ in told] == problems
    assert [answers["sorted"] for _, answers in told] == problems


def test_it_answers_several_batches(stand_in: StandIn) -> None:
    stand_in(ECHO)
    with KafkaOracle("4.0.2", options=()) as kafka:
        assert len(list(kafka.ask([{"id": "a"}]))) == 1
        assert [problem["id"] for problem, _ in kafka.ask([{"id": "b"}, {"id": "c"}])] == ["b", "c"]


def test_the_mode_is_passed_to_java(stand_in: StandIn) -> None:
    stand_in(ECHO)
    with KafkaOracle("4.0.2", ["time", "7", "50000"], options=()) as kafka:
        [(_, answers)] = kafka.ask([{"id": "a"}])
    assert answers["production"] == ["time", "7", "50000"]


def test_a_process_that_exceeds_the_limit_is_killed(stand_in: StandIn) -> None:
    stand_in(SILENCE)
    with (
        KafkaOracle("4.0.2", options=(), limit_s=0.3) as kafka,
        pytest.raises(TimeoutError, match=r"4\.0\.2 took longer than 0\.3 s over big one"),
    ):
        list(kafka.ask([{"id": "big one"}]))


def test_the_output_of_an_exited_process_is_reported(stand_in: StandIn) -> None:
    stand_in(COLLAPSE)
    with KafkaOracle("4.0.2", options=()) as kafka, pytest.raises(ClusterError, match="a stack trace"):
        list(kafka.ask([{"id": "bad"}]))


def test_the_process_ends_with_the_oracle(stand_in: StandIn) -> None:
    stand_in(SILENCE)
    with KafkaOracle("4.0.2", options=()) as kafka:
        process = kafka._process
        assert process.poll() is None
    assert process.poll() is not None


@pytest.mark.parametrize("version", ["3.8.0", "3.9.1", "4.0.2", "10.0.0"])
def test_a_supported_release_is_accepted(version: str) -> None:
    check_version(version)


@pytest.mark.parametrize(("version", "why"), [("3.7.2", "too old"), ("trunk", "not a version"), ("4.0", "such as")])
def test_other_versions_are_rejected_in_one_line(version: str, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parity", "--kafka", version]) == 2
    told = capsys.readouterr().err
    assert why in told
    assert len(told.splitlines()) == 1
