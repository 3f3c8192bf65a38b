"""`make certify` continues where it ended, and its page says what did not pass."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools import certify


class Suites:
    """The steps, of which some fail at their first runs."""

    def __init__(self, failures: dict[str, int]) -> None:
        self.failures = failures
        self.ran: list[str] = []
        self.logs: list[str] = []

    def run(self, step: str, commit: str, seed: int, log: Path) -> certify.Attempt:
        self.ran.append(step)
        assert log.name not in self.logs
        self.logs.append(log.name)
        passed = self.failures.get(step, 0) < self.ran.count(step)
        return certify.Attempt(step, commit, seed, "2026-01-02T03:04:05+00:00", 6, passed, "7 passed")


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(certify, "ROOT", tmp_path)
    monkeypatch.setattr(certify, "LOGS", tmp_path / "logs")
    monkeypatch.setattr(certify, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(certify, "STATE", tmp_path / "state.json")
    monkeypatch.setattr(certify, "is_current", lambda commit, _: commit == "present")
    monkeypatch.setattr(certify, "head", lambda: "present")
    return tmp_path / "page.md"


def certified(monkeypatch: pytest.MonkeyPatch, suites: Suites, *steps: str) -> int:
    monkeypatch.setattr(certify, "run_step", suites.run)
    return certify.main([*(part for step in steps for part in ("--only", step)), "--seed", "5"])


def test_each_step_runs_until_it_has_passed_once(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suites = Suites({"types": 1, "hostile": 3})
    assert certified(monkeypatch, suites) == 1
    assert suites.ran == [step for step in certify.STEPS for _ in range(2 if step in {"types", "hostile"} else 1)]
    assert "To be run for the present files: `hostile`." in page.read_text()
    assert page.read_text().count("**failed**") == 3
    again = Suites({"hostile": 1})
    assert certified(monkeypatch, again) == 0
    assert again.ran == ["hostile", "hostile"]
    assert "To be run" not in page.read_text()
    assert page.read_text().count("**failed**") == 2


def test_step_that_passed_with_other_files_runs_again(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert certified(monkeypatch, Suites({}), "types", "lint") == 0
    monkeypatch.setattr(certify, "head", lambda: "later")
    monkeypatch.setattr(certify, "is_current", lambda commit, _: commit == "later")
    again = Suites({})
    assert certified(monkeypatch, again, "lint") == 0
    assert again.ran == ["lint"]
    rows = [line for line in page.read_text().splitlines() if line.startswith("| `make")]
    assert [row.split("|")[1:3] for row in rows] == [[" `make lint` ", " `later` "], [" `make types` ", " `present` "]]
    assert "`types`" in page.read_text()


@pytest.mark.parametrize(
    ("file", "step", "current"),
    [
        ("docs/page.md", "parity 4.4", True),
        ("docs/page.md", "test-answers", False),
        ("simulator/group.py", "test-spark", False),
        ("assignors/tasks/sticky.py", "parity 4.4", False),
        ("bridge/src/server/Server.java", "parity-brokers 4.4", False),
        ("simulator/group/classic_coordinator.py", "parity-groups", False),
        ("tests/group_histories/histories.json", "parity-groups", False),
        ("simulator/plurals.py", "parity-consumers 4.4", False),
        ("assignors/replicas/exact_flow.py", "parity 4.4", True),
        ("reports/analysis/metrics.py", "kafka-tests", True),
        ("tests/group_histories/histories.json", "parity 4.4", True),
        ("docs/reference/certification.json", "test-answers", True),
    ],
)
def test_step_is_current_until_a_file_differs_that_it_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, step: str, current: bool
) -> None:
    monkeypatch.setattr(certify, "ROOT", tmp_path)
    monkeypatch.setattr(certify, "LOGS", tmp_path / "logs")
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text("old")
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    for arguments in (("init", "--quiet"), ("add", "."), (*identity, "commit", "--quiet", "--message", "a")):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True)
    commit = certify.head()
    assert certify.is_current(commit, step)
    path.write_text("new")
    assert certify.is_current(commit, step) is current


def test_counts_are_those_of_pytest_and_of_the_comparisons() -> None:
    output = "= 1 failed, 2 passed, 3 skipped in 4.56s (0:00:04) =\nEqual: 4,999 of 5,000 problems.\n2 passed in 1s\n"
    assert certify.counts_of(output) == "1 failed, 2 passed, 3 skipped; 2 passed; Equal: 4,999 of 5,000 problems."
