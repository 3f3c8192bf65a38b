"""The conclusion of a comparison as text for terminals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from reports.analysis.conclusion import Conclusion
from reports.analysis.text import printable
from reports.render.terminal.console import HEADER, keep_figures, lines


def draw(conclusions: Sequence[Conclusion], width: int | None = None, *, color: bool | None = None) -> str:
    """Draw the conclusions as lists of sentences; options of the command line have lines of their own.

    `conclusions`: one per scenario.
    """
    return lines(conclusion_parts(conclusions), width, color=color)


def conclusion_parts(conclusions: Sequence[Conclusion]) -> Iterator[RenderableType]:
    """Yield the conclusions as rich renderables, for the end of other output."""
    for conclusion in conclusions:
        of_scenario = f" ({printable(conclusion.scenario)})" if len(conclusions) > 1 else ""
        yield Text(f"Conclusion{of_scenario}", style=HEADER)
        for finding in conclusion.findings:
            yield point(finding)
        for number, step in enumerate(conclusion.next_steps):
            if not number:
                yield Text("Try next", style=HEADER)
            yield point(f"{step.change[0].upper()}{step.change[1:]}: {step.reason}.")
            if step.options:
                # Never broken, so that it can be copied.
                yield Text(f"  {printable(step.options)}", no_wrap=True, overflow="ignore")


def point(text: str, style: str = "", mark: str = "– ") -> RenderableType:
    """Return a point of a list, whose further lines are indented."""
    table = Table.grid()
    table.style = style
    table.add_row(Text(mark), Text(keep_figures(printable(text)), overflow="fold"))
    return table
