"""The examples of README and docs: every block has a language, every command runs, and its output is as shown."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from assignor_sim.cli import app
from scenarios.load import loads
from tools.examples import (
    ExampleError,
    PagePart,
    all_pages,
    executed_pages,
    not_run_list,
    parts,
    refreshed,
    replace_sections,
)
from tools.scenario_reference import BASE, EXAMPLES

pytestmark = pytest.mark.answers

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
LONG_PAGES = (
    "check-a-consumer-group",
    "check-an-application",
    "check-the-bill",
    "diagnose-a-rebalance-storm",
    "events-cookbook",
    "explain-a-past-night",
    "first-comparison",
    "from-cluster-to-decision",
    "fuzz-an-assignor",
    "migrate-to-streams-groups",
    "read-a-report",
    "reasons",
    "replay-a-broker-plan",
    "review-an-assignor",
    "roll-drain-and-scale-on-kubernetes",
    "roll-out-rack-awareness",
    "scale-by-lag-on-kubernetes",
    "simulate-consumer-groups",
    "size-standbys-and-warmups",
    "static-membership-and-restarts",
    "troubleshooting",
)
"""Pages whose commands take ten seconds or more together; `make certify` runs them."""
PROGRAM: Any = typer.main.get_command(app)
LANGUAGES = {"sh", "text", "yaml", "python", "java", "sql", "toml", "properties", "json"}


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[PagePart]:
    return [part for part in parts(page.read_text(encoding="utf-8")) if part.kind not in ("setup", "figures")]


def simulator_commands(block: PagePart) -> list[list[str]]:
    """Return the arguments of the `assignor-sim` commands in a block that are complete, without ellipses."""
    lines = re.sub(r"\\\n\s*", " ", block.text).splitlines()
    commands = []
    for line in lines:
        words = shlex.split(line, comments=True) if line.count("'") % 2 == 0 and line.count('"') % 2 == 0 else []
        if words[:1] == ["PYTHONPATH=."]:
            words = words[1:]
        if words[:1] == ["assignor-sim"] and "…" not in line and not set(words) & {"|", ">", "&&"}:
            commands.append(words[1:])
    return commands


@pytest.mark.parametrize("page", [page for page in all_pages() if "```" in page.read_text(encoding="utf-8")], ids=name)
def test_every_block_has_a_language(page: Path) -> None:
    assert [f"line {block.line}" for block in blocks(page) if block.language not in LANGUAGES] == []
    fences = re.findall(r"^ *```+", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(fences) % 2 == 0


@pytest.mark.parametrize("page", all_pages(), ids=name)
def test_commands_can_be_copied(page: Path) -> None:
    prompts = [f"line {block.line}" for block in blocks(page) if re.search(r"^[$>] ", block.text, re.MULTILINE)]
    assert prompts == [], "remove the prompt"


@pytest.mark.parametrize("page", all_pages(), ids=name)
def test_code_from_files_equals_the_files(page: Path) -> None:
    for block in blocks(page):
        if block.kind == "from":
            assert block.text in (ROOT / block.argument).read_text(encoding="utf-8"), f"line {block.line}"


@pytest.mark.parametrize("page", all_pages(), ids=name)
def test_commands_that_are_not_run_have_valid_options(page: Path) -> None:
    for block in blocks(page):
        for arguments in simulator_commands(block) if block.language == "sh" else []:
            first = next((place for place, word in enumerate(arguments) if not word.startswith("-")), None)
            verb = arguments[0] if first is None else arguments[first]
            command = PROGRAM if first is None else PROGRAM.commands[verb]
            of_program = {option for parameter in PROGRAM.params for option in parameter.opts}
            assert set(arguments[:first]) <= of_program, f"{name(page)}:{block.line}"
            arguments = arguments[first:]
            if "--help" not in arguments and (command is PROGRAM or not hasattr(command, "commands")):
                known = {option for parameter in command.params for option in parameter.opts}
                used = {word.partition("=")[0] for word in arguments if re.match(r"--?[a-z]", word)}
                assert used <= known, f"{name(page)}:{block.line}: {verb}"


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.slow if page.stem in LONG_PAGES else ())
        for page in executed_pages()
        if page != README
    ],
    ids=name,
)
def test_commands_print_what_is_shown(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert refreshed(text) == text, f"run `python -m tools.examples {name(page)}`"


@pytest.mark.parametrize("model", EXAMPLES)
def test_examples_of_scenario_sections_are_valid(model: str) -> None:
    loads(replace_sections(BASE.read_text(encoding="utf-8"), EXAMPLES[model]))


def test_list_of_blocks_that_are_not_run_has_each_with_its_reason() -> None:
    marks = sum(page.read_text(encoding="utf-8").count("<!-- not run: ") for page in all_pages())
    in_table = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").count("`<!-- not run: REASON -->`")
    listed = not_run_list(all_pages()).splitlines()
    assert len([line for line in listed if line.startswith("  ")]) == marks - in_table > 0
    assert not [line for line in listed if line.startswith(" (")]


PAGE = """\
<!-- file: a.txt -->
```text
one
```

```sh
cat a.txt
```

<!-- output -->
```text
old
```
"""


def test_output_is_replaced_by_that_of_the_command() -> None:
    assert refreshed(PAGE) == PAGE.replace("old", "one")


def test_command_that_fails_is_an_error() -> None:
    with pytest.raises(ExampleError, match="line 6: exit code 1"):
        refreshed(PAGE.replace("cat a.txt", "cat b.txt"))


def test_command_that_should_fail_and_does_not_is_an_error() -> None:
    with pytest.raises(ExampleError, match="no error"):
        refreshed(PAGE.replace("<!-- output -->", "<!-- error -->"))


def test_sections_are_replaced_and_added() -> None:
    assert replace_sections("a: 1\nb:\n  - c\n", "b: 2\nd: 3\n") == "a: 1\nb: 2\nd: 3\n"
