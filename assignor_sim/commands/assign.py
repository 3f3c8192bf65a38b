"""`assignor-sim assign`: solve single assignment problems, as JSON lines."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from assignor_sim.console import options
from assignor_sim.console.messages import DIFFERENT, RUN_FAILED, exit_on_error, exit_with_error, print_error

if TYPE_CHECKING:
    from typing import TextIO

    from assignors.containment.limits import CallLimits
    from assignors.java.hash_order import CollectionOrder
    from reports.document import Report
    from scenarios.problems import Problem

_SHOWN_DIFFERENCES = 10
_MAX_CHARS = 400


def assign(
    problems: Annotated[Path, typer.Argument(help="Problems, one per line; plain or .gz, - for standard input.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Output file; standard output by default.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Compare with the expected assignments; exit with 1 on any difference.")
    ] = False,
    assignor: Annotated[
        str | None,
        typer.Option(
            help="Assignor in place of the problem's: a name, package.module:Class, or java:….",
            autocompletion=options.complete_assignor,
        ),
    ] = None,
    order: Annotated[
        Literal["production", "sorted"],
        typer.Option(help="Iteration order of Java's hash collections, on which sticky assignors depend."),
    ] = "production",
    assignor_timeout: options.AssignorTimeout = None,
    isolate: options.Isolate = False,
    assignor_memory: options.AssignorMemory = None,
    format_: Annotated[
        options.OutputFormat | None,
        typer.Option("--format", help="With --check: format of the counts (default: table)."),
    ] = None,
) -> None:
    """Solve assignment problems, in order, in the schema in which Kafka's assignments are recorded.

    Example: [bold]assignor-sim assign --check problems.jsonl.gz[/bold]
    """
    if format_ is not None and not check:
        exit_with_error("--format: requires --check; assignments are JSON lines")
    limits = options.call_limits(assignor_timeout, isolate, assignor_memory)
    from assignor_sim.text_files import STANDARD, open_to_write
    from assignors.java.hash_order import CollectionOrder

    collections = CollectionOrder(order)
    counts, failures = AgreementCounts(collections), FailureCounts()
    with exit_on_error(OSError, EOFError, UnicodeDecodeError):
        solutions = _solutions(problems, assignor, collections, limits)
        if check and output is None:
            for problem, solution in solutions:
                counts.count(problem, solution)
                failures.count(solution)
        else:
            with open_to_write(output or STANDARD) as stream:
                for problem, solution in solutions:
                    stream.write(json.dumps(solution) + "\n")
                    counts.count(problem, solution)
                    failures.count(solution)
    if failures.failed:
        print_error(str(failures))
    if check:
        counts.print(sys.stderr if output == STANDARD else sys.stdout, format_ or options.OutputFormat.TABLE)
        if counts.different or not counts.compared:
            raise typer.Exit(DIFFERENT)
    if failures.failed:
        raise typer.Exit(RUN_FAILED)


def _solutions(
    problems: Path, assignor: str | None, order: CollectionOrder, limits: CallLimits
) -> Iterator[tuple[Problem, dict[str, Any]]]:
    from assignor_sim.text_files import open_to_read
    from assignors import registry
    from scenarios.problems import read_problems, solve_problem

    info = registry.load(assignor) if assignor else None
    name = "standard input" if str(problems) == "-" else str(problems)
    with open_to_read(problems) as source:
        for problem in read_problems(source, name):
            yield problem, solve_problem(problem, name, info, order, limits)


class FailureCounts:
    """Number of problems on which a custom assignor failed; the exceptions of Kafka's assignors are answers."""

    def __init__(self) -> None:
        self.solved = 0
        self.failed = 0
        self._first = ""

    def count(self, solution: dict[str, Any]) -> None:
        """Count one answer."""
        self.solved += 1
        error = solution["error"]
        if error is not None and not error.startswith(("java.", "org.apache.")):
            self.failed += 1
            self._first = self._first or f"{solution['id']}: {error}"

    def __str__(self) -> str:
        return f"{self.failed} of {self.solved} problems: the assignor failed; {self._first}"


class AgreementCounts:
    """Number of assignments equal to the expected ones, by assignor and rack-aware strategy."""

    def __init__(self, order: CollectionOrder) -> None:
        self._order = order
        self.compared: Counter[tuple[str, str]] = Counter()
        self.agreed: Counter[tuple[str, str]] = Counter()
        self.different: list[str] = []

    def count(self, problem: Problem, solution: dict[str, Any]) -> None:
        """Compare one assignment; skip a problem without an expected one."""
        from scenarios.problems import answer_differences

        expected = problem.expected_answer(self._order)
        if expected is None:
            return
        self.compared[problem.kind] += 1
        differences = answer_differences(expected, solution)
        if differences:
            self.different.append(f"{problem.id}: {'; '.join(differences)}")
        else:
            self.agreed[problem.kind] += 1

    def print(self, stream: TextIO, format_: options.OutputFormat) -> None:
        """Print one row per assignor and strategy, and the differences; the first ones only, except as JSON."""
        record = {"counts": self._rows(), "differences": self.different}
        options.print_report(format_, self._report(), lambda: record, stream)

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "assignor": assignor,
                "strategy": strategy,
                "compared": compared,
                "identical": self.agreed[assignor, strategy],
                "different": compared - self.agreed[assignor, strategy],
            }
            for (assignor, strategy), compared in sorted(self.compared.items())
        ]

    def _report(self) -> Report:
        from reports.document import Block, Paragraph, Points, Report, ReportColumn, ReportSection, ReportTable

        names, counts = ("assignor", "strategy"), ("compared", "identical", "different")
        columns = [
            *(ReportColumn(key, key) for key in names),
            *(ReportColumn(key, key, is_number=True) for key in counts),
        ]
        total, agreed = self.compared.total(), self.agreed.total()
        rows = [list(map(str, row.values())) for row in self._rows()]
        table = ReportTable("counts", columns, rows, ["all", "", *map(str, (total, agreed, total - agreed))])
        nothing = "" if rows else "nothing to compare: no problem has an expected assignment"
        differences = [line[:_MAX_CHARS] for line in self.different[:_SHOWN_DIFFERENCES]]
        if len(self.different) > _SHOWN_DIFFERENCES:
            differences.append(f"… and {len(self.different) - _SHOWN_DIFFERENCES} more")
        blocks: list[Block] = [Paragraph(nothing), table, Points(differences)]
        return Report("Comparison with the expected assignments", [ReportSection("counts", "", blocks, leads=True)])
