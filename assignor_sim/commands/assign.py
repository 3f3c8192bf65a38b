"""`assignor-sim assign`: one snapshot in, one assignment out, as JSON lines."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from assignor_sim.console.exits import DIFFERENT, exit_on_error

if TYPE_CHECKING:
    from assignors.java.hash_order import CollectionOrder
    from scenarios.problems import Problem

_SHOWN_DIFFERENCES = 10


def assign(
    problems: Annotated[Path, typer.Argument(help="Problems, one a line; .gz is read too, - is standard input.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Where the answers go; standard output if not given.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Compare with the expected answers; exit 1 on any difference.")
    ] = False,
    assignor: Annotated[
        str | None, typer.Option(help="Answer with this assignor: a name, or package.module:Class.")
    ] = None,
    order: Annotated[
        Literal["production", "sorted"],
        typer.Option(help="Java's hash collections as in production, or sorted ones; sticky answers hang on it."),
    ] = "production",
) -> None:
    """Answer assignment problems, in order, in the schema in which Kafka's answers are recorded.

    Example: [bold]assignor-sim assign --check problems.jsonl.gz[/bold]
    """
    from assignor_sim.text_files import STANDARD, open_to_read, open_to_write
    from assignors.errors import AssignorError
    from assignors.java.hash_order import CollectionOrder
    from scenarios.problems import ProblemError

    collections = CollectionOrder(order)
    tally = AgreementCounts(collections)
    with exit_on_error(ProblemError, AssignorError, OSError, EOFError, UnicodeDecodeError):
        answers = _answers(problems, assignor, collections, open_to_read)
        if check and output is None:
            for problem, answered in answers:
                tally.count(problem, answered)
        else:
            with open_to_write(output or STANDARD) as target:
                for problem, answered in answers:
                    target.write(json.dumps(answered) + "\n")
                    tally.count(problem, answered)
    if check:
        tally.print(sys.stdout if output not in (None, STANDARD) or output is None else sys.stderr)
        if tally.differ or not tally.compared:
            raise typer.Exit(DIFFERENT)


def _answers(
    problems: Path, assignor: str | None, order: CollectionOrder, open_to_read: Any
) -> Iterator[tuple[Problem, dict[str, Any]]]:
    from assignors import registry
    from scenarios.problems import read_problems, solve_problem

    info = registry.load(assignor) if assignor else None
    name = "standard input" if str(problems) == "-" else str(problems)
    with open_to_read(problems) as source:
        for problem in read_problems(source, name):
            yield problem, solve_problem(problem, name, info, order)


class AgreementCounts:
    """How many answers agreed with the expected ones, by assignor and rack-aware strategy."""

    def __init__(self, order: CollectionOrder) -> None:
        self._order = order
        self.compared: Counter[tuple[str, str]] = Counter()
        self.agreed: Counter[tuple[str, str]] = Counter()
        self.differ: list[str] = []

    def count(self, problem: Problem, answered: dict[str, Any]) -> None:
        """Compare one answer; a problem without an expected answer does not count."""
        from scenarios.problems import answer_differences

        expected = problem.expected_answer(self._order)
        if expected is None:
            return
        self.compared[problem.kind] += 1
        found = answer_differences(expected, answered)
        if found:
            self.differ.append(f"{problem.id}: {'; '.join(found)}")
        else:
            self.agreed[problem.kind] += 1

    def print(self, stream: Any) -> None:
        """Print a row for each assignor and strategy, and the first differences."""
        from rich import box
        from rich.console import Console
        from rich.table import Table

        console = Console(file=stream)
        if not self.compared:
            console.print("nothing to compare: no line has an expected answer")
            return
        table = Table("assignor", "strategy", box=box.SIMPLE_HEAD)
        for header in ("compared", "identical", "different"):
            table.add_column(header, justify="right")
        for kind in sorted(self.compared):
            compared, agreed = self.compared[kind], self.agreed[kind]
            table.add_row(*kind, str(compared), str(agreed), str(compared - agreed))
        total, agreed = self.compared.total(), self.agreed.total()
        table.add_section()
        table.add_row("all", "", str(total), str(agreed), str(total - agreed))
        console.print(table)
        for line in self.differ[:_SHOWN_DIFFERENCES]:
            console.print(line[:400], markup=False, highlight=False)
        if len(self.differ) > _SHOWN_DIFFERENCES:
            console.print(f"… and {len(self.differ) - _SHOWN_DIFFERENCES} more")
