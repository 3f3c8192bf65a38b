"""A trial as text: tables for people at a terminal, Markdown for documents, JSON for scripts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from reports.analysis.cells import UNKNOWN
from reports.analysis.paired_comparison import (
    COMPARABLE_METRICS,
    MetricComparison,
    PairedComparison,
    count_verdicts,
    records,
)
from reports.analysis.significance import LEVEL
from reports.analysis.text import printable
from reports.render.markdown import markdown_table, markdown_text
from reports.render.terminal.console import BAD, GOOD, HEADER, QUIET, grid, lines

FORMATS: Final = ("table", "json", "markdown")
"""What `render` can make."""

_VERDICTS: Final = ("better", "worse", "undecided", "equal")
_STYLE: Final = {"better": GOOD, "worse": BAD}
_TALLY: Final = ("metric", *_VERDICTS)
_NOTHING: Final = "No difference that is more than chance."
_MOST_FAILURES: Final = 5


def render(
    trial: PairedComparison, format: str = "table", *, width: int | None = None, color: bool | None = None
) -> str:
    """Write a trial as text that ends in a line end.

    Args:
        trial: what to write.
        format: one of `FORMATS`; `json` has all findings, the others those that are more than chance.
        width: columns of the terminal; found out if None. Matters for `table` only.
        color: whether better and worse are coloured, too; found out if None.

    Raises:
        ValueError: an unknown format.
    """
    match format:
        case "table":
            return lines(_parts(trial), width, color=color)
        case "json":
            return json.dumps(records(trial), indent=2, ensure_ascii=False) + "\n"
        case "markdown":
            return _markdown(trial)
    raise ValueError(f"{format!r} is not a format (formats: {', '.join(FORMATS)})")


def notes(trial: PairedComparison) -> list[str]:
    """What is to be said below the tables."""
    said = [f"p: sign-flip test over seeds, corrected by Holm; what is below {LEVEL:g} is called better or worse."]
    if not trial.is_decidable:
        said.append(
            f"With {trial.seeds} seed{'' if trial.seeds == 1 else 's'} no difference can be more than chance; "
            "take more (--seeds 20)."
        )
    first = trial.failures[:_MOST_FAILURES]
    said += [f"{each.scenario}, {each.assignor}, seed {each.seed}: {each.cause}" for each in first]
    if len(trial.failures) > _MOST_FAILURES:
        said.append(f"… and {len(trial.failures) - _MOST_FAILURES} more runs came to no result.")
    return said


def _title(trial: PairedComparison, assignor: str) -> str:
    scenarios, seeds = len(trial.scenarios), trial.seeds
    return (
        f"{assignor} against {trial.baseline}: {scenarios} scenario{'' if scenarios == 1 else 's'}, "
        f"{seeds} seed{'' if seeds == 1 else 's'} each"
    )


def _tally_rows(findings: Sequence[MetricComparison]) -> Iterator[tuple[str, ...]]:
    for metric, counts in count_verdicts(findings):
        yield (COMPARABLE_METRICS[metric].title, *(str(counts[verdict] or "") for verdict in _VERDICTS))


def _found_rows(findings: Sequence[MetricComparison]) -> Iterator[tuple[MetricComparison, tuple[str, ...]]]:
    """The findings that are more than chance, by metric."""
    metrics = list(COMPARABLE_METRICS)
    decided = [each for each in findings if each.verdict in _STYLE]
    for each in sorted(decided, key=lambda each: metrics.index(each.metric)):
        write = COMPARABLE_METRICS[each.metric].write
        before, after = (UNKNOWN if value is None else write(value) for value in (each.baseline, each.mean))
        title = COMPARABLE_METRICS[each.metric].title
        yield each, (each.scenario, title, before, after, *_difference(each), f"{each.p:.2g}", each.verdict)


def _found_headers(trial: PairedComparison, assignor: str) -> tuple[str, ...]:
    return ("scenario", "metric", trial.baseline, assignor, "difference", "95 % of it", "in %", "p", "")


def _difference(each: MetricComparison) -> tuple[str, str, str]:
    """The mean difference, from where to where it is likely to be, and what share of the baseline's mean it is."""
    write = COMPARABLE_METRICS[each.metric].write

    def signed(value: float) -> str:
        return f"{'−' if value < 0 else '+'}{write(abs(value))}"

    interval = "" if each.low is None or each.high is None else f"{signed(each.low)} to {signed(each.high)}"
    share = 100 * each.difference / abs(each.baseline) if each.baseline else None
    return signed(each.difference), interval, "" if share is None else f"{share:+.0f}".replace("-", "−")


def _parts(trial: PairedComparison) -> Iterator[RenderableType]:
    for assignor in trial.assignors:
        findings = trial.of(assignor)
        yield Text(printable(_title(trial, assignor)), style=HEADER)
        yield Text()
        yield _table(_TALLY, [(row, "") for row in _tally_rows(findings)], right=range(1, 5))
        found = [(row, _STYLE[each.verdict]) for each, row in _found_rows(findings)]
        yield Text()
        yield _table(_found_headers(trial, assignor), found, right=range(2, 8)) if found else Text(_NOTHING)
        yield Text()
    for note in notes(trial):
        yield Text(f"– {printable(note)}", style=QUIET)


def _table(headers: Sequence[str], rows: Sequence[tuple[tuple[str, ...], str]], right: range) -> Table:
    table = grid()
    table.padding = (0, 1)
    for place, header in enumerate(headers):
        table.add_column(Text(printable(header)), justify="right" if place in right else "left")
    for row, style in rows:
        # The last cell of a finding says it in words; the colour only repeats it.
        cells = [Text(printable(cell)) for cell in row]
        cells[-1].stylize(style)
        table.add_row(*cells)
    return table


def _markdown(trial: PairedComparison) -> str:
    parts = []
    for assignor in trial.assignors:
        findings = trial.of(assignor)
        parts.append(f"**{markdown_text(_title(trial, assignor))}**\n")
        parts.append(markdown_table(_TALLY, _tally_rows(findings), right=range(1, 5)))
        found = [row for _, row in _found_rows(findings)]
        headers = _found_headers(trial, assignor)
        parts.append(markdown_table(headers, found, right=range(2, 8)) if found else f"{_NOTHING}\n")
    parts.append("".join(f"- {markdown_text(note)}\n" for note in notes(trial)))
    return "\n".join(parts)
