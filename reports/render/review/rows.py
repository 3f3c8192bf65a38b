"""Rows that all forms of a review have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from reports.analysis.cells import UNKNOWN
from reports.analysis.metrics import COMPARABLE_METRICS
from reports.analysis.paired_comparison import ComparisonVerdict
from reports.analysis.review.report import FamilyFinding, ReviewReport
from reports.analysis.statistics import ALPHA
from simulator.plurals import counted

SIGNIFICANT: Final = (ComparisonVerdict.BETTER, ComparisonVerdict.WORSE)
METRIC_HEADERS: Final = ("metric", "wins", "losses", "ties", "better in", "worse in")
FINDING_HEADERS: Final = ("family", "metric", "base", "head", "difference", "95 % CI", "W–L–T", "p", "")
GAP_HEADERS: Final = ("family", "base", "head", "base worst", "head worst", "base optimal", "head optimal", "proven")
INVARIANT_HEADERS: Final = ("invariant", "base", "head", "only head")
NOTES: Final = (
    "wins, losses, ties: scenarios in which head is lower, higher or equal; better in, worse in: families with a "
    "significant difference.",
    f"p: sign-flip test over the scenarios of a family, Holm-corrected; significant below {ALPHA:g}. Lower is better.",
)

GAP_NOTE: Final = (
    "base, head: KIP-925 cost above the optimum, mean over the cases; optimal: cases at the optimum. Each assignor has "
    "its own weights, and its optimum is that of assignments as balanced as its own in the deciding round. proven: "
    "cases in which the optimum is proven, base / head; in the others, the cost is above a lower bound."
)


def title(report: ReviewReport) -> str:
    """Return the heading of a review."""
    return f"{report.head} (head) vs. {report.base} (base)"


def size(report: ReviewReport) -> str:
    """Return what was run."""
    return (
        f"{report.suite}, seed {report.seed}: {report.cases:,} cases in "
        f"{counted(len(report.families), 'family', 'families')}, {report.states:,} states checked"
        + (f", {counted(len(report.skipped), 'case')} skipped" if report.skipped else "")
    )


def metric_rows(report: ReviewReport) -> Iterator[tuple[str, ...]]:
    """Yield wins, losses and ties over all families, and the number of families with significant differences."""
    by_metric: dict[str, list[FamilyFinding]] = {}
    for finding in report.findings:
        by_metric.setdefault(finding.comparison.metric, []).append(finding)
    for metric, findings in by_metric.items():
        if not any(finding.comparison.pairs for finding in findings):
            continue
        verdicts = Counter(finding.verdict for finding in findings)
        counts = (sum(f.wins for f in findings), sum(f.losses for f in findings), sum(f.ties for f in findings))
        yield (
            COMPARABLE_METRICS[metric].title,
            *(str(count) for count in counts),
            *(str(verdicts[verdict] or "") for verdict in SIGNIFICANT),
        )


def gap_rows(report: ReviewReport) -> list[tuple[str, ...]]:
    """Return the gaps to the optimum by family; none if no cost is known."""
    rows: list[tuple[str, ...]] = []
    for family in report.families:
        base, head = family.gaps
        if base is not None and head is not None:
            rows.append(
                (
                    family.name,
                    f"{base.above:.1f}",
                    f"{head.above:.1f}",
                    f"{base.worst:,}",
                    f"{head.worst:,}",
                    f"{base.optimal}/{base.cases}",
                    f"{head.optimal}/{head.cases}",
                    f"{base.proven}/{head.proven}",
                )
            )
    return rows


def gap_line(report: ReviewReport) -> str:
    """Return the gaps to the optimum over all families; empty if no cost is known."""
    gaps = [family.gaps for family in report.families]
    base, head = [gap[0] for gap in gaps if gap[0]], [gap[1] for gap in gaps if gap[1]]
    if not (base and head):
        return ""
    cases = sum(gap.cases for gap in base)
    means = [sum(gap.above * gap.cases for gap in side) / cases for side in (base, head)]
    proven = sum(gap.proven for gap in (*base, *head))
    rest = "" if proven == 2 * cases else "; in the others, the cost is above a lower bound"
    return (
        f"Gap to the optimum: KIP-925 cost {means[0]:.1f} (base) and {means[1]:.1f} (head) above the optimum of "
        f"assignments as balanced, with the weights of each; mean over {cases:,} cases. The optimum is proven in "
        f"{proven:,} of {2 * cases:,} runs{rest}."
    )


def significant(report: ReviewReport) -> list[FamilyFinding]:
    """Return the significant findings: by family, worse ones first."""
    order = {family.name: number for number, family in enumerate(report.families)}
    found = [finding for finding in report.findings if finding.verdict in SIGNIFICANT]
    return sorted(found, key=lambda f: (order[f.comparison.scenario], f.verdict is not ComparisonVerdict.WORSE))


def finding_row(finding: FamilyFinding) -> tuple[str, ...]:
    """Return the cells of a finding."""
    comparison = finding.comparison
    metric = COMPARABLE_METRICS[comparison.metric]

    def signed(value: float) -> str:
        return f"{'−' if value < 0 else '+' if value > 0 else ''}{metric.write(abs(value))}"

    base, head = (UNKNOWN if v is None else metric.write(v) for v in (comparison.baseline, comparison.mean))
    low, high = comparison.low, comparison.high
    return (
        comparison.scenario,
        metric.title,
        base,
        head,
        signed(comparison.difference) if comparison.pairs else UNKNOWN,
        "" if low is None or high is None else f"{signed(low)} to {signed(high)}",
        f"{finding.wins}–{finding.losses}–{finding.ties}",
        f"{comparison.p:.2g}" if comparison.differing else "",
        str(finding.verdict),
    )


def invariant_rows(report: ReviewReport) -> list[tuple[str, ...]]:
    """Return the invariants that either assignor violates, with the numbers of cases."""
    return [
        (one.invariant, *(str(count or "") for count in (one.base, one.head, one.only_head)))
        for one in report.invariants
        if one.base or one.head
    ]


def violation_lines(report: ReviewReport) -> list[str]:
    """Return one line for each violated invariant: an example, and the shrunk scenario."""
    shrunk = {one.invariant: one for one in report.shrunk}
    lines = []
    for count in report.invariants:
        if not count.head:
            continue
        line = f"{count.invariant}: {count.example} ({count.case})"
        if small := shrunk.get(count.invariant):
            sizes = ((small.clients, "client"), (small.tasks, "task"), (small.events, "event"))
            parts = ", ".join(counted(number, noun) for number, noun in sizes)
            line += f"; smallest scenario: violations/{small.file}, {parts}, seed {small.seed}"
        lines.append(line)
    return lines


def remarks(report: ReviewReport) -> list[str]:
    """Return reasons to doubt the figures."""
    texts = []
    if not report.is_decidable:
        texts.append("There are too few scenarios for any difference to be significant.")
    if report.skipped:
        case, reason = report.skipped[0]
        texts.append(f"{counted(len(report.skipped), 'case')} skipped; {case}: {reason}")
    return texts
