"""Commands go on when a custom assignor fails, say so, and end with exit code 2."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.assignor_sim.conftest import SMALL, Shell

pytestmark = pytest.mark.answers

BAD = "tests.assignors.containment.misbehaving:Raising"
ENDLESS = "tests.assignors.containment.misbehaving:Endless"
HA = "high_availability"


def test_run_shows_the_assignors_that_worked(shell: Shell, small: Path) -> None:
    names = [HA, BAD, ENDLESS, "sticky"]
    options = [option for name in names for option in ("--assignor", name)]
    result = shell("run", str(small), *options, "--assignor-timeout", "0.3", "--format", "json", "--out", "out")
    rows = {row["assignor"]: row for row in json.loads(result.out)}
    assert list(rows) == names
    assert rows[HA]["active_moves"] is not None
    assert result.code == 3
    assert f"{BAD}, seed 1: round 2: Raising: raised KeyError" in result.err
    assert f"{ENDLESS}, seed 1: round 2: Endless: took longer than 0.3 s" in result.err
    assert (shell.folder / "out" / "report.html").exists()


def test_compare_names_failed_runs(shell: Shell, small: Path) -> None:
    result = shell("compare", str(small), "--assignor", HA, "--assignor", BAD, "--assignor", "sticky", "--seeds", "2")
    assert result.code == 3
    assert "2 runs failed" in result.err
    assert "sticky" in result.out


def test_assign_answers_the_other_problems(shell: Shell, importable_folder: Path) -> None:
    (importable_folder / "failing_once.py").write_text(
        "import assignor_sim as sim\n\n\nclass Mine:\n    def assign(self, state):\n        print('hello')\n"
        "        if len(state.clients) == 2:\n            raise KeyError('x')\n"
        "        return sim.HighAvailability().assign(state)\n"
    )
    lines = []
    for number in (1, 2, 3):
        clients = [{"process_id": f"00000000-0000-0000-0000-00000000000{n}", "threads": 1} for n in range(number)]
        tasks = [{"id": "0_0", "stateful": False, "source_partitions": ["in-0"], "changelog_partitions": []}]
        problem = {"id": f"p{number}", "assignor": HA, "tasks": tasks, "clients": clients}
        lines.append(json.dumps(problem))
    shell.write("problems.jsonl", "\n".join(lines) + "\n")
    result = shell("assign", "problems.jsonl", "--assignor", "failing_once:Mine")
    answers = [json.loads(line) for line in result.out.splitlines()]
    assert [answer["error"] for answer in answers] == [None, "Mine: raised KeyError: 'x' (failing_once.py:8)", None]
    assert (result.code, "1 of 3 problems: the assignor failed; p2: Mine" in result.err) == (3, True)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("1 // 0\n", "raised ZeroDivisionError: integer division or modulo by zero (mine_broken.py:1)"),
        ("import sys\nsys.exit(4)\n", "called sys.exit(4) (mine_broken.py:2)"),
        ("def (\n", "raised SyntaxError"),
        ("", "module 'mine_broken' has no attribute 'Mine'"),
    ],
)
def test_module_that_cannot_be_imported_is_an_error(
    shell: Shell, small: Path, importable_folder: Path, code: str, message: str
) -> None:
    (importable_folder / "mine_broken.py").write_text(code)
    result = shell("run", str(small), "--assignor", "mine_broken:Mine")
    assert (result.code, result.out) == (2, "")
    assert f"cannot import assignor 'mine_broken:Mine': {message}" in result.err


def test_contradicting_options_are_errors(shell: Shell, small: Path) -> None:
    result = shell("run", str(small), "--assignor-memory", "2")
    assert (result.code, result.err) == (2, "error: --assignor-memory: requires --isolate and a number above 0\n")


def test_thread_of_an_assignor_does_not_keep_the_command_alive(process_shell: Shell) -> None:
    process_shell.write("small.yaml", SMALL)
    leaving = "tests.assignors.containment.misbehaving:LeavingThreads"
    result = process_shell("run", "small.yaml", "--assignor", leaving, PYTHONPATH=str(Path(__file__).parents[3]))
    assert (result.code, result.err) == (0, "")
