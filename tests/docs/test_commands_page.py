"""The page of commands names every verb and option, and the index every page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from assignor_sim import pytest_plugin
from assignor_sim.cli import app

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "reference" / "commands.md").read_text(encoding="utf-8")
VERBS, *SECTIONS = PAGE.split("\n## ")
SPARK = {"--master", "--conf", "--py-files"}


def commands() -> Iterator[tuple[str, Any]]:
    for name, command in sorted(typer.main.get_command(app).commands.items()):  # type: ignore[attr-defined]
        for below, part in sorted(getattr(command, "commands", {"": command}).items()):
            yield f"{name} {below}".strip(), part


def section_of(verb: str) -> str:
    """The section with a verb's options; verbs with hardly any have them in the first table."""
    found = [section for section in SECTIONS if verb in section.partition("\n")[0].split(", ")]
    return found[0] if found else next(line for line in VERBS.splitlines() if line.startswith(f"| `{verb} "))


def plugin_options() -> set[str]:
    parser = pytest.Parser(_ispytest=True)
    pytest_plugin.pytest_addoption(parser)
    return {name for option in parser.getgroup("assignor-sim").options for name in option.names()}


def named(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", text))


@pytest.mark.parametrize(("verb", "command"), list(commands()), ids=lambda each: each if isinstance(each, str) else "")
def test_every_verb_is_named_with_all_its_options(verb: str, command: Any) -> None:
    assert re.search(rf"^\| `{verb}[ `]", VERBS, re.MULTILINE)
    options = {name for each in command.params for name in each.opts if name.startswith("-")}
    assert options - {"--help"} - SPARK <= named(section_of(verb))
    assert not options & SPARK or "options of Spark" in section_of(verb)


def test_every_option_that_is_named_exists() -> None:
    known = {name for _, command in commands() for each in command.params for name in each.opts}
    assert named("\n".join(SECTIONS)) <= known | plugin_options()


def test_the_options_of_spark_and_of_the_plug_in_are_named() -> None:
    assert named(section_of("Spark")) == SPARK
    assert plugin_options() == named(section_of("pytest")) - {"--tolerance", "--metrics-only", "--assignor"}


def test_the_index_links_every_page() -> None:
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    linked = {(DOCS / link).resolve() for link in re.findall(r"\]\(([^)#:]+)\)", index)}
    assert {page.resolve() for page in DOCS.glob("*/*.md")} <= linked
