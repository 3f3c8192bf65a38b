"""Execution of a page's examples in an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from assignor_sim.api.running import run
from scenarios.load import load
from tools.examples.figures import figures_table
from tools.examples.page import PagePart, parts

ROOT = Path(__file__).parents[2]
COLUMNS = 80
TIMEOUT_S = 900
LAUNCHER = """\
#!{python}
import sys
from assignor_sim.cli import main
sys.exit(main())
"""
_KEY = re.compile(r"([a-z_]+):")
_LIMIT = re.compile(r"(first|last) (\d+) lines")


class ExampleError(Exception):
    """An example does not run; the message has the line of the page and the output."""


def refreshed(page: str) -> str:
    """Return a page with the current output of its examples.

    Raises ExampleError if a command fails, or does not fail where it should.
    """
    with tempfile.TemporaryDirectory(prefix="assignor-sim-examples-") as name:
        session = _Session(Path(name))
        position, pieces = 0, []
        for part, text in _contents(session, list(parts(page))):
            pieces += [page[position : part.start], text]
            position = part.end
    return "".join([*pieces, page[position:]])


def _contents(session: _Session, found: Sequence[PagePart]) -> Iterator[tuple[PagePart, str]]:
    """Yield each part with its current content."""
    for part, following in zip(found, [*found[1:], None], strict=True):
        if part.kind == "setup" or (part.kind == "block" and part.language == "sh"):
            session.run(part, may_fail=following is not None and following.kind == "error")
            yield part, part.text
        elif part.kind == "file":
            session.write(part.argument, part.text)
            yield part, part.text
        elif part.kind == "changes":
            session.change(part.argument, part.text)
            yield part, part.text
        elif part.kind in ("output", "error"):
            yield part, session.output(part.argument)
        elif part.kind == "figures":
            yield part, session.figures(part)
        else:
            yield part, part.text


@dataclass(slots=True)
class _Session:
    """Folder of a page and the output of its last commands."""

    folder: Path
    printed: str = ""

    @property
    def work(self) -> Path:
        """The folder in which commands run."""
        return self.folder / "work"

    def __post_init__(self) -> None:
        (self.folder / "bin").mkdir()
        self.work.mkdir()
        launcher = self.folder / "bin" / "assignor-sim"
        launcher.write_text(LAUNCHER.format(python=sys.executable), encoding="utf-8")
        launcher.chmod(0o755)

    def run(self, part: PagePart, *, may_fail: bool) -> None:
        """Run commands; keep their output."""
        path = os.pathsep.join([str(self.folder / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]])
        python_path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        process = subprocess.run(
            ["bash", "-eu", "-o", "pipefail", "-c", part.text],
            cwd=self.work,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={
                **{name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "CI")},
                "PATH": path,
                "PYTHONPATH": python_path,
                "COLUMNS": str(COLUMNS),
                "NO_COLOR": "1",
                "CHECKOUT": str(ROOT),
            },
            timeout=TIMEOUT_S,
        )
        if (process.returncode != 0) is not may_fail:
            state = f"exit code {process.returncode}" if process.returncode else "no error"
            raise ExampleError(f"line {part.line}: {state}: {part.text}{process.stdout}")
        self.printed = process.stdout.replace(f"{ROOT}{os.sep}", "").replace(f"{self.work}{os.sep}", "")

    def write(self, name: str, text: str) -> None:
        """Write a file of the page."""
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def change(self, name: str, text: str) -> None:
        """Replace top-level keys of a YAML file."""
        path = self.work / name
        path.write_text(replace_sections(path.read_text(encoding="utf-8"), text), encoding="utf-8")

    def output(self, argument: str) -> str:
        """Return the output of the last commands, shortened if the argument says so."""
        lines = [line.rstrip() for line in self.printed.strip("\n").splitlines()]
        limit = _LIMIT.fullmatch(argument)
        if limit and len(lines) > int(limit[2]):
            size = int(limit[2])
            lines = [*lines[:size], "…"] if limit[1] == "first" else ["…", *lines[-size:]]
        return "".join(f"{line}\n" for line in lines)

    def figures(self, part: PagePart) -> str:
        """Return a Markdown table of metrics of a scenario file, one row per assignor."""
        name, _, listed = part.argument.partition(": ")
        scenario = load(self.work / name)
        return figures_table(run(scenario, explain=False, ranges=False).tables["runs"].to_pylist(), listed.split(", "))


def replace_sections(text: str, changes: str) -> str:
    """Return a YAML text whose top-level keys are replaced by those of another text, or added at its end."""
    new = _sections(changes)
    kept = [section for key, section in _sections(text).items() if key not in new]
    return "".join([*kept, *new.values()])


def _sections(text: str) -> dict[str, str]:
    """Return the lines of each top-level key, with the comments before the first one under an empty key."""
    sections: dict[str, str] = {}
    key = ""
    for line in text.splitlines(keepends=True):
        match = _KEY.match(line)
        key = match[1] if match else key
        sections[key] = sections.get(key, "") + line
    return sections
