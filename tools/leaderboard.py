"""AssignorBench: `python -m tools.leaderboard COMMAND`.

instances -o DIR   write every instance as DIR/FAMILY/NAME.json, also the large ones (up to 90 MB each)
references         optima, final assignments of all entries, and Kafka's answers in Java (needs Java and Maven)
runs               simulate all entries in all scenarios
page               write the tables of docs/benchmark/leaderboard.md from the results in docs/benchmark/v1
all                all except instances: the whole leaderboard
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import platform
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from pipeline.pool import process_pool
from pipeline.review.case_runs import SKIPPED, Reviewed, measure_runs
from reports.analysis.metrics import COMPARABLE_METRICS
from reports.analysis.review.leaderboard import BenchmarkRun, BenchmarkTable, compare_with_baseline, rank_assignors
from scenarios.problems import parse_problem
from scenarios.suite.standard import FAMILY_DESCRIPTIONS, NAME, SuiteCase, benchmark_cases
from tools import benchmark_instances as instances
from tools.benchmark_instances import CLIENT_RELEASE, ENTRIES, Entry, Row

MeasuredRun = Mapping[str, Any]
"""A run: `verdict`, and its metrics by key; a case that is invalid with the configs has the verdict `skipped`."""

_CHUNK = 4


def run_benchmark(
    cases: Sequence[SuiteCase],
    assignors: Sequence[Reviewed],
    metrics: Sequence[str],
    *,
    workers: int | None = None,
    on_progress: Callable[[str], None] = lambda text: None,
) -> list[list[MeasuredRun]]:
    """Run every assignor in every case.

    `cases`: the cases; scenarios only. `metrics`: keys of the metrics to keep. `workers`: number of processes; by
    default one for each CPU. The results do not depend on it. Returns, for each assignor, the runs in the order of the
    cases.
    """
    chunks = [(number, start) for number in range(len(assignors)) for start in range(0, len(cases), _CHUNK)]
    results: dict[tuple[int, int], list[MeasuredRun]] = {}
    with process_pool(workers) as pool:

        def run_chunk(chunk: tuple[int, int]) -> list[MeasuredRun]:
            number, start = chunk
            answer: list[MeasuredRun] = pool.call(
                measure_runs, list(cases[start : start + _CHUNK]), assignors[number], list(metrics)
            )
            return answer

        for done, (position, runs) in enumerate(pool.map(run_chunk, chunks), start=1):
            results[chunks[position]] = runs
            on_progress(f"{done:,} of {len(chunks):,} chunks of cases")
    return [
        [run for start in range(0, len(cases), _CHUNK) for run in results[number, start]]
        for number in range(len(assignors))
    ]


FOLDER = Path(__file__).parents[1] / "docs" / "benchmark" / "v1"
PAGE = FOLDER.parent / "leaderboard.md"
INSTANCES, ANSWERS = FOLDER / "instances.jsonl.gz", FOLDER / "answers.jsonl.gz"
MANIFEST, SOLUTIONS, RUNS = FOLDER / "instances.csv", FOLDER / "solutions.csv", FOLDER / "runs.csv"
VERSIONS = FOLDER / "versions.json"
BEGIN, END = "<!-- {name}: made by `make leaderboard`. -->", "<!-- end of {name} -->"

KEYS = ("entry", "family", "case", "seed", "verdict")
METRICS = (
    *("cross_rack_source_partitions", "cross_rack_bytes", "active_moves", "standby_moves", "restored_bytes"),
    *("downtime_ms", "worst_downtime_ms", "time_to_converge_ms", "load_skew", "subtopology_skew"),
    *("tasks_without_rack_redundancy", "worst_rack_loss"),
)
RANKED = (
    *("cross_rack_bytes", "restored_bytes", "downtime_ms", "time_to_converge_ms", "load_skew"),
    "tasks_without_rack_redundancy",
)
"""Metrics of the ranks: one for each goal of an assignor."""

BASELINE = "high_availability"
"""The entry with which the others are compared: the default of Kafka's clients."""

CLOSE = 0.1
"""Difference of scores below which the page names no winner."""

APPLICATIONS = ("uniform", "skewed", "threads", "standbys", "tags", "racks", "cold", "placements")
"""Families whose scenarios differ in the application; the others differ in the events."""


