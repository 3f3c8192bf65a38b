"""How far Kafka's recorded answers are from the proven optimum: `python -m tools.optimality_gap` puts it into the docs.

It takes a minute or two.
"""

from __future__ import annotations

import gzip
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from assignors import registry
from assignors.model.assignment import UNASSIGNED, AssignmentColumns
from assignors.model.ids import ProcessId, TaskId
from assignors.model.state import ApplicationState
from assignors.objective.cost import CostAndBound, Weights, compute_cost_and_bound
from assignors.optimum.proof import prove_bound
from scenarios.problems import Problem, parse_problem, read_problems

ROOT = Path(__file__).parent.parent
DATA = ROOT / "tests" / "parity" / "data"
PAGE = ROOT / "docs" / "explanation" / "optimum.md"
LIMIT_S = 60.0
MARK = "<!-- Measured by `python -m tools.optimality_gap`. -->"


@dataclass(frozen=True)
class Appraised:
    """What Kafka answered to a problem, and what that costs."""

    id: str
    kind: tuple[str, str]
    appraisal: CostAndBound


Judge = Callable[[ApplicationState, AssignmentColumns, Weights], CostAndBound | None]


def appraised(name: str, judge: Judge = compute_cost_and_bound, every: int = 1) -> Iterator[Appraised]:
    """Kafka's answers to each of the problems of a file, where racks are known and Kafka had an answer.

    Args:
        name: of the file.
        judge: appraises an answer.
        every: of how many problems one is looked at.
    """
    with gzip.open(DATA / f"{name}.jsonl.gz", "rt", encoding="utf-8") as source:
        for problem in islice(read_problems(source, name), None, None, every):
            if not problem.expected or not problem.expected.get("assignment"):
                continue
            state = parse_problem(problem.problem)
            found = judge(state, _columns(state, problem), _weights(state, problem))
            if found is not None:
                yield Appraised(problem.id, problem.kind, found)


def _weights(state: ApplicationState, problem: Problem) -> Weights:
    return registry.find(str(problem.problem["assignor"])).weights.configured(state.assignment_configs)


def _columns(state: ApplicationState, problem: Problem) -> AssignmentColumns:
    assert problem.expected is not None
    active = np.full(len(state.tasks), UNASSIGNED, dtype=np.int64)
    standby = np.zeros((len(state.tasks), len(state.clients)), dtype=np.bool_)
    for client, held in problem.expected["assignment"].items():
        column = state.row_of_client[ProcessId.parse(client)]
        active[[state.row_of_task[TaskId.parse(task)] for task in held["active"]]] = column
        standby[[state.row_of_task[TaskId.parse(task)] for task in held["standby"]], column] = True
    return AssignmentColumns(active, standby, None)


def table() -> str:
    """A row an assignor and strategy: how far above the optimum Kafka's answers are."""
    kinds = defaultdict(list)
    for each in appraised("public", _proven):
        kinds[each.kind].append(each.appraisal)
    rows = [
        "| assignor | strategy | problems | at the optimum | half are within | nine in ten within |",
        "|---|---|---|---|---|---|",
    ]
    for (assignor, strategy), found in sorted(kinds.items()):
        above = np.array([_percent(each) for each in found])
        half, nine = (f"{np.quantile(above, q):,.0f} %" for q in (0.5, 0.9))
        at = f"{(above == 0).mean():.0%}".replace("%", " %")
        rows.append(f"| {registry.find(assignor).name} | {strategy} | {len(found)} | {at} | {half} | {nine} |")
    return "\n".join(rows)


def _proven(state: ApplicationState, columns: AssignmentColumns, weights: Weights) -> CostAndBound | None:
    found = prove_bound(state, columns, weights, LIMIT_S)
    if found is not None and (found.proof is None or found.bound < found.proof.cheapest):
        raise AssertionError("an optimum that is not proven has no place in this table")
    return found


def _percent(each: CostAndBound) -> float:
    """How far above the optimum; what lies above an optimum of 0 counts against 1."""
    return 100.0 * (each.cost - each.bound) / max(each.bound, 1)


def refreshed(text: str) -> str:
    """The page with today's figures behind its mark."""
    head, _, rest = text.partition(MARK)
    _, _, tail = rest.partition("\n\n## ")
    return f"{head}{MARK}\n\n{table()}\n\n## {tail}"


if __name__ == "__main__":
    PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
