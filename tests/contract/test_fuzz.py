"""The search of scenarios that break an assignor: mistakes are found, shrunk and replayed; a corpus is continued."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import assignor_sim as sim
from assignors.model.assignment import TaskAssignment
from assignors.model.state import ApplicationState
from assignors.tasks.high_availability import HighAvailability
from pipeline.fuzz import search
from reports.analysis.stored.verification import VerificationStatus
from tests.contract import broken_assignors

pytestmark = pytest.mark.answers

ROOT = Path(__file__).parents[2]
MENDED = "high_availability"

MISTAKES = {
    "DropsTask": "complete",
    "Oscillates": "no_oscillation",
    "DependsOnOrder": "order_independent",
}
CASES = [
    pytest.param(name, invariant, marks=[pytest.mark.slow] if name != "DropsTask" else [])
    for name, invariant in MISTAKES.items()
]


def files(corpus: Path) -> dict[str, bytes]:
    return {str(file.relative_to(corpus)): file.read_bytes() for file in sorted(corpus.rglob("*")) if file.is_file()}


@pytest.mark.parametrize(("name", "invariant"), CASES)
def test_a_mistake_is_found_and_shrunk_and_replays_until_it_is_mended(
    name: str, invariant: str, tmp_path: Path
) -> None:
    assignor = f"{broken_assignors.__name__}:{name}"
    # With this seed, the process ids of an early case are among the one in 500 for which DropsTask errs.
    fuzzing = sim.fuzz(assignor, cases=6, seed=2, corpus=tmp_path / "corpus", objective="load_skew", workers=2)
    [small] = [item for item in fuzzing.report.violations if item.invariant == invariant]
    assert small.size is not None
    assert small.file is not None
    assert small.size.clients <= 3
    file = tmp_path / "corpus" / small.file
    [broken] = sim.verify(file, [assignor])
    assert broken.status is VerificationStatus.UNMET
    assert [check.invariant for check in broken.invariants if not check.is_met] == [invariant]
    [mended] = sim.verify(file, [MENDED])
    assert mended.status is VerificationStatus.MET
    assert mended.invariants


@pytest.mark.slow
def test_an_assignor_that_kills_its_process_is_a_finding_of_its_case_and_replays_apart(tmp_path: Path) -> None:
    assignor = f"{broken_assignors.__name__}:KillsItsProcess"
    report = sim.fuzz(assignor, cases=2, seed=2, corpus=tmp_path, objective="load_skew", workers=2).report
    [violation] = report.violations
    assert violation.invariant == "valid"
    assert "SIGKILL" in violation.message
    assert violation.size is not None
    assert violation.size.clients <= 8
    statuses = [sim.verify(tmp_path / "valid.yaml", [item])[0].status for item in (assignor, MENDED)]
    assert statuses == [VerificationStatus.UNMET, VerificationStatus.MET]


@pytest.mark.slow
def test_the_search_depends_neither_on_workers_nor_on_interruptions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "BATCH", 4)
    for name, workers, parts in (("once", 1, (10,)), ("parts", 2, (3, 5, 2))):
        for cases in parts:
            report = sim.fuzz(MENDED, cases=cases, corpus=tmp_path / name, workers=workers, seed=3).report
    assert report.all_cases == 10
    assert len(files(tmp_path / "once")) > 6
    assert files(tmp_path / "once") == files(tmp_path / "parts")


@pytest.mark.slow
def test_the_worst_case_runs_by_itself_and_has_a_condition_that_replays(tmp_path: Path) -> None:
    fuzzing = sim.fuzz(MENDED, cases=4, corpus=tmp_path, workers=2, configs={"num.standby.replicas": 1})
    worst = fuzzing.report.worst
    assert worst is not None
    assert worst.gap is not None
    assert worst.file is not None
    result = sim.run(tmp_path / worst.file, prove=60)
    [row] = result.tables["runs"].to_pylist()
    assert row["total_cost"] == worst.gap.cost
    assert row["total_cost_bound"] == worst.gap.bound
    assert row["total_cost"] - row["total_cost_bound"] == worst.value
    assert [item.status for item in sim.verify(tmp_path / worst.file)] == [VerificationStatus.MET]
    text = (tmp_path / worst.file).read_text(encoding="utf-8")
    limit = next(line for line in text.splitlines() if line.startswith("expect:"))
    (tmp_path / worst.file).write_text(text.replace(limit, "expect: {cost_above_bound: <= 0}"), encoding="utf-8")
    assert [item.status for item in sim.verify(tmp_path / worst.file)] == [VerificationStatus.UNMET]


class LeavesTask:
    """Assigns no client the first task, until the environment says that it is mended."""

    def assign(self, state: ApplicationState) -> TaskAssignment:
        if "MENDED" in os.environ:
            return HighAvailability().assign(state)
        entries = list(HighAvailability().assign(state).assignment)
        first = state.tasks.ids[0]
        for entry in entries:
            entry.tasks.pop(first, None)
        return TaskAssignment(entries)


@pytest.mark.slow
def test_a_stored_case_is_replayed_first_and_named_when_it_is_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assignor = f"{__name__}:LeavesTask"
    first = sim.fuzz(assignor, cases=1, corpus=tmp_path, workers=1).report
    again = sim.fuzz(assignor, cases=1, corpus=tmp_path, workers=1).report
    new = [item.invariant for item in first.violations if item.is_new]
    assert "complete" in new
    assert [item.invariant for item in again.violations if not item.is_new] == new
    assert not [item for item in again.violations if item.is_new]
    monkeypatch.setenv("MENDED", "yes")
    mended = sim.fuzz(assignor, cases=1, corpus=tmp_path, workers=1)
    assert not mended.found
    assert "complete.yaml" in mended.report.mended
    assert "No longer violated: complete.yaml" in " ".join(str(mended).split())


@pytest.mark.slow
def test_a_killed_search_leaves_a_corpus_that_continues_to_the_same_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "BATCH", 4)
    code = (
        "import sys; import assignor_sim as sim; from pipeline.fuzz import search; search.BATCH = 4\n"
        f"sim.fuzz({MENDED!r}, cases=400, corpus=sys.argv[1], workers=1)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "killed")]
    process = subprocess.Popen(command, cwd=ROOT, start_new_session=True)
    manifest = tmp_path / "killed" / "fuzz.json"
    try:
        while not manifest.exists():  # The first batch is complete.
            assert process.poll() is None
            time.sleep(0.05)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    done = json.loads(manifest.read_text(encoding="utf-8"))["cases"]
    assert 0 < done < 400
    # What a search that was killed between two files may leave.
    source = next((tmp_path / "killed" / "inputs").glob("*.yaml"))
    shutil.copy(source, source.with_name("00009999.yaml"))
    sim.fuzz(MENDED, cases=2, corpus=tmp_path / "killed", workers=1)
    sim.fuzz(MENDED, cases=done + 2, corpus=tmp_path / "once", workers=1)
    assert files(tmp_path / "killed") == files(tmp_path / "once")


def test_a_time_limit_stops_between_cases(tmp_path: Path) -> None:
    report = sim.fuzz(MENDED, until_s=1e-9, corpus=tmp_path, workers=1).report
    assert report.cases == 0
    assert sim.fuzz(MENDED, cases=1, corpus=tmp_path, workers=1).report.all_cases == 1


def test_hostile_names_are_inert(tmp_path: Path) -> None:
    module = tmp_path / "hostile_module.py"
    module.write_text(
        "class Hostile:\n"
        "    def assign(self, state):\n"
        "        raise RuntimeError('\\x1b[31m\\n- x: [1\\u2028{% raw %} ../../etc')\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "assignor_sim", "fuzz", "--assignor", "hostile_module:Hostile", "--cases", "1"]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}", "COLUMNS": "80"}
    corpus = tmp_path / "corpus"
    done = subprocess.run(
        [*command, "--corpus", str(corpus)], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 1, done.stderr
    assert "\x1b" not in done.stdout
    assert "Traceback" not in done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert [path.name for path in corpus.glob("*.yaml")] == ["valid.yaml"]
    sim.load(corpus / "valid.yaml")


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("notes.txt", "mine", "exists and is not a corpus"),
        ("fuzz.json", "[]", "is not the fuzz.json of a corpus"),
        ("fuzz.json", '{"format": 1, "cases": -1}', "is not the fuzz.json of a corpus"),
    ],
)
def test_another_folder_is_refused(name: str, text: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(sim.CorpusError, match=problem):
        sim.fuzz(MENDED, cases=1, corpus=tmp_path, workers=1)
    assert (tmp_path / name).read_text(encoding="utf-8") == text


def test_an_unknown_objective_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown objective 'speed'"):
        sim.fuzz(MENDED, cases=1, objective="speed")