def measure(
    cases: Sequence[SuiteCase],
    entries: Sequence[Entry] = ENTRIES,
    workers: int | None = None,
    on_progress: Callable[[str], None] = lambda text: None,
) -> list[Row]:
    """Run all entries in all cases, and return the rows by entry; an unknown metric is empty."""
    cases = [_with_clients(case) for case in cases]
    reviewed = [entry.reviewed() for entry in entries]
    results = run_benchmark(cases, reviewed, METRICS, workers=workers, on_progress=on_progress)
    return [
        {
            "entry": entry.name,
            "family": case.family,
            "case": case.name,
            "seed": str(case.seed),
            "verdict": str(run["verdict"]),
            # Ten digits: sums of floating-point numbers differ in the last ones between processors.
            **{metric: f"{run[metric]:.10g}" if metric in run else "" for metric in METRICS},
        }
        for entry, runs in zip(entries, results, strict=True)
        for case, run in zip(cases, runs, strict=True)
    ]


def _with_clients(case: SuiteCase) -> SuiteCase:
    """Return a case with the release of clients of this version, if it states none."""
    if case.document is None or "application" not in case.document:
        return case
    application = {"kafka": CLIENT_RELEASE, **case.document["application"]}
    return replace(case, document={**case.document, "application": application})


def csv_text(rows: Iterable[Row], fields: Sequence[str] = (*KEYS, *METRICS)) -> str:
    """Return rows as CSV with a header."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, fields, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a CSV file."""
    with path.open(encoding="utf-8", newline="") as source:
        return list(csv.DictReader(source))


