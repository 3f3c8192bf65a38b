"""Sequences run in the JVM as they do here, and their JUnit tests fail on the released assignor for their reason."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from functools import partial
from pathlib import Path
from uuid import UUID

import pytest
from _pytest.mark import ParameterSet

from assignor_sim.api.fuzzing import fuzz_sequences
from assignor_sim.junit import junit_target
from assignors import registry
from assignors.containment.contained import innermost
from assignors.jvm.loading import jars_of, released_jars
from assignors.jvm.reference import COORDINATOR, KafkaArtifact
from assignors.kafka_releases import BROKERS, CLIENTS
from assignors.model.assignment import TaskAssignment, TaskAssignor
from assignors.model.sequence import UNCHANGED_ROUNDS, MembershipSequence, RunsSequences
from assignors.model.state import ApplicationState
from assignors.sequences import run_sequences
from pipeline.fuzz.sequence_search import random_sequence
from reports.analysis.review.sequences import FoundSequence
from reports.render.junit_sequence import junit_class, junit_test
from tests.bridge.conftest import compile_jar
from tests.counts import few_or
from tools.artifacts import JUNIT_CONSOLE
from tools.bridge import compile_files

pytestmark = pytest.mark.kafka

SEQUENCES = few_or(20_000, 200)
NEWEST = "4.4"


def each_of(releases: Mapping[str, str]) -> list[ParameterSet]:
    return [
        pytest.param(release, patch, marks=() if release == NEWEST else pytest.mark.slow)
        for release, patch in releases.items()
    ]


def make(name: str) -> TaskAssignor:
    resolved = registry.resolve(name)
    order = {"order": "sorted"} if resolved.info.in_streams_groups else {}
    return registry.make_contained(resolved.info, {**resolved.parameters, **order})


@pytest.mark.parametrize(("release", "patch"), each_of(BROKERS))
def test_outcomes_are_those_of_the_released_assignor(release: str, patch: str) -> None:
    sequences = [random_sequence(5, number) for number in range(SEQUENCES)]
    of_kafka = run_sequences(sequences, partial(make, f"java:group-coordinator@{patch}:sticky"))
    assert run_sequences(sequences, partial(make, f"streams_group_sticky@{release}")) == of_kafka
    assert any("idempotent" in outcome.violated for outcome in of_kafka)
    assert any(outcome.uneven_stateful for outcome in of_kafka)


@pytest.mark.parametrize("name", ["high_availability", "sticky"])
@pytest.mark.parametrize(("release", "patch"), each_of(CLIENTS))
def test_outcomes_are_those_of_the_released_assignor_of_clients(release: str, patch: str, name: str) -> None:
    sequences = [random_sequence(6, number) for number in range(few_or(2_000, 100))]
    of_kafka = run_sequences(sequences, partial(make, f"java:kafka-streams@{patch}:{name}"))
    assert run_sequences(sequences, partial(make, f"{name}@{release}")) == of_kafka
    assert any("idempotent" in outcome.violated for outcome in of_kafka) == (name == "sticky")
    assert any(outcome.uneven_stateful for outcome in of_kafka) == (name == "sticky")


@dataclass(frozen=True, slots=True)
class AskedEachTime:
    """An assignor in Java that gets a message for each rebalance."""

    assignor: TaskAssignor

    def assign(self, state: ApplicationState) -> TaskAssignment:
        return self.assignor.assign(state)


@pytest.mark.parametrize("name", ["Dropping", "Doubling", "Inventing", "Returning", "Throwing", "Failing"])
def test_outcomes_of_a_wrong_assignor_are_those_of_single_calls(name: str, jar: Path) -> None:
    sequences = [random_sequence(7, number) for number in range(60)]
    misbehaving = partial(make, f"java:org.example.Misbehaving${name}@{jar}")
    outcomes = run_sequences(sequences, misbehaving)
    assert run_sequences(sequences, lambda: AskedEachTime(misbehaving())) == outcomes
    assert {key for outcome in outcomes for key in outcome.violated} >= {"complete" if name == "Dropping" else "valid"}
    assert name != "Dropping" or any(outcome.uneven for outcome in outcomes)
    assert isinstance(innermost(misbehaving()), RunsSequences)


@pytest.mark.parametrize("release", ["4.3", pytest.param(NEWEST, marks=pytest.mark.slow)])
def test_junit_test_fails_on_the_released_assignor(release: str, tmp_path: Path) -> None:
    fuzzing = fuzz_sequences(f"java:group-coordinator@{BROKERS[release]}:sticky", sequences=300, workers=1)
    [test] = fuzzing.tests
    fuzzing.save(tmp_path)
    printed = run_junit(tmp_path, release)
    assert re.search(r"\[ +1 tests failed +\]", printed), printed
    assert "AssertionFailedError: expected: <{" in printed, printed
    assert test == "ShouldNotMoveTasksIfNothingChangesTest.java"


@pytest.fixture(scope="module")
def later_wrong(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a jar of assignors of group coordinators that go wrong in the second rebalance."""
    return compile_jar([Path(__file__).parent / "LaterWrong.java"], tmp_path_factory.mktemp("later"), COORDINATOR)


