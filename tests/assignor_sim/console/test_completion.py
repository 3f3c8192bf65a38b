"""Completion in bash: the script that is installed, run by bash, and what it offers."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from assignor_sim.console.options import complete_assignor, complete_scenario, complete_strategy, complete_sweep
from assignors import registry
from assignors.replicas.registry import built_in
from scenarios.shipped import list_scenarios, list_sweeps

pytestmark = pytest.mark.answers

ROOT = Path(__file__).parents[3]
PROGRAM = f"""#!{sys.executable}
import sys
from assignor_sim.cli import main
sys.exit(main())
"""
COMPLETE = """
source <(_ASSIGNOR_SIM_COMPLETE=source_bash assignor-sim)
COMP_WORDS=({words})
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
$(complete -p assignor-sim | sed 's/.*-F \\([^ ]*\\).*/\\1/') assignor-sim
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "coral.yaml").write_text("")
    (tmp_path / "coral.txt").write_text("")
    (tmp_path / "cold.yaml").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("pl",), ["plan"]),
        (("run", "co"), ["cold_start", "coral.yaml", "correlated_loss"]),
        (("run", "--assignor", "high_avail"), ["high_availability"]),
        (("plan", "x", "--strategy", "exact"), ["exact_flow"]),
        (("explain", "--ro"), ["--round"]),
    ],
)
def test_bash_completes(folder: Path, words: tuple[str, ...], expected: list[str]) -> None:
    program = folder / "bin" / "assignor-sim"
    program.parent.mkdir()
    program.write_text(PROGRAM)
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    command = COMPLETE.format(words=shlex.join(("assignor-sim", *words)))
    process = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True, timeout=60)
    assert process.stderr == ""
    assert process.stdout.split() == expected


@pytest.mark.parametrize(
    "stem",
    [
        "co$(id)",
        "co`id`",
        "co;id",
        "co&id",
        "co|id",
        "co>id",
        "co*",
        "co'",
        'co"',
        "co\\x",
        "co\x1b[2J",
        "co\u202ex",
        "-o",
    ],
)
def test_names_that_a_shell_or_a_terminal_obeys_are_not_offered(folder: Path, stem: str) -> None:
    (folder / f"{stem}.yaml").write_text("")
    (folder / "cö-2.yaml").write_text("")
    for offered in (complete_scenario(""), complete_sweep("")):
        assert {name for name in offered if name.endswith(".yaml")} == {"coral.yaml", "cö-2.yaml"}


def test_names_are_those_of_the_registries(folder: Path) -> None:
    assert set(complete_scenario("")) == {path.stem for path in list_scenarios()} | {"coral.yaml"}
    assert set(complete_sweep("")) == {path.stem for path in list_sweeps()} | {"coral.yaml"}
    assert {info.name for info in registry.built_in()} <= set(complete_assignor(""))
    assert complete_strategy("") == sorted(info.name for info in built_in())
    for info in registry.built_in():
        assert complete_assignor(f"{info.name}@") == sorted({info.at(release).name for release in info.releases})


def test_paths_are_left_to_the_shell(folder: Path) -> None:
    assert complete_scenario("./co") == []
    (folder / "two words.yaml").write_text("")
    assert complete_scenario("two") == []
