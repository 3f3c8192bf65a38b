"""The search over sequences: mistakes are found, shrunk and explained, and the result depends on the numbers only."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import assignor_sim as sim
from assignors.containment.limits import DEFAULT_LIMITS
from assignors.contract import compute, is_same
from assignors.errors import CustomAssignorError
from assignors.java.hash_order import CollectionOrder
from assignors.model.sequence import MembershipSequence
from assignors.model.state import UNKNOWN_THREAD
from assignors.sequences import run_sequences, states_in, violations_in
from assignors.tasks.high_availability import HighAvailability
from assignors.tasks.streams_group_sticky import StreamsGroupSticky
from pipeline.fuzz import sequence_search
from pipeline.fuzz.sequence_search import random_sequence, smaller_sequences
from pipeline.review.case_runs import Reviewed
from reports.analysis.review.sequences import FoundSequence, SequenceComparison, sequence_records
from reports.render.fuzz import sequences_report
from reports.render.report_formats import report_csv, report_markdown, report_text
from reports.render.review import review_report
from scenarios.load import loads
from scenarios.problems import parse_problem, read_problems, solve_problem
from scenarios.run import run
from scenarios.suite.documents import sequence_document
from simulator.processes.run_options import RunOptions
from tests.assignor_sim.conftest import InProcessShell
from tests.contract import broken_assignors
from tests.counts import few_or

pytestmark = pytest.mark.answers

SEQUENCES = few_or(2_000, 60)
TINY = """
name: tiny
cluster: {brokers: {count: 1}, topics: [{name: orders, partitions: 2}]}
application: {id: tiny, subtopologies: [{sources: [orders]}]}
clients: [{name: app, count: 2}]
duration: 1m
"""
STICKY = partial(StreamsGroupSticky, order="sorted")


def check_form(sequence: MembershipSequence) -> None:
    places = range(len(sequence.processes))
    assert sequence.rounds
    for present in sequence.rounds:
        assert present
        assert list(present) == sorted(set(present) & set(places))
    assert all(tasks > 0 for tasks, _ in sequence.subtopologies)
    assert all(threads > 0 for _, threads in sequence.processes)
    assert len({process for process, _ in sequence.processes}) == len(sequence.processes)


def smallest_of(violation: FoundSequence) -> MembershipSequence:
    return MembershipSequence(violation.subtopologies, violation.processes, violation.standbys, violation.rounds)


def test_drawn_and_smaller_sequences_are_well_formed() -> None:
    for number in range(SEQUENCES):
        sequence = random_sequence(1, number)
        check_form(sequence)
        for smaller in smaller_sequences(sequence):
            check_form(smaller)
            assert smaller != sequence


def test_high_availability_settles_in_each_sequence() -> None:
    outcomes = run_sequences([random_sequence(2, number) for number in range(SEQUENCES)], HighAvailability)
    assert {outcome.violated for outcome in outcomes} == {()}


@pytest.mark.parametrize(
    ("name", "invariant", "processes"),
    [
        ("Oscillates", "no_oscillation", 3),
        ("Raises", "valid", 4),
        pytest.param("KillsItsProcess", "valid", 6, marks=pytest.mark.slow),
    ],
)
def test_a_mistake_is_found_and_shrunk(name: str, invariant: str, processes: int) -> None:
    fuzzing = sim.fuzz_sequences(f"{broken_assignors.__name__}:{name}", sequences=40, workers=2)
    [violation] = [item for item in fuzzing.report.violations if item.invariant == invariant]
    assert not fuzzing.tests
    assert len(violation.processes) == processes
    assert len(violation.rounds) == 1
    assert sum(tasks for tasks, _ in violation.subtopologies) == 1
    assert ("SIGKILL" in violation.message) == (name == "KillsItsProcess")
    last = parse_problem(list(read_problems(violation.problems, "found"))[-1].problem)
    if name == "Raises":
        with pytest.raises(CustomAssignorError):
            Reviewed.of(f"{broken_assignors.__name__}:Raises", {}, DEFAULT_LIMITS).make().assign(last)


def test_result_does_not_depend_on_workers_nor_on_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    once = sim.fuzz_sequences("streams_group_sticky", sequences=90, workers=1).report
    assert once.violations
    monkeypatch.setattr(sequence_search, "_PART", 17)
    assert sim.fuzz_sequences("streams_group_sticky", sequences=90, workers=2).report == once


def test_smallest_sequence_has_the_violation_and_no_smaller_one_has_it() -> None:
    [violation] = sim.fuzz_sequences("streams_group_sticky", sequences=90, workers=1).report.violations
    assert violation.message in [item.message for item in violations_in(smallest_of(violation), STICKY)]
    outcomes = run_sequences(list(smaller_sequences(smallest_of(violation))), STICKY)
    assert not any(violation.invariant in outcome.violated for outcome in outcomes)
    first = run_sequences([random_sequence(1, violation.number)], STICKY)
    assert violation.invariant in first[0].violated


def test_report_fits_a_terminal_and_names_all() -> None:
    report = sim.fuzz_sequences("streams_group_sticky", sequences=90, workers=1).report
    text = report_text(sequences_report(report), 80, color=False)
    assert max(map(len, text.splitlines())) <= 80
    assert "Of 90 sequences, an invariant does not hold: idempotent in " in " ".join(text.split())
    [record] = sequence_records(report)
    assert record["message"] in report_csv(sequences_report(report))
    none = replace(report, violations=(), uneven_stateful=0)
    assert "No violation in 90 sequences." in report_text(sequences_report(none), 80, color=False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--sequences", "9", "--cases", "3"), "--sequences has no scenarios, so no --config, --cases or --objective"),
        (("--sequences", "9", "--corpus", "file/folder"), "Not a directory"),
        (("--sequences", "9", "--until", "soon"), "--until: "),
    ],
)
def test_mistakes_are_named(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = InProcessShell(tmp_path)("fuzz", *arguments)
    assert done.code == 2
    assert message in done.err
    assert not done.out


def test_tests_problems_and_scenarios_are_written(tmp_path: Path) -> None:
    done = InProcessShell(tmp_path)(
        "fuzz", "--assignor", "streams_group_sticky@4.3", "--sequences", "60", "--corpus", "found"
    )
    assert done.code == 1
    [test] = (tmp_path / "found").glob("*.java")
    assert f"wrote {test.name}, idempotent.jsonl and sequence-idempotent.yaml to found" in done.err
    assert "new AssignmentMemberSpec(" in test.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["streams_group_sticky@4.3", "streams_group_sticky@4.4", "sticky"])
def test_scenario_of_a_found_sequence_shows_the_violation(name: str, tmp_path: Path) -> None:
    sim.fuzz_sequences(name, sequences=200, workers=1).save(tmp_path)
    command = (tmp_path / "sequence-idempotent.yaml").read_text(encoding="utf-8").splitlines()[3]
    program, *arguments = shlex.split(command.removeprefix("#"))
    assert program == "assignor-sim"
    done = InProcessShell(tmp_path)(*arguments, "--base", "high_availability")
    assert done.code == 1
    assert "error: idempotent: violated in 1 case in which high_availability does not" in done.err


def test_scenario_of_a_sequence_has_its_rebalances() -> None:
    processes = (("00000000-0000-0000-0000-000000000001", 2), ("00000000-0000-0000-0000-000000000002", 1))
    document = sequence_document("three", MembershipSequence(((4, True), (2, False)), processes, 1, ((1,), (1,), (0,))))
    assert [(event["at"], *event) for event in document["events"]] == [("10m", "at", "leave"), ("10m", "at", "join")]
    scenario = loads(json.dumps({**document, "seeds": [1], "assignors": ["high_availability"]}))
    trace = run(scenario, scenario.assignors[0], 1, RunOptions(capture=True))
    last = trace.captured_rounds[-1].state
    assert list(map(str, last.clients.ids)) == [processes[0][0]]
    assert last.clients.threads.tolist() == [2]
    assert list(map(str, last.tasks.ids)) == ["0_0", "0_1", "0_2", "0_3", "1_0", "1_1"]
    assert last.tasks.stateful.tolist() == [True] * 4 + [False] * 2


@pytest.mark.parametrize("name", ["streams_group_sticky@4.3", "streams_group_sticky@4.4"])
def test_problems_of_a_found_sequence_have_the_same_rebalances(name: str) -> None:
    [violation] = sim.fuzz_sequences(name, sequences=90, workers=1).report.violations
    problems = list(read_problems(violation.problems, "found"))
    answers = [solve_problem(problem, "found", order=CollectionOrder.SORTED)["assignment"] for problem in problems]
    assert [problem.problem["assignor"] for problem in problems] == [name] * len(problems)
    for answer, later in zip(answers, problems[1:], strict=False):
        had = {client["process_id"]: client for client in later.problem["clients"]}
        for process in answer.keys() & had.keys():
            held = [*had[process]["previous_active"], *had[process]["previous_standby"]]
            assert sorted([*answer[process]["active"], *answer[process]["standby"]]) == sorted(held)
            threads = [task for tasks in had[process]["previous_threads"] for task in tasks]
            assert sorted(threads) == sorted(held)
    make = partial(StreamsGroupSticky, order=CollectionOrder.SORTED, release=name.partition("@")[2])
    for problem, state in zip(problems, states_in(smallest_of(violation), make), strict=True):
        parsed = parse_problem(problem.problem)
        assert state.previous_thread is not None
        if parsed.previous_thread is None:
            assert (state.previous_thread == UNKNOWN_THREAD).all()
        else:
            assert np.array_equal(parsed.previous_thread, state.previous_thread)
    before, last = (compute(parse_problem(problem.problem), make()) for problem in problems[-2:])
    assert not is_same(before, last)


def test_review_runs_both_assignors_in_the_same_sequences(tmp_path: Path) -> None:
    file = tmp_path / "tiny.yaml"
    file.write_text(TINY, encoding="utf-8")
    head, base = "streams_group_sticky@4.4", "streams_group_sticky@4.3"

    def review(of_head: str, of_base: str) -> tuple[sim.Review, SequenceComparison]:
        reviewed = sim.review(of_head, of_base, [file], metrics=["active_moves"], sequences=150, workers=2)
        assert reviewed.report.sequences is not None
        return reviewed, reviewed.report.sequences

    reviewed, compared = review(head, base)
    counted = {count.key: count for count in compared.counts}
    for side, name in (("head", head), ("base", base)):
        alone = sim.fuzz_sequences(name, sequences=150, workers=1).report
        assert {item.invariant: item.count for item in alone.violations} == {
            key: getattr(count, side) for key, count in counted.items() if count.is_invariant and getattr(count, side)
        }
        assert alone.uneven_stateful == getattr(counted["uneven_stateful"], side)
    for count in counted.values():
        assert max(0, count.head - count.base) <= count.only_head <= count.head
    assert counted["idempotent"].only_head
    assert [item.invariant for item in compared.smallest] == ["idempotent"]
    reviewed.save(tmp_path / "out")
    [test, problems, scenario] = sorted((tmp_path / "out" / "violations").iterdir())
    assert test.name == "ShouldNotMoveTasksIfNothingChangesTest.java"
    assert problems.name == "idempotent.jsonl"
    assert scenario.name == "sequence-idempotent.yaml"
    text = str(reviewed)
    assert max(map(len, report_text(review_report(reviewed.report), 80, color=False).splitlines())) <= 80
    assert "uneven active tasks with state" in text
    assert "In 150 sequences, only head violates idempotent (" in " ".join(text.split())
    assert f"<summary>JUnit test: {test.name}</summary>" in report_markdown(review_report(reviewed.report))
    itself, equal = review(head, head)
    assert not any(count.only_head for count in equal.counts)
    assert not itself.report.tests


def test_review_with_sequences_has_no_configs() -> None:
    with pytest.raises(ValueError, match="sequences have no configs"):
        sim.review("high_availability", sequences=5, head_configs={"num.standby.replicas": 1})


def test_review_fails_if_a_sequence_is_violated_anew(tmp_path: Path) -> None:
    shell = InProcessShell(tmp_path)
    shell.write("tiny.yaml", TINY)
    arguments = ("tiny.yaml", "--head", "streams_group_sticky", "--sequences", "150", "--workers", "1")
    done = shell("review", *arguments, "--base", "streams_group_sticky@4.3")
    assert done.code == 1
    assert "idempotent: violated in " in done.err
    assert shell("review", *arguments, "--base", "streams_group_sticky").code == 0