@pytest.mark.parametrize(
    ("name", "invariant", "test", "message"),
    [
        ("Drops", "complete", "ShouldAssignEachTaskTest.java", "AssertionFailedError: expected: <["),
        ("Doubles", "valid", "ShouldReturnValidAssignmentsTest.java", "AssertionFailedError: "),
        ("Throws", "valid", "ShouldReturnValidAssignmentsTest.java", "IllegalStateException: no */ "),
    ],
)
def test_junit_test_fails_if_a_later_rebalance_is_wrong(
    name: str, invariant: str, test: str, message: str, later_wrong: Path, tmp_path: Path
) -> None:
    fuzzing = fuzz_sequences(f"java:org.example.LaterWrong${name}@{later_wrong}", sequences=40, workers=1)
    [violation] = [item for item in fuzzing.report.violations if item.invariant == invariant]
    assert len(violation.rounds) == 1  # The unchanged rebalance after it is the wrong one.
    replace(fuzzing, tests={test: fuzzing.tests[test]}).save(tmp_path)
    printed = run_junit(tmp_path, NEWEST, later_wrong)
    assert re.search(r"\[ +1 tests failed +\]", printed), printed
    assert message in printed, printed


@pytest.mark.parametrize("invariant", ["idempotent", "no_oscillation", "complete", "valid"])
@pytest.mark.parametrize("release", ["4.3", NEWEST])
def test_junit_test_passes_where_the_invariant_holds(release: str, invariant: str, tmp_path: Path) -> None:
    processes = tuple((str(UUID(int=number + 1)), 2) for number in range(2))
    settled = MembershipSequence(((3, True), (2, False)), processes, 1, ((0,), (0, 1), (0, 1)))
    assert run_sequences([settled], partial(make, f"streams_group_sticky@{release}"))[0].violated == ()
    no_violation = FoundSequence(invariant, "does not happen", 1, 0, *astuple(settled))
    target = junit_target(f"streams_group_sticky@{release}")
    assert target is not None
    text = junit_test(no_violation, target[0], "a test", has_api=target[1], unchanged_rounds=UNCHANGED_ROUNDS)
    (tmp_path / f"{junit_class(no_violation)}.java").write_text(text, encoding="utf-8")
    printed = run_junit(tmp_path, release)
    assert re.search(r"\[ +1 tests successful +\]", printed), printed


@pytest.mark.slow
def test_known_cycle_of_the_newest_release_is_found_and_its_junit_test_fails(tmp_path: Path) -> None:
    fuzzing = fuzz_sequences(f"java:group-coordinator@{BROKERS[NEWEST]}:sticky", sequences=20_000, workers=1)
    invariants = {violation.invariant for violation in fuzzing.report.violations}
    assert "no_oscillation" in invariants, "KAFKA-21166"
    test = "ShouldSettleIfNothingChangesTest.java"
    replace(fuzzing, tests={test: fuzzing.tests[test]}).save(tmp_path)
    printed = run_junit(tmp_path, NEWEST)
    assert "AssertionFailedError: still changes the assignment" in printed, printed


def run_junit(folder: Path, release: str, *own: Path) -> str:
    """Compile the tests of a folder against the jars of a release, run them, and return what JUnit prints."""
    of_kafka = released_jars(KafkaArtifact(COORDINATOR, BROKERS[release]))
    jars = [*map(str, own), *of_kafka, *jars_of((JUNIT_CONSOLE,))]
    classes = folder / "classes"
    classes.mkdir()
    compile_files(list(folder.glob("*.java")), classes, jars)
    [console] = jars_of((JUNIT_CONSOLE,))
    classpath = os.pathsep.join([str(classes), *jars])
    command = ["java", "-jar", console, "execute", "--class-path", classpath, "--scan-class-path", str(classes)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return done.stdout + done.stderr
