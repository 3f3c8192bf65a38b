"""A paired comparison as text for terminals, Markdown and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from reports.analysis.cells import UNKNOWN
from reports.analysis.expectations import summarize
from reports.analysis.metrics import COMPARABLE_METRICS
from reports.analysis.paired_comparison import (
    ComparisonVerdict,
    MetricComparison,
    PairedComparison,
    comparison_record,
    count_verdicts,
)
from reports.analysis.statistics import ALPHA
from reports.analysis.text import printable
from reports.render.markdown import markdown_table, markdown_text
from reports.render.terminal.console import BAD, GOOD, HEADER, QUIET, grid, lines
from reports.render.terminal.facts import FactTable
from reports.render.terminal.facts import render as render_tables
from simulator.plurals import counted

FORMATS: Final = ("table", "json", "csv", "markdown")
"""Formats of `render`."""

_VERDICTS: Final = tuple(verdict for verdict in ComparisonVerdict if verdict is not ComparisonVerdict.UNKNOWN)
_STYLE: Final = {ComparisonVerdict.BETTER: GOOD, ComparisonVerdict.WORSE: BAD}
_COUNT_HEADERS: Final = ("metric", *_VERDICTS)
_NO_DIFFERENCE: Final = "No significant difference."
_MAX_FAILURES: Final = 5


def render(
    comparison: PairedComparison, format: str = "table", *, width: int | None = None, color: bool | None = None
) -> str:
    """Render a comparison as text that ends with a newline.

    `format`: one of `FORMATS`; `json` and `csv` have all findings, the others only significant ones. `width`: columns
    of the terminal; detected by default. Used for `table` only. Raises ValueError if the format is unknown.
    """
    match format:
        case "table":
            return lines(_parts(comparison), width, color=color)
        case "json":
            return json.dumps(comparison_record(comparison), indent=2, ensure_ascii=False) + "\n"
        case "csv":
            return render_tables([_table_of_findings(comparison)], "csv")
        case "markdown":
            return _markdown(comparison)
    raise ValueError(f"{format!r} is not a format (formats: {', '.join(FORMATS)})")


def _table_of_findings(comparison: PairedComparison) -> FactTable:
    findings = comparison_record(comparison)["findings"]
    keys = ("scenario", "assignor", "metric", "pairs", "baseline", "mean", "difference", "low", "high", "p", "verdict")
    return FactTable("findings", "Findings", dict(zip(keys, keys, strict=True)), findings)


def notes(comparison: PairedComparison) -> list[str]:
    """Return the notes below the tables."""
    texts = [f"p: sign-flip test over seeds with Holm correction; better or worse if below {ALPHA:g}."]
    if not comparison.is_decidable:
        texts.append(
            f"With {counted(comparison.seeds, 'seed')} no difference can be significant; use more seeds (--seeds 20)."
        )
    listed_failures = comparison.failures[:_MAX_FAILURES]
    texts += [
        f"{failure.scenario}, {failure.assignor}, seed {failure.seed}: {failure.cause}" for failure in listed_failures
    ]
    if len(comparison.failures) > _MAX_FAILURES:
        texts.append(f"… and {len(comparison.failures) - _MAX_FAILURES} more runs failed.")
    return texts


def _title(comparison: PairedComparison, assignor: str) -> str:
    scenarios, seeds = len(comparison.scenarios), comparison.seeds
    each = "" if scenarios == 1 else " each"
    return f"{assignor} vs. {comparison.baseline}: {counted(scenarios, 'scenario')}, {counted(seeds, 'seed')}{each}"


def _verdict_count_rows(findings: Sequence[MetricComparison]) -> Iterator[tuple[str, ...]]:
    for metric, counts in count_verdicts(findings):
        yield (COMPARABLE_METRICS[metric].title, *(str(counts[verdict] or "") for verdict in _VERDICTS))


def _significant_rows(findings: Sequence[MetricComparison]) -> Iterator[tuple[MetricComparison, tuple[str, ...]]]:
    """Yield significant findings by metric."""
    metrics = list(COMPARABLE_METRICS)
    significant = [finding for finding in findings if finding.verdict in _STYLE]
    for finding in sorted(significant, key=lambda finding: metrics.index(finding.metric)):
        write = COMPARABLE_METRICS[finding.metric].write
        before, after = (UNKNOWN if value is None else write(value) for value in (finding.baseline, finding.mean))
        title = COMPARABLE_METRICS[finding.metric].title
        yield (
            finding,
            (finding.scenario, title, before, after, *_difference(finding), f"{finding.p:.2g}", finding.verdict),
        )


def _significant_headers(comparison: PairedComparison, assignor: str) -> tuple[str, ...]:
    return ("scenario", "metric", comparison.baseline, assignor, "difference", "95 % CI", "in %", "p", "")


def _difference(finding: MetricComparison) -> tuple[str, str, str]:
    """Return the mean difference, its confidence interval, and its share of the mean of the baseline."""
    write = COMPARABLE_METRICS[finding.metric].write

    def signed(value: float) -> str:
        return f"{'−' if value < 0 else '+'}{write(abs(value))}"

    interval = "" if finding.low is None or finding.high is None else f"{signed(finding.low)} to {signed(finding.high)}"
    share = 100 * finding.difference / abs(finding.baseline) if finding.baseline else None
    return signed(finding.difference), interval, "" if share is None else f"{share:+.0f}".replace("-", "−")


def _parts(comparison: PairedComparison) -> Iterator[RenderableType]:
    for assignor in comparison.assignors:
        findings = comparison.of(assignor)
        yield Text(printable(_title(comparison, assignor)), style=HEADER)
        yield Text()
        yield _table(_COUNT_HEADERS, [(row, "") for row in _verdict_count_rows(findings)], right=range(1, 5))
        rows = [(row, _STYLE[finding.verdict]) for finding, row in _significant_rows(findings)]
        yield Text()
        yield (
            _table(_significant_headers(comparison, assignor), rows, right=range(2, 8))
            if rows
            else Text(_NO_DIFFERENCE)
        )
        yield Text()
    for note in notes(comparison):
        yield Text(f"– {printable(note)}", style=QUIET)
    if comparison.expectations:
        yield Text(f"\nExpectations: {summarize(comparison.expectations)}")
        yield from (Text(f"– {printable(text)}", overflow="fold") for text in _unmet(comparison))


def _table(headers: Sequence[str], rows: Sequence[tuple[tuple[str, ...], str]], right: range) -> Table:
    table = grid()
    table.padding = (0, 1)
    for column, header in enumerate(headers):
        table.add_column(Text(printable(header)), justify="right" if column in right else "left")
    for row, style in rows:
        # The last cell is the verdict as text; the color repeats it.
        cells = [Text(printable(cell)) for cell in row]
        cells[-1].stylize(style)
        table.add_row(*cells)
    return table


def _markdown(comparison: PairedComparison) -> str:
    parts = []
    for assignor in comparison.assignors:
        findings = comparison.of(assignor)
        parts.append(f"**{markdown_text(_title(comparison, assignor))}**\n")
        parts.append(markdown_table(_COUNT_HEADERS, _verdict_count_rows(findings), right=range(1, 5)))
        rows = [row for _, row in _significant_rows(findings)]
        headers = _significant_headers(comparison, assignor)
        parts.append(markdown_table(headers, rows, right=range(2, 8)) if rows else f"{_NO_DIFFERENCE}\n")
    parts.append("".join(f"- {markdown_text(note)}\n" for note in notes(comparison)))
    if comparison.expectations:
        parts.append(f"Expectations: {summarize(comparison.expectations)}\n")
        parts.append("".join(f"- {markdown_text(text)}\n" for text in _unmet(comparison)))
    return "\n".join(parts)


def _unmet(comparison: PairedComparison) -> Iterator[str]:
    """Yield the expectations that are not met or not checked."""
    return (str(expectation) for expectation in comparison.expectations if not expectation.is_met)