class Leaderboard:
    """The tables of the page, from the stored results."""

    def __init__(self) -> None:
        self.runs, self.instances, self.solutions = map(read_rows, (RUNS, MANIFEST, SOLUTIONS))
        rows = [
            BenchmarkRun(
                row["entry"],
                row["family"],
                row["case"],
                row["verdict"] != SKIPPED,
                {metric: float(row[metric]) for metric in METRICS if row[metric]},
            )
            for row in self.runs
        ]
        self.table = BenchmarkTable.of(rows, RANKED)
        self.ranks = rank_assignors(self.table)
        self.families = list(dict.fromkeys(family for family, _ in self.table.cases))

    def tables(self) -> dict[str, str]:
        """Return the generated parts of the page, by name."""
        return {
            "conclusion": self._conclusion(),
            "overall": self._overall(),
            "applications": self._by_family([name for name in self.families if name in APPLICATIONS]),
            "events": self._by_family([name for name in self.families if name not in APPLICATIONS]),
            "comparison": self._comparison(),
            "final assignments": self._final_assignments(),
            "entries": self._entries(),
            "scenarios": self._scenarios(),
            "metrics": self._metrics(),
            "sizes": self._sizes(),
            "large instances": self._large_instances(),
        }

    def _conclusion(self) -> str:
        leaders = [f"`{rank.assignor}`" for rank in self.ranks if rank.score < self.ranks[0].score + CLOSE]
        have = "has the best mean rank" if len(leaders) == 1 else "have the best mean ranks"
        close = "" if len(leaders) == 1 else f", which differ by less than {CLOSE:g}"
        place = next(number for number, rank in enumerate(self.ranks, start=1) if rank.assignor == BASELINE)
        first = {key: min((rank.by_metric[key], rank.assignor) for rank in self.ranks)[1] for key in RANKED}
        best = "; ".join(f"{COMPARABLE_METRICS[key].title}, `{assignor}`" for key, assignor in first.items())
        unknown = sum(not row["time_to_converge_ms"] for row in self.runs)
        left_out = self.table.left_out
        versions = json.loads(VERSIONS.read_text(encoding="utf-8"))
        return (
            f"{enumeration(leaders)} {have} ({self.ranks[0].score:.2f}){close}. The default, `{BASELINE}`, is in place "
            f"{place} of {len(ENTRIES)}. Best mean rank by metric: {best}.\n\n"
            f"{NAME}: {len(self.table.cases)} scenarios, {len(ENTRIES)} entries, {len(self.runs):,} runs. "
            + (f"{left_out} scenarios are invalid for some entry and left out. " if left_out else "")
            + f"{unknown} runs have no time to converge, because their group never became stable after an event; they "
            f"rank last there. Computed with {', '.join(f'{name} {number}' for name, number in versions.items())}."
        )

    def _overall(self) -> str:
        unstable = {
            entry.name: sum(
                row["entry"] == entry.name and row["verdict"] not in ("stable", SKIPPED) for row in self.runs
            )
            for entry in ENTRIES
        }
        rows = [
            (
                str(place),
                rank.assignor,
                f"**{rank.score:.2f}**",
                *(f"{rank.by_metric[key]:.1f}" for key in RANKED),
                str(unstable[rank.assignor] or ""),
            )
            for place, rank in enumerate(self.ranks, start=1)
        ]
        return table(("#", "entry", "score", *_titles(), "not stable"), rows, right=(0, *range(2, 4 + len(RANKED))))

    def _by_family(self, families: Sequence[str]) -> str:
        rows = [(rank.assignor, *(f"{rank.by_family[name]:.1f}" for name in families)) for rank in self.ranks]
        return table(("entry", *families), rows, right=range(1, 1 + len(families)))

    def _comparison(self) -> str:
        found = {(one.assignor, one.metric): one for one in compare_with_baseline(self.table, BASELINE)}

        def cell(assignor: str, metric: str) -> str:
            one = found[assignor, metric]
            text = f"{one.wins}–{one.losses}–{one.ties}"
            return f"**{text}**" if one.verdict else text

        names = [rank.assignor for rank in self.ranks if rank.assignor != BASELINE]
        rows = [(name, *(cell(name, metric) for metric in RANKED)) for name in names]
        return table(("entry", *_titles()), rows, right=range(1, 1 + len(RANKED)))

    def _final_assignments(self) -> str:
        rows = [row for entry in ENTRIES for row in self._final_row(entry.name)]
        headers = ("entry", "settled", "balanced", "optimal", "median gap", "cross-rack source partitions")
        return table((*headers, "restored copies"), rows, right=range(1, 7))

    def _final_row(self, entry: str) -> list[tuple[str, ...]]:
        """Return the row of an entry; none if it needs what instances do not have."""
        rows = [row for row in self.solutions if row["entry"] == entry]
        if any(row["outcome"] == "needs rates" for row in rows):
            return []
        settled = [row for row in rows if row["outcome"] == "settled"]
        balanced = [row for row in settled if row["balanced"] == "1"]
        proven = [(int(row["cost"]), int(best)) for row in balanced if (best := self._optima.get(row["instance"]))]
        optimal = sum(cost == best for cost, best in proven)
        gaps = [100 * (cost - best) / best for cost, best in proven if best]
        return [
            (
                entry,
                str(len(settled)),
                str(len(balanced)),
                f"{optimal} of {len(proven)} ({100 * optimal / len(proven):.0f} %)" if proven else "–",
                f"{median(gaps):.0f} %" if gaps else "–",
                f"{sum(int(row['cross_rack_source_partitions'] or 0) for row in settled):,}",
                f"{sum(int(row['moved_copies']) for row in settled):,}",
            )
        ]

    @cached_property
    def _optima(self) -> dict[str, str]:
        return {row["id"]: row["best"] for row in self.instances if row["status"] == "optimal"}

    def _entries(self) -> str:
        rows = [
            (
                f"`{entry.name}`",
                f"`{entry.assignor}`",
                ", ".join(f"`{key}={value}`" for key, value in entry.configs.items()),
                ", ".join(entry.java) or "not Kafka's",
            )
            for entry in ENTRIES
        ]
        return table(("entry", "assignor", "configs", "classes of Kafka that give the same answers"), rows)

    def _scenarios(self) -> str:
        cases = [case.family for case in benchmark_cases()]
        rows = [(f"`{name}`", str(cases.count(name)), FAMILY_DESCRIPTIONS[name]) for name in dict.fromkeys(cases)]
        return table(("family", "scenarios", "what they have in common"), rows, right=(1,))

    def _metrics(self) -> str:
        rows = [(f"`{key}`", COMPARABLE_METRICS[key].title, COMPARABLE_METRICS[key].meaning) for key in RANKED]
        return table(("key", "title", "meaning"), rows)

    def _sizes(self) -> str:
        stored = [row for row in self.instances if row["stored"] == "1"]
        rows = []
        for family in dict.fromkeys(row["id"].partition("/")[0] for row in stored):
            own = [row for row in stored if row["id"].startswith(f"{family}/")]
            spans = (_span(row[key] for row in own) for key in ("tasks", "clients", "threads", "racks", "standbys"))
            rows.append((f"`{family}`", str(len(own)), *spans, str(sum(row["status"] == "optimal" for row in own))))
        headers = ("family", "instances", "tasks", "clients", "threads", "racks", "standbys", "optimum proven")
        return table(headers, rows, right=range(1, 8))

    def _large_instances(self) -> str:
        rows = [
            (
                f"`{row['id']}`",
                *(f"{int(row[key]):,}" for key in ("tasks", "clients", "threads", "best")),
                f"`{row['sha256'][:16]}…`",
            )
            for row in self.instances
            if row["stored"] != "1"
        ]
        return table(("instance", "tasks", "clients", "threads", "optimum", "SHA-256"), rows, right=range(1, 5))


