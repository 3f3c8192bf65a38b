"""The report of a review, and its JUnit XML for CI servers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from reports.analysis.cells import UNKNOWN, Cell
from reports.analysis.formatting import format_bytes
from reports.analysis.metrics import COMPARABLE_METRICS
from reports.analysis.paired_comparison import ComparisonVerdict
from reports.analysis.review.outcomes import INVARIANTS, ShrunkScenario
from reports.analysis.review.report import FamilyFinding, ReviewReport, report_record
from reports.analysis.statistics import ALPHA
from reports.analysis.text import printable
from reports.document import (
    Block,
    CodeLines,
    Facts,
    FoldedBlocks,
    Paragraph,
    Points,
    Report,
    ReportColumn,
    ReportFormat,
    ReportRow,
    ReportSection,
    ReportTable,
    records_table,
)
from reports.render.verification import xml_lines
from simulator.plurals import counted

MAX_LINES: Final = 60
"""Maximum number of lines of the Markdown report."""

_OTHER_LINES: Final = 37
"""Lines of the Markdown report besides the rows of its tables and the examples of violations."""

_MAX_ROWS: Final = 40
"""Maximum number of significant differences in terminals."""

_TEXT: Final[tuple[ReportFormat, ...]] = ("terminal", "markdown")
_FOLDED: Final[tuple[ReportFormat, ...]] = ("markdown", "page")
_SCREEN: Final[tuple[ReportFormat, ...]] = ("terminal", "page")
_SIGNIFICANT: Final = (ComparisonVerdict.BETTER, ComparisonVerdict.WORSE)
_EMPHASES: Final = {ComparisonVerdict.BETTER: "good", ComparisonVerdict.WORSE: "bad"}
_FINDING_HEADERS: Final = ("family", "metric", "base", "head", "difference", "95 % CI", "W–L–T", "p", "verdict")
_NOTES: Final = (
    "wins, losses, ties: scenarios in which head is lower, higher or equal; better in, worse in: families with a "
    "significant difference.",
    f"p: sign-flip test over the scenarios of a family, Holm-corrected; significant below {ALPHA:g}. Lower is better.",
)
_GAP_NOTE: Final = (
    "base, head: KIP-925 cost above the optimum, mean over the cases; optimal: cases at the optimum. Each assignor has "
    "its own weights, and its optimum is that of assignments as balanced as its own in the deciding round. proven: "
    "cases in which the optimum is proven, base / head; in the others, the cost is above a lower bound."
)
_DEFINITION_NOTES: Final = (
    "All assignors are simulated with the same clients, the same cluster and the same events. “At the end” refers to "
    "the last assignment of the run; moves, restored bytes and downtime are totals over the run.",
    "A run is stable if its assignment is final, probing if follow-up rebalances were still requested at the end, "
    "cycling if earlier assignments recurred, never if something prevents the group from converging, rebalancing if a "
    "rebalance was in progress at the end, failed if the assignor failed, and empty if no client joined.",
)


def review_report(review: ReviewReport) -> Report:
    """Return the report of a review; CSV has every finding, with the keys of JSON after that of the family."""
    size = (
        f"{review.suite}, seed {review.seed}: {review.cases:,} cases in "
        f"{counted(len(review.families), 'family', 'families')}, {review.states:,} states checked"
        + (f", {counted(len(review.skipped), 'case')} skipped" if review.skipped else "")
        + "."
    )
    records = [
        {"family": family["name"], **finding}
        for family in report_record(review)["families"]
        for finding in family["findings"]
    ]
    conclusion: list[Block] = [
        Paragraph(size, "note", only=_TEXT),
        Paragraph(review.conclusion, "conclusion", only=("markdown", "page")),
        records_table("findings", {key: key for key in (records[0] if records else ("family",))}, records),
    ]
    sections = [
        ReportSection("answer", "Conclusion", conclusion, leads=True),
        _invariants(review),
        _sequences(review),
        _timing(review),
        *_metrics(review),
        ReportSection("notes", "Notes", [Points(_all_notes(review), "note")], has_heading=False),
        ReportSection("families", "Families", list(_families(review))),
        ReportSection("definitions", "Definitions", _definitions(review)),
        ReportSection("conclusion", "Conclusion", [Points([review.conclusion], only=("terminal",))]),
    ]
    title = f"{review.head} (head) vs. {review.base} (base)"
    return Report(title, sections, window_title=f"Review of {review.head} against {review.base}", subtitle=size)


def review_junit(review: ReviewReport) -> bytes:
    """Return a review as JUnit XML: one test case per invariant, and one per family and metric.

    A test case fails if the assignor under review violates the invariant, or is significantly worse.
    """
    root = Element("testsuites", name="assignor-sim review")
    examples = {line.partition(":")[0]: line for line in _violation_lines(review)}
    _suite(root, "invariants", [(invariant, examples.get(invariant, "")) for invariant in INVARIANTS])
    for family in review.families:
        cases = []
        for finding in family.findings:
            row = [str(cell) for cell in _finding_row(finding)]
            is_worse = finding.verdict is ComparisonVerdict.WORSE
            text = f"{row[2]} → {row[3]}, difference {row[4]} (95 % CI {row[5]}), p {row[7]}"
            cases.append((finding.comparison.metric, text if is_worse else ""))
        _suite(root, family.name, cases)
    indent(root)
    return bytes(tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _suite(root: Element, name: str, cases: list[tuple[str, str]]) -> None:
    failures = sum(bool(text) for _, text in cases)
    suite = SubElement(
        root, "testsuite", name=name, tests=str(len(cases)), failures=str(failures), errors="0", time="0"
    )
    for case, text in cases:
        element = SubElement(suite, "testcase", classname=f"review.{name}", name=printable(case), time="0")
        if text:
            SubElement(element, "failure", message=xml_lines(text).splitlines()[0]).text = xml_lines(text)


def timing_line(timings: Sequence[Mapping[str, Any]]) -> str:
    """Return the measured compute times of the slowest family; they differ from run to run."""
    slowest = max(timings, key=lambda one: max(one["base_ms"], one["head_ms"]))
    return (
        f"measured compute time (median per call): base {slowest['base_ms']:,.1f} ms, head "
        f"{slowest['head_ms']:,.1f} ms in {slowest['family']}, the slowest family"
    )


def _table(
    key: str,
    headers: Sequence[str],
    rows: Iterable[ReportRow],
    only: tuple[ReportFormat, ...] = (),
    numbers: Iterable[int] | None = None,
    title: str = "",
) -> ReportTable:
    """Return a table; all columns but the first are numbers by default."""
    right = set(range(1, len(headers)) if numbers is None else numbers)
    columns = [
        ReportColumn(header, header, is_number=number in right, header=header.replace(" ", "\n"))
        for number, header in enumerate(headers)
    ]
    return ReportTable(key, columns, list(rows), only=only, title=title)


def _invariants(review: ReviewReport) -> ReportSection:
    headers = ("invariant", "base", "head", "only head")
    counts = [(one, (one.base, one.head, one.only_head)) for one in review.invariants]
    rows: list[ReportRow] = [
        [Cell(one.invariant, (INVARIANTS[one.invariant],)), *map(str, numbers)] for one, numbers in counts
    ]
    broken = [[one.invariant, *(str(number or "") for number in numbers)] for one, numbers in counts if any(numbers)]
    of_base = [
        f"{one.invariant}: {one.example} ({one.case})" for one in review.invariants if one.example and not one.head
    ]
    blocks: list[Block] = [
        _table("invariants", headers, broken, _TEXT),
        _table("invariants", headers, rows, ("page",)),
        Points(_violation_lines(review)),
        Points(of_base, only=("page",)),
    ]
    for small in review.shrunk:
        summary = f"Smallest scenario that violates {small.invariant}: {_size(small)}"
        content: list[Block] = [Paragraph(small.message), CodeLines(small.text.splitlines(), "yaml")]
        blocks.append(FoldedBlocks(summary, content, only=("page",)))
    return ReportSection("invariants", "Invariants", blocks, sentence="Number of cases with a violation.")


def _sequences(review: ReviewReport) -> ReportSection:
    """Return both assignors in the same sequences of rebalances, with a JUnit test of each new violation."""
    compared = review.sequences
    if compared is None:
        return ReportSection("sequences", "", [])
    rows = [[one.title, *map(str, (one.base, one.head, one.only_head))] for one in compared.counts]
    points = [f"{one.invariant}: {one.message}; smallest sequence: {one.size}" for one in compared.smallest]
    blocks: list[Block] = [_table("sequences", ("sequences", "base", "head", "only head"), rows), Points(points)]
    for name, text in review.tests:
        blocks.append(FoldedBlocks(f"JUnit test: {name}", [CodeLines(text.splitlines(), "java")], only=_FOLDED))
    sentence = f"Number of sequences with a violation, of {compared.sequences:,} in which processes join and leave."
    return ReportSection("sequences", "Sequences of rebalances", blocks, sentence=sentence)


def _timing(review: ReviewReport) -> ReportSection:
    """Return the time and the memory of an assignment at several sizes, if they were measured."""
    title = "Time and memory of an assignment"
    if not review.timing:
        reason = [Paragraph(f"Not timed: {printable(review.untimed)}")] if review.untimed else []
        return ReportSection("timing", title if reason else "", reason)
    headers = ("tasks", "threads", "base", "head", "ratio", "base memory", "head memory")
    rows = [
        [
            *(f"{number:,}" for number in (one.tasks, one.threads)),
            *(_duration(fmean(ns)) for ns in (one.base_ns, one.head_ns)),
            f"{one.ratio:.2f} ({one.ratio_range[0]:.2f}–{one.ratio_range[1]:.2f})",
            *(format_bytes(allocated) for allocated in (one.base_bytes, one.head_bytes)),
        ]
        for one in review.timing
    ]
    note = (
        f"base, head: mean of a call, in {counted(len(review.timing[0].base_ns), 'JVM')} of each assignor after "
        "warm-up; ratio: head ÷ base, in brackets the extremes of two JVMs; memory: what a call allocates on the heap. "
        "A process has just left; half of the tasks have state and a standby."
    )
    blocks: list[Block] = [_table("timing", headers, rows, numbers=range(len(headers))), Paragraph(note, "note")]
    return ReportSection("timing", title, blocks)


def _duration(ns: float) -> str:
    return f"{ns / 1e3:.3g} µs" if ns < 1e6 else f"{ns / 1e6:.3g} ms"


def _violation_lines(review: ReviewReport) -> list[str]:
    """Return one line for each violated invariant: an example, and the shrunk scenario."""
    shrunk = {one.invariant: one for one in review.shrunk}
    lines = []
    for count in review.invariants:
        if not count.head:
            continue
        line = f"{count.invariant}: {count.example} ({count.case})"
        if small := shrunk.get(count.invariant):
            line += f"; smallest scenario: violations/{small.file}, {_size(small)}, seed {small.seed}"
        lines.append(line)
    return lines


def _size(small: ShrunkScenario) -> str:
    sizes = ((small.clients, "client"), (small.tasks, "task"), (small.events, "event"))
    return ", ".join(counted(number, noun) for number, noun in sizes)


def _metrics(review: ReviewReport) -> Iterator[ReportSection]:
    headers = ("metric", "wins", "losses", "ties", "better in", "worse in")
    rows, found, gaps = list(_metric_rows(review)), _significant(review), _gap_rows(review)
    violated = sum(bool(one.base or one.head) for one in review.invariants) + len(_violation_lines(review))
    blocks: list[Block] = [_table("metrics", headers, rows, _SCREEN)]
    if rows:
        folded = [_table("metrics", headers, rows)]
        blocks.append(FoldedBlocks(counted(len(rows), "metric"), folded, only=("markdown",)))
    if found:
        shown = found[: max(0, MAX_LINES - _OTHER_LINES - violated - len(rows))]
        more = f" ({len(found) - len(shown)} more in the full report)" if len(shown) < len(found) else ""
        table = _table("significant", _FINDING_HEADERS, map(_finding_row, shown), numbers=range(2, 8))
        summary = f"{counted(len(found), 'significant difference')}{more}"
        blocks.append(FoldedBlocks(summary, [table], only=("markdown",)))
    yield ReportSection("metrics", "Metrics over all families", blocks, has_heading=False)
    gap_headers = ("family", "base", "head", "base worst", "head worst", "base optimal", "head optimal", "proven")
    table = _table("gaps", gap_headers, gaps, _SCREEN)
    note = Paragraph(_GAP_NOTE if gaps else "", "note", only=_SCREEN)
    yield ReportSection("gaps", "Gap to the optimum", [table, note])
    # The interval is in the other formats: the table has to fit into 80 columns.
    columns = [number for number, header in enumerate(_FINDING_HEADERS) if header != "95 % CI"]
    cells = ([row[column] for column in columns] for row in map(_finding_row, found[:_MAX_ROWS]))
    titles = [_FINDING_HEADERS[column] for column in columns]
    significant: list[Block] = [_table("significant", titles, cells, ("terminal",), range(2, len(columns) - 1))]
    if len(found) > _MAX_ROWS:
        more = f"… and {len(found) - _MAX_ROWS} more (--out DIR, --format json)"
        significant.append(Paragraph(more, only=("terminal",)))
    yield ReportSection("significant", "Significant differences", significant)


def _metric_rows(review: ReviewReport) -> Iterator[tuple[str, ...]]:
    """Yield wins, losses and ties over all families, and the number of families with significant differences."""
    by_metric: dict[str, list[FamilyFinding]] = {}
    for finding in review.findings:
        by_metric.setdefault(finding.comparison.metric, []).append(finding)
    for metric, findings in by_metric.items():
        if not any(finding.comparison.pairs for finding in findings):
            continue
        verdicts = Counter(finding.verdict for finding in findings)
        counts = (sum(f.wins for f in findings), sum(f.losses for f in findings), sum(f.ties for f in findings))
        yield (
            COMPARABLE_METRICS[metric].title,
            *(str(count) for count in counts),
            *(str(verdicts[verdict] or "") for verdict in _SIGNIFICANT),
        )


def _significant(review: ReviewReport) -> list[FamilyFinding]:
    """Return the significant findings: by family, worse ones first."""
    order = {family.name: number for number, family in enumerate(review.families)}
    found = [finding for finding in review.findings if finding.verdict in _SIGNIFICANT]
    return sorted(found, key=lambda f: (order[f.comparison.scenario], f.verdict is not ComparisonVerdict.WORSE))


def _gap_rows(review: ReviewReport) -> list[tuple[str, ...]]:
    """Return the gaps to the optimum by family; none if no cost is known."""
    return [
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
        for family in review.families
        for base, head in [family.gaps]
        if base is not None and head is not None
    ]


def _gap_line(review: ReviewReport) -> str:
    """Return the gaps to the optimum over all families; empty if no cost is known."""
    gaps = [family.gaps for family in review.families]
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


def _finding_row(finding: FamilyFinding) -> list[Cell | str]:
    comparison = finding.comparison
    metric = COMPARABLE_METRICS[comparison.metric]

    def signed(value: float) -> str:
        return f"{'−' if value < 0 else '+' if value > 0 else ''}{metric.write(abs(value))}"

    base, head = (UNKNOWN if v is None else metric.write(v) for v in (comparison.baseline, comparison.mean))
    low, high = comparison.low, comparison.high
    return [
        comparison.scenario,
        metric.title,
        base,
        head,
        signed(comparison.difference) if comparison.pairs else UNKNOWN,
        "" if low is None or high is None else f"{signed(low)} to {signed(high)}",
        f"{finding.wins}–{finding.losses}–{finding.ties}",
        f"{comparison.p:.2g}" if comparison.differing else "",
        Cell(str(finding.verdict), emphasis=_EMPHASES.get(finding.verdict, "")),
    ]


def _all_notes(review: ReviewReport) -> list[str]:
    """Return reasons to doubt the figures, and what the columns mean."""
    notes = [gap] if (gap := _gap_line(review)) else []
    if not review.is_decidable:
        notes.append("There are too few scenarios for any difference to be significant.")
    if review.skipped:
        case, reason = review.skipped[0]
        notes.append(f"{counted(len(review.skipped), 'case')} skipped; {case}: {reason}")
    return [*notes, *_NOTES]


def _families(review: ReviewReport) -> Iterator[Block]:
    """Yield the findings of each family, which only pages have."""
    for family in review.families:
        size = f"{counted(family.scenarios, 'scenario')}, {counted(family.cases, 'run')} of each assignor."
        yield Paragraph(family.name, "heading", only=("page",))
        yield Paragraph(f"{family.description} {size}", only=("page",))
        rows = [_finding_row(finding)[1:] for finding in family.findings if finding.comparison.pairs]
        yield _table(family.name, _FINDING_HEADERS[1:], rows, ("page",), range(1, 7), family.name)


def _definitions(review: ReviewReport) -> list[Block]:
    names = {finding.comparison.metric for finding in review.findings}
    meanings = [(metric.title, metric.meaning) for name, metric in COMPARABLE_METRICS.items() if name in names]
    notes = [Paragraph(note, only=("page",)) for note in _DEFINITION_NOTES]
    return [*notes, Facts(meanings, only=("page",))]
