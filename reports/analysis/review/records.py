"""The report of a review, and the measured times, as records for JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from statistics import median
from typing import Any

from reports.analysis.review.outcomes import CaseOutcome
from reports.analysis.review.report import SIDES, FamilyFinding, ReviewReport


def report_record(report: ReviewReport) -> dict[str, Any]:
    """Return the report as a record for JSON."""
    record = asdict(report)
    record["conclusion"] = report.conclusion
    record["families"] = [
        {
            "name": family.name,
            "description": family.description,
            "scenarios": family.scenarios,
            "cases": family.cases,
            "findings": [_finding_record(finding) for finding in family.findings],
            "gap_to_optimum": {
                side: None if gap is None else asdict(gap) for side, gap in zip(SIDES, family.gaps, strict=True)
            },
        }
        for family in report.families
    ]
    record["skipped"] = [{"case": case, "reason": reason} for case, reason in report.skipped]
    return record


def _finding_record(finding: FamilyFinding) -> dict[str, Any]:
    values = {key: value for key, value in asdict(finding.comparison).items() if key not in ("scenario", "assignor")}
    return {
        **values,
        "difference": finding.comparison.difference,
        "wins": finding.wins,
        "losses": finding.losses,
        "ties": finding.ties,
        "verdict": finding.verdict,
    }


def timing_records(outcomes: Sequence[CaseOutcome]) -> list[dict[str, Any]]:
    """Return the measured compute times by family: number of calls and medians, in ms; they differ from run to run."""
    return list(_timings(outcomes))


def _timings(outcomes: Sequence[CaseOutcome]) -> Iterator[dict[str, Any]]:
    for family, group in groupby(outcomes, key=lambda outcome: outcome.family):
        cases = list(group)
        nanos = {
            side: [n for case in cases if (o := getattr(case, side)) is not None for n in o.nanos] for side in SIDES
        }
        if all(nanos.values()):
            medians = {f"{side}_ms": round(median(values) / 1e6, 3) for side, values in nanos.items()}
            yield {"family": family, "calls": len(nanos["head"]), **medians}
