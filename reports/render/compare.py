"""A paired comparison in every format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from reports.analysis.cells import UNKNOWN, Cell
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
from reports.document import (
    Block,
    Paragraph,
    Points,
    Report,
    ReportColumn,
    ReportRow,
    ReportSection,
    ReportTable,
    records_table,
)
from simulator.plurals import counted

_VERDICTS: Final = tuple(verdict for verdict in ComparisonVerdict if verdict is not ComparisonVerdict.UNKNOWN)
_EMPHASIS: Final = {ComparisonVerdict.BETTER: "good", ComparisonVerdict.WORSE: "bad"}
_MAX_FAILURES: Final = 5


def comparison_report(comparison: PairedComparison) -> Report:
    """Return the report of a comparison: verdicts by metric and significant differences of each assignor, and notes.

    CSV has all findings.
    """
    scenarios, seeds, baseline = len(comparison.scenarios), comparison.seeds, comparison.baseline
    runs = f"{counted(scenarios, 'scenario')}, {counted(seeds, 'seed')}{'' if scenarios == 1 else ' each'}"
    assignors = comparison.assignors
    keys = ("scenario", "assignor", "metric", "pairs", "baseline", "mean", "difference", "low", "high", "p", "verdict")
    findings = records_table("findings", {key: key for key in keys}, comparison_record(comparison)["findings"])
    sections = [ReportSection("findings", "", [findings])]
    sections += [
        ReportSection(
            f"assignor-{number}",
            f"{assignor} vs. {baseline}",
            [_verdicts(comparison.of(assignor)), _significant(comparison, assignor)],
            leads=len(assignors) == 1,
        )
        for number, assignor in enumerate(assignors, 1)
    ]
    sections.append(ReportSection("notes", "", [Points(notes(comparison), "note")]))
    if comparison.expectations:
        unmet = [str(expectation) for expectation in comparison.expectations if not expectation.is_met]
        blocks: list[Block] = [Paragraph(f"Expectations: {summarize(comparison.expectations)}"), Points(unmet)]
        sections.append(ReportSection("expectations", "", blocks))
    return Report(f"{', '.join(assignors)} vs. {baseline}: {runs}", sections)


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


def _verdicts(findings: Sequence[MetricComparison]) -> ReportTable:
    columns = [ReportColumn("metric", "metric")]
    columns += [ReportColumn(verdict, verdict, is_number=True) for verdict in _VERDICTS]
    rows: list[ReportRow] = [
        [COMPARABLE_METRICS[metric].title, *(str(counts[verdict] or "") for verdict in _VERDICTS)]
        for metric, counts in count_verdicts(findings)
    ]
    return ReportTable("verdicts", columns, rows)


def _significant(comparison: PairedComparison, assignor: str) -> Block:
    """Return a table of the significant findings by metric."""
    numbers = (comparison.baseline, assignor, "difference", "95 % CI", "in %", "p")
    columns = [ReportColumn(name, name) for name in ("scenario", "metric")]
    columns += [ReportColumn(name, name, is_number=True, header=printable(name)) for name in numbers]
    rows = list(_significant_rows(comparison.of(assignor)))
    if not rows:
        return Paragraph("No significant difference.")
    return ReportTable("differences", [*columns, ReportColumn("verdict", "")], rows)


def _significant_rows(findings: Sequence[MetricComparison]) -> Iterator[ReportRow]:
    metrics = list(COMPARABLE_METRICS)
    significant = [finding for finding in findings if finding.verdict in _EMPHASIS]
    for finding in sorted(significant, key=lambda finding: metrics.index(finding.metric)):
        metric = COMPARABLE_METRICS[finding.metric]
        means = (UNKNOWN if value is None else metric.write(value) for value in (finding.baseline, finding.mean))
        verdict = Cell(finding.verdict, emphasis=_EMPHASIS[finding.verdict])
        yield finding.scenario, metric.title, *means, *_difference(finding), f"{finding.p:.2g}", verdict


def _difference(finding: MetricComparison) -> tuple[str, str, str]:
    """Return the mean difference, its confidence interval, and its share of the mean of the baseline."""
    write = COMPARABLE_METRICS[finding.metric].write

    def signed(value: float) -> str:
        return f"{'−' if value < 0 else '+'}{write(abs(value))}"

    interval = "" if finding.low is None or finding.high is None else f"{signed(finding.low)} to {signed(finding.high)}"
    share = 100 * finding.difference / abs(finding.baseline) if finding.baseline else None
    return signed(finding.difference), interval, "" if share is None else f"{share:+.0f}".replace("-", "−")
