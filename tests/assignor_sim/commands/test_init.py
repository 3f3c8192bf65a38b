"""`assignor-sim init`: a commented starter scenario that runs."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from scenarios.load import load
from tests.assignor_sim.conftest import Shell


def test_starter_is_valid_and_the_printed_command_runs_it(shell: Shell) -> None:
    result = shell("init", COLUMNS="80")
    assert (result.code, result.err) == (0, "")
    program, *arguments = shlex.split(result.out.splitlines()[-1])
    assert (program, arguments) == ("assignor-sim", ["run", "scenario.yaml", "--out", str(Path("out", "scenario"))])
    validated = shell("validate", "scenario.yaml")
    assert (validated.code, validated.err) == (0, "")
    run = shell(*arguments[:2], "--assignor", "more warm-ups", "--format", "json")
    assert (run.code, run.err) == (0, "")


def test_every_section_and_every_alternative_has_a_comment(shell: Shell) -> None:
    shell("init", "shop.yaml")
    text = (shell.folder / "shop.yaml").read_text(encoding="utf-8")
    scenario = load(shell.folder / "shop.yaml")
    assert scenario.name == "shop"
    assert len(scenario.assignors) > 1
    assert scenario.warnings == ()
    for key in ("cluster", "application", "clients", "events", "assignors", "duration"):
        block = text.partition(f"\n{key}:")[2].partition("\n\n")[0]
        assert "#" in block, key
    assert all(len(line) <= 120 for line in text.splitlines())


@pytest.mark.parametrize("alternative", ["replica.selector.class", "max.warmup.replicas", "probing.rebalance"])
def test_commented_alternatives_are_valid_too(shell: Shell, alternative: str) -> None:
    shell("init")
    path = shell.folder / "scenario.yaml"
    text = path.read_text(encoding="utf-8")
    assert text.count(f"# {alternative}") == 1
    path.write_text(text.replace(f"# {alternative}", alternative), encoding="utf-8")
    validated = shell("validate", "scenario.yaml")
    assert (validated.code, validated.err) == (0, "")


def test_existing_file_is_not_replaced(shell: Shell) -> None:
    shell.write("scenario.yaml", "mine")
    result = shell("init")
    assert (result.code, result.out) == (2, "")
    assert result.err == "error: scenario.yaml: exists and is not replaced; choose another FILE\n"
    assert (shell.folder / "scenario.yaml").read_text() == "mine"
    (shell.folder / "link.yaml").symlink_to("elsewhere.yaml")
    assert shell("init", "link.yaml").code == 2
    assert not (shell.folder / "elsewhere.yaml").exists()


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("missing/shop.yaml", "the folder missing does not exist"),
        (".", f".: is a directory (a file: {Path('scenario.yaml')})"),
    ],
)
def test_file_that_cannot_be_created_is_an_error(shell: Shell, file: str, message: str) -> None:
    result = shell("init", file)
    assert result.code == 2
    assert message in result.err
    assert os.listdir(shell.folder) == []


def test_any_file_name_gives_a_valid_name_and_command(shell: Shell) -> None:
    for file in ("my shop: 1.yaml", "no.yaml", "12.yaml", "-x.yaml", "größe.yaml"):
        result = shell("init", "--", file)
        assert result.code == 0, result.err
        assert load(shell.folder / file).name == Path(file).stem
        arguments = shlex.split(result.out.splitlines()[-1])[1:]
        assert shell("validate", *arguments[1:2]).code == 0


def test_standard_output_has_the_scenario_only(shell: Shell) -> None:
    result = shell("init", "-")
    assert result.out.startswith("# A Kafka cluster")
    assert os.listdir(shell.folder) == []
    shell.write("piped.yaml", result.out)
    assert shell("validate", "piped.yaml").code == 0


@pytest.mark.parametrize("stem", ["\x1b[31m", " ", "a\u202eb", "a\nb"])
def test_starter_of_a_file_whose_name_is_no_name_is_valid(shell: Shell, stem: str) -> None:
    assert shell("init", f"./{stem}.yaml").code == 0
    assert shell("validate", f"./{stem}.yaml").code == 0