def _titles() -> list[str]:
    return [COMPARABLE_METRICS[key].title for key in RANKED]


def _span(texts: Iterable[str]) -> str:
    numbers = [int(text) for text in texts]
    return str(min(numbers)) if min(numbers) == max(numbers) else f"{min(numbers)}–{max(numbers)}"


def enumeration(words: Sequence[str]) -> str:
    """Return words as `a, b and c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def table(headers: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> str:
    """Return a table in Markdown; columns in `right` are aligned to the right."""
    numbers = set(right)
    ruler = ("---:" if column in numbers else "---" for column in range(len(headers)))
    return "\n".join(
        [f"| {' | '.join(headers)} |", f"|{'|'.join(ruler)}|", *(f"| {' | '.join(row)} |" for row in rows)]
    )


def page(text: str, tables: Mapping[str, str]) -> str:
    """Return the page with its generated parts replaced; raise ValueError if the page has other parts."""
    for name, content in tables.items():
        begin, end = BEGIN.format(name=name), END.format(name=name)
        if text.count(begin) != 1 or text.count(end) != 1:
            raise ValueError(f"{PAGE}: expected '{begin}' and '{end}' once, around the table '{name}'")
        text = f"{text.partition(begin)[0]}{begin}\n\n{content}\n\n{end}{text.partition(end)[2]}"
    return text


def main() -> None:
    """Run one of the commands."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("instances", "references", "runs", "page", "all"))
    parser.add_argument("-o", "--output", type=Path, help="folder of the instances")
    parser.add_argument("--workers", type=int, help="number of processes; by default one for each CPU")
    arguments = parser.parse_args()
    if arguments.command == "instances":
        if arguments.output is None:
            parser.error("instances: requires -o DIR")
        write_instances(arguments.output)
    if arguments.command in ("references", "all"):
        write_references()
    if arguments.command in ("runs", "all"):
        rows = measure(benchmark_cases(), workers=arguments.workers, on_progress=_progress)
        RUNS.write_text(csv_text(rows), encoding="utf-8")
        packages = {name: version(name) for name in ("assignor-sim", "numpy", "ortools", "scipy")}
        versions = {"python": ".".join(platform.python_version_tuple()[:2]), **packages}
        VERSIONS.write_text(json.dumps(versions, indent=2) + "\n", encoding="utf-8")
    if arguments.command in ("page", "all"):
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), Leaderboard().tables()), encoding="utf-8")


def write_instances(folder: Path) -> None:
    """Write every instance as a file of its own, which has the digest of the manifest."""
    for problem in (*instances.stored_instances(), *instances.generated_instances()):
        path = folder / f"{problem['id']}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(instances.json_line(problem).rstrip(b"\n"))
        _progress(str(path))


def write_references() -> None:
    """Write the stored instances, their optima, the answers of Kafka, and the final assignments of all entries."""
    problems = list(instances.stored_instances())
    optima = {problem["id"]: instances.find_optimum(parse_problem(problem)) for problem in problems}
    answers = list(instances.reference_answers(problems, on_progress=_progress))
    expected = {line["id"]: line["answer"] for line in answers if line["entry"] == instances.ASSIGNOR}
    lines = ({"problem": problem, "expected": expected[problem["id"]]} for problem in problems)
    instances.write_lines(INSTANCES, lines)
    instances.write_lines(ANSWERS, answers)
    solved = instances.solutions(problems, optima, _progress)
    SOLUTIONS.write_text(csv_text(solved, instances.SOLUTION_FIELDS), encoding="utf-8")
    manifest = [instances.manifest_row(one, optima[one["id"]], stored=True) for one in problems]
    for problem in instances.generated_instances():
        _progress(problem["id"])
        manifest.append(instances.manifest_row(problem, instances.find_optimum(parse_problem(problem)), stored=False))
    MANIFEST.write_text(csv_text(manifest, instances.MANIFEST_FIELDS), encoding="utf-8")


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
