"""Names with markup, escape sequences and direction marks are text in the output of every command."""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.assignor_sim.conftest import SMALL, CommandResult, InProcessShell

pytestmark = pytest.mark.answers

SCRIPT, MARKUP, MARKDOWN = "<script>alert(1)</script>", "[bold red]x[/] [link=http://a]", "| `a` **b** ![c](d)"
FORMULA = "=1+1"
COMPARE = "compare a.yaml --assignor high_availability --assignor MARKDOWN --seeds 2"
NAMES = {"name: small": SCRIPT, "name: app": FORMULA, "name: late": MARKUP, "label: sticky": MARKDOWN}
HARMFUL = ("\x1b[31m", "\u202eabc", "\x07", "a\u2028b", "\x9b1m", "\u2066x")


def hostile(changes: dict[str, str]) -> str:
    """Return the small scenario with names replaced, and what refers to them."""
    text = SMALL
    for key, name in changes.items():
        field, old = key.split(": ")
        text = re.sub(rf"\b{field}: {old}\b", lambda _, field=field, name=name: f"{field}: {json.dumps(name)}", text)
        text = text.replace(f"clients: {old}}}", f"clients: {json.dumps(name)}}}")
    return text


def harmful(text: str) -> list[str]:
    """Return the characters that a terminal obeys or that change the direction of text; line ends are allowed."""
    return [char for char in text if char != "\n" and unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")]


def text_files(folder: Path) -> list[Path]:
    """Return what the commands have written for people and their tools to read."""
    return [file for file in folder.rglob("*") if file.suffix in (".md", ".csv", ".sh", ".xml", ".txt", ".properties")]


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, CommandResult]:
    """Return the results of commands on a scenario whose names are markup."""
    shell = InProcessShell(tmp_path_factory.mktemp("names"))
    scenario = hostile(NAMES)
    (shell.folder / "a.yaml").write_text(scenario, encoding="utf-8")
    rack_aware = "configs: {rack.aware.assignment.strategy: min_traffic, num.standby.replicas: 1}"
    with_costs = scenario.replace("configs: {num.standby.replicas: 1}", rack_aware)
    (shell.folder / "b.yaml").write_text(with_costs, encoding="utf-8")
    formulas = hostile(dict.fromkeys(("name: small", "name: app", "label: sticky"), FORMULA))
    (shell.folder / "c.yaml").write_text(formulas, encoding="utf-8")
    commands: Sequence[str] = (
        "validate a.yaml",
        "run a.yaml --out out",
        "show out",
        "show out --format json",
        "explain out --task 0_0",
        "run a.yaml --format markdown",
        "run a.yaml --format json",
        "show out --format csv",
        "show out --format markdown",
        "diff out --round 1 --assignor high_availability",
        "diff out --round 1 --assignor high_availability --assignor MARKDOWN",
        "diff out --round 1 --assignor high_availability --format json",
        "explain out --assignor MARKDOWN",
        "frontier b.yaml",
        "frontier b.yaml --format json",
        "plan a.yaml --add-broker 3:RACK --out plan",
        "plan a.yaml --add-broker 3:RACK --format json",
        "record a.yaml --format markdown",
        "validate a.yaml --format markdown",
        "validate a.yaml --format json",
        "run c.yaml --out formulas --format csv",
        "show formulas --format csv",
        "validate c.yaml --format csv",
        COMPARE,
        f"{COMPARE} --format markdown",
        "record a.yaml",
        "verify a.yaml --format markdown --junit junit.xml",
        "verify a.yaml --format github",
    )

    def call(command: str) -> CommandResult:
        return shell(
            *(
                word.replace("MARKDOWN", MARKDOWN).replace("RACK", FORMULA).replace("FORMULA", FORMULA)
                for word in command.split()
            )
        )

    results = {command: call(command) for command in commands if not command.startswith("verify")}
    changed = scenario.replace("num.standby.replicas: 1", "num.standby.replicas: 0")
    (shell.folder / "a.yaml").write_text(changed, encoding="utf-8")
    results |= {command: call(command) for command in commands if command.startswith("verify")}
    results |= {str(file): CommandResult(0, file.read_text(encoding="utf-8"), "") for file in text_files(shell.folder)}
    results["junit.xml"] = CommandResult(0, (shell.folder / "junit.xml").read_text(encoding="utf-8"), "")
    return results


def test_no_command_fails(calls: dict[str, CommandResult]) -> None:
    codes = {command: (result.code, result.err) for command, result in calls.items() if result.code not in (0, 1)}
    assert codes == {}
    assert calls["verify a.yaml --format github"].code == 1, "the names of changed runs are not tested"


def test_no_output_has_characters_that_terminals_obey(calls: dict[str, CommandResult]) -> None:
    assert {command: chars for command, result in calls.items() if (chars := harmful(result.out + result.err))} == {}


def test_terminal_shows_markup_as_it_is(calls: dict[str, CommandResult]) -> None:
    assert SCRIPT in calls["run a.yaml --out out"].out
    joined = {command: re.sub(r"\s+", "", result.out) for command, result in calls.items()}
    for command in ("run a.yaml --out out", "show out", COMPARE):
        assert re.sub(r"\s+", "", MARKDOWN) in joined[command], command


def test_markdown_has_no_markup_of_names(calls: dict[str, CommandResult]) -> None:
    for command, result in calls.items():
        if "markdown" in command:
            assert "<script" not in result.out, command
            assert "![c](d)" not in result.out, command
            assert "**b**" not in result.out, command
            tables = [line for line in result.out.splitlines() if line.startswith("|")]
            bars = {len(re.findall(r"(?<!\\)\|", line)) for line in tables}
            assert len(bars) <= 1 or "verify" in command, (command, bars)


def test_json_and_junit_are_well_formed(calls: dict[str, CommandResult]) -> None:
    for command, result in calls.items():
        if "json" in command:
            content = json.dumps(json.loads(result.out), ensure_ascii=False)
            assert any(name in content for name in NAMES.values()), command
    suites = ElementTree.fromstring(calls["junit.xml"].out)
    assert any(MARKDOWN in str(case.get("name")) for case in suites.iter("testcase"))


@pytest.mark.parametrize("name", HARMFUL, ids=ascii)
@pytest.mark.parametrize("key", NAMES)
def test_names_that_no_output_may_contain_are_refused_without_obeying_them(tmp_path: Path, key: str, name: str) -> None:
    shell = InProcessShell(tmp_path)
    (tmp_path / "a.yaml").write_text(hostile({key: name}), encoding="utf-8")
    result = shell("run", "a.yaml")
    assert result.code == 2
    assert result.err.startswith("error: a.yaml:")
    assert harmful(result.out + result.err) == []


def test_csv_has_no_formulas(calls: dict[str, CommandResult]) -> None:
    tables = {name: result.out for name, result in calls.items() if name.endswith("csv")}
    assert "show out --format csv" in tables
    cells = {cell for table in tables.values() for row in csv.reader(io.StringIO(table)) for cell in row}
    assert [cell for cell in cells if cell[:1] in "=+@\t\r" and cell] == []
    assert [cell for cell in cells if cell.startswith("-") and not is_number(cell)] == []
    assert any(FORMULA in cell for cell in cells), "no table has the name that is a formula"


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
