"""Where `--out` writes: what a link points to, never over a link, nowhere for an address or a name that is too long."""

from __future__ import annotations

import errno
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from assignor_sim.api.checkup import Checkup
from simulator.results.files import output_lock
from tests.assignor_sim.commands.plan_commands import PLANNERS
from tests.assignor_sim.conftest import SMALL, Shell
from tests.reports.sample_checkup import CHECKUP

pytestmark = pytest.mark.answers


def test_results_are_written_to_what_a_link_points_to(shell: Shell) -> None:
    shell.write("small.yaml", SMALL)
    (shell.folder / "real").mkdir()
    link = shell.folder / "latest"
    link.symlink_to("real")
    for _ in range(2):
        assert shell("run", "small.yaml", "--out", "latest").code == 0
        assert link.is_symlink()
        assert (shell.folder / "real" / "manifest.json").is_file()
    assert sorted(path.name for path in shell.folder.iterdir()) == ["latest", "real", "small.yaml"]


@pytest.mark.parametrize(
    ("out", "problem"),
    [
        (
            "dangling",
            "dangling is a link to {folder}/nowhere/deep, but {folder}/nowhere does not exist; choose another",
        ),
        ("dangling/runs", "dangling/runs: cannot be written: dangling is a link to {folder}/nowhere/deep, but "),
        ("loop", "loop: cannot be written: loop links back to itself; choose another --out"),
        ("loop/runs", "loop/runs: cannot be written: loop links back to itself; choose another --out"),
        ("/", "/: exists and is not a result directory; choose another --out"),
        ("s3://bucket/runs", "s3://bucket/runs: cannot be written: it is an address (s3:), not a local path; choose "),
    ],
)
@pytest.mark.parametrize("command", ["run", "checkup", "bill"])
def test_impossible_places_are_refused_before_the_simulation(
    shell: Shell, command: str, out: str, problem: str
) -> None:
    shell.write("small.yaml", SMALL + "price: aws\n")
    make_impossible_links(shell.folder)
    result = shell(command, "small.yaml", "--out", out)
    assert result.code == 2
    assert result.out == ""
    assert problem.format(folder=shell.folder.resolve()) in result.err
    assert sorted(path.name for path in shell.folder.iterdir()) == ["dangling", "loop", "other", "small.yaml"]


def make_impossible_links(folder: Path) -> None:
    """Make a link into a folder that does not exist, and a loop of links."""
    (folder / "dangling").symlink_to("nowhere/deep")
    (folder / "loop").symlink_to("other")
    (folder / "other").symlink_to("loop")


def test_link_to_a_missing_place_in_an_existing_folder_is_followed(shell: Shell) -> None:
    shell.write("small.yaml", SMALL)
    (shell.folder / "latest").symlink_to("runs")
    assert shell("run", "small.yaml", "--out", "latest").code == 0
    assert (shell.folder / "latest").is_symlink()
    assert (shell.folder / "runs" / "manifest.json").is_file()


@pytest.mark.parametrize("command", [("run", "cold_start", "--out"), ("validate",), ("init",)])
def test_name_that_is_too_long_is_refused(process_shell: Shell, command: tuple[str, ...]) -> None:
    result = process_shell(*command, "x" * 300)
    assert result.code == 2
    assert result.err.rstrip().endswith("xxx…: file name too long; choose a shorter one")
    assert "Traceback" not in result.err


FILE_OUTPUTS = [
    ("checkup", "none.yaml", "--save"),
    ("recommend", "none.yaml", "--objective", "usd", "-o"),
    ("frontier", "none.yaml", "--out"),
    ("report", "none", "--out"),
    ("verify", "none.yaml", "--junit"),
    ("incident", "--from", "none", "--group", "shop", "-o"),
    ("incident", "--from", "none", "--group", "shop", "--page"),
    ("import", "--from", "none", "--group", "shop", "-o"),
    ("plan", "none.json", "--strategy", f"{PLANNERS}RoundRobin", "--write-lp"),
]


@pytest.mark.parametrize("command", FILE_OUTPUTS, ids=lambda command: f"{command[0]} {command[-1]}")
def test_files_that_cannot_be_written_are_refused_before_the_inputs_are_read(
    shell: Shell, command: tuple[str, ...]
) -> None:
    (shell.folder / "folder.svg").mkdir()
    (shell.folder / "dangling.svg").symlink_to("deep/a.svg")
    (shell.folder / "loop.svg").symlink_to("loop.svg")
    deep = shell.folder.resolve() / "deep"
    shell.write("file", "")
    before = sorted(path.name for path in shell.folder.iterdir())
    problems = {
        "folder.svg": "is a directory, expected a file",
        "dangling.svg": f"cannot be written: dangling.svg is a link to {deep}/a.svg, but {deep} does not exist",
        "loop.svg": "cannot be written: loop.svg links back to itself",
        "s3://bucket/page.svg": "cannot be written: it is an address (s3:), not a local path",
        "file/page.svg": "the folder file is not a directory",
    }
    if command[0] != "frontier":  # It creates the folder.
        problems["missing/page.svg"] = "the folder missing does not exist"
    for place, problem in problems.items():
        result = shell(*command, place)
        assert result.code == 2
        assert result.out == ""
        assert result.err.startswith("error: ")
        assert result.err.endswith(f"{place}: {problem}\n")
    assert sorted(path.name for path in shell.folder.iterdir()) == before


def test_file_in_use_is_refused_before_the_inputs_are_read(shell: Shell) -> None:
    with output_lock(shell.folder / "page.html"), ThreadPoolExecutor(1) as other:
        result = other.submit(shell, "report", "none", "-o", "page.html").result()
    assert result.code == 2
    assert f"page.html: in use by process {os.getpid()}" in result.err


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        (("bill", "small.yaml", "--out", "saved"), "in 30 days"),
        (("plan", "small.yaml", "--strategy", f"{PLANNERS}RoundRobin", "--out", "saved"), "RoundRobin"),
        (("checkup", "small.yaml", "--save", "saved"), "Redundancy"),
        (("run", "small.yaml", "--out", "saved"), "high_availability"),
    ],
    ids=lambda value: f"{value[0]} {value[-2]}" if isinstance(value, tuple) else "",
)
def test_answer_is_printed_even_if_it_cannot_be_saved(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], answer: str
) -> None:
    def fail(part: Path, target: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    shell.write("small.yaml", SMALL + "price: aws\n")
    monkeypatch.setattr("assignor_sim.api.checkup.checkup", lambda *_, **__: Checkup(CHECKUP))
    monkeypatch.setattr("simulator.results.result_directory.replace_directory", fail)
    monkeypatch.setattr("simulator.results.files.os.replace", fail)
    result = shell(*command)
    assert result.code == 2
    assert answer in result.out
    assert result.err.endswith("error: saved: cannot be written: No space left on device\n")
    assert [path.name for path in shell.folder.iterdir()] == ["small.yaml"]


def test_assignor_does_not_move_relative_places(shell: Shell) -> None:
    shell.write("small.yaml", SMALL)
    wandering = "tests.assignors.containment.misbehaving:Wandering"
    result = shell("run", "small.yaml", "--assignor", wandering, "--out", "out")
    assert result.code == 0
    assert (shell.folder / "out" / "manifest.json").is_file()
    assert sorted(path.name for path in shell.folder.iterdir()) == ["out", "small.yaml"]
