"""Runs the examples of README and docs, and writes their output into the pages: `python -m tools.examples [PAGE …]`.

An HTML comment on the line before a fenced block says what it is:

| comment | block |
|---|---|
| none | `sh`: commands, which are run with bash in the page's own empty folder; `python`: run by the tests |
| `<!-- file: NAME -->` | content of a file in that folder |
| `<!-- changes: NAME -->` | YAML whose top-level keys replace those of that file |
| `<!-- from: FILE -->` | part of a file of the checkout, literally |
| `<!-- output -->` | output of the commands above; `<!-- output: first 12 lines -->` shortens it |
| `<!-- error -->` | output of commands that fail, as they should |
| `<!-- not run: REASON -->` | a block that is shown as it is; its `assignor-sim` commands must have valid options |

`<!-- setup` … `-->` contains commands that readers do not see; `$CHECKOUT` is the checkout.
`<!-- figures: NAME: METRIC, … -->` … `<!-- end -->` contains a table of metrics of a scenario, by assignor.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assignor_sim.api.running import run
from reports.analysis.metrics import METRIC
from scenarios.load import load

_PART = re.compile(
    r"^<!-- setup\n(?P<setup>.*?)^-->\n"
    r"|^<!-- figures: (?P<figures>[^\n]*?) -->\n(?P<table>.*?)^<!-- end -->\n"
    r"|^(?:<!-- (?P<mark>[^\n]*?) -->\n)?(?P<fence>```+)(?P<language>[^\n]*)\n(?P<text>.*?)^(?P=fence)\n",
    re.MULTILINE | re.DOTALL,
)
KINDS = ("file", "changes", "output", "error", "not run", "from")


@dataclass(frozen=True, slots=True)
class PagePart:
    """A fenced block, hidden commands or a generated table.

    Attributes:
        kind: `setup`, `figures`, `block`, or the first word of the comment before a fenced block: see `tools.examples`.
        argument: The rest of the comment.
        line: Number of the first line, from 1.
        start: Position of the content in the page.
        end: Position behind the content.
    """

    kind: str
    argument: str
    language: str
    text: str
    line: int
    start: int
    end: int


def parts(page: str) -> Iterator[PagePart]:
    """Yield the parts of a page in order."""
    for match in _PART.finditer(page):
        line = page.count("\n", 0, match.start()) + 1
        if match["setup"] is not None:
            yield PagePart("setup", "", "sh", match["setup"], line, *match.span("setup"))
        elif match["figures"] is not None:
            yield PagePart("figures", match["figures"], "", match["table"], line, *match.span("table"))
        else:
            kind, _, argument = (match["mark"] or "").partition(": ")
            known = kind in KINDS
            text, span = match["text"], match.span("text")
            yield PagePart(kind if known else "block", argument if known else "", match["language"], text, line, *span)


def first_runs(rows: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return the row of `runs` with each assignor's first seed."""
    runs: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        runs.setdefault(row["assignor"], row)
    return runs


def show(run: Mapping[str, Any], key: str) -> str:
    """Return a metric of a run as text; the verdict if the group did not converge, so that there is none."""
    if key == "not_converged":
        return str(run["verdict"])
    value = METRIC[key].of(run)
    if value is not None:
        return METRIC[key].write(value)
    return str(run["verdict"]) if key.endswith("_to_converge") or key == "time_to_converge_ms" else "n/a"


def title(key: str) -> str:
    """Return the title of a metric, or of the verdict."""
    return "Verdict" if key == "not_converged" else METRIC[key].title


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table whose columns after the first are aligned to the right."""
    rule = ["---", *("---:" for _ in head[1:])]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in [head, rule, *rows])


def figures_table(rows: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> str:
    """Return a table with a row for each assignor and a column for each metric."""
    runs = first_runs(rows)
    head = ["assignor", *(title(key) for key in keys)]
    return markdown_table(head, [[label, *(show(run, key) for key in keys)] for label, run in runs.items()])


ROOT = Path(__file__).parents[1]
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


def all_pages() -> list[Path]:
    """Return the README and the pages of docs."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def executed_pages() -> list[Path]:
    """Return the pages with commands that are run."""
    return [page for page in all_pages() if any(map(_runs, parts(page.read_text(encoding="utf-8"))))]


def not_run_list(pages: Iterable[Path]) -> str:
    """Return the blocks of pages that are not run: each reason, and below it the blocks as `page:line`."""
    by_reason: dict[str, list[str]] = {}
    for page in map(Path.resolve, pages):
        for part in parts(page.read_text(encoding="utf-8")):
            if part.kind == "not run":
                by_reason.setdefault(part.argument, []).append(f"{page.relative_to(ROOT).as_posix()}:{part.line}")
    return "".join(
        f"{reason} ({len(found)})\n" + "".join(f"  {place}\n" for place in found)
        for reason, found in sorted(by_reason.items())
    )


def _runs(part: PagePart) -> bool:
    return part.kind == "figures" or (part.kind == "block" and part.language == "sh")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return exit code 1 if an example fails or, with `--check`, has another output."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.examples",
        description="Write the current output of examples into pages, or check that it is current.",
    )
    parser.add_argument("pages", nargs="*", type=Path, help="default: README.md and all pages of docs")
    parser.add_argument("--check", action="store_true", help="only report pages that are not current")
    parser.add_argument("--not-run", action="store_true", help="only list the blocks that are not run, by reason")
    options = parser.parse_args(arguments)
    if options.not_run:
        print(not_run_list(options.pages or all_pages()), end="")
        return 0
    code = 0
    for path in options.pages or executed_pages():
        text = path.read_text(encoding="utf-8")
        try:
            current = refreshed(text)
        except ExampleError as error:
            print(f"error: {path}: {error}", file=sys.stderr)
            code = 1
            continue
        if current != text:
            print(path, flush=True)
            code |= options.check
            if not options.check:
                path.write_text(current, encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
