"""Gap between Kafka's recorded answers and the optimum; `python -m tools.optimality_gap` writes it into the docs.

The run time is a few minutes.
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
from assignors.objective import CostAndBound, Weights, compute_cost_and_bound
from assignors.optimum.proof import prove_bound
from scenarios.problems import Problem, parse_problem, read_problems

ROOT = Path(__file__).parent.parent
DATA = ROOT / "tests" / "parity" / "data"
PAGE = ROOT / "docs" / "explanation" / "optimum.md"
LIMIT_S = 60.0
MARK = "<!-- Measured by `python -m tools.optimality_gap`. -->"


@dataclass(frozen=True)
class AnswerCost:
    """The cost of Kafka's answer to a problem."""

    id: str
    kind: tuple[str, str]
    cost: CostAndBound


CostFunction = Callable[[ApplicationState, AssignmentColumns, Weights], CostAndBound | None]


def answer_costs(
    name: str, cost_function: CostFunction = compute_cost_and_bound, every: int = 1
) -> Iterator[AnswerCost]:
    """Yield the costs of Kafka's answers to the problems of a file, if racks are known and Kafka has an answer.

    `cost_function`: function that computes the cost of an answer; `every`: use only every n-th problem.
    """
    with gzip.open(DATA / f"{name}.jsonl.gz", "rt", encoding="utf-8") as source:
        for problem in read_problems(islice(source, None, None, every), name):
            if not problem.expected or not problem.expected.get("assignment"):
                continue
            state = parse_problem(problem.problem)
            cost = cost_function(state, _columns(state, problem), _weights(state, problem))
            if cost is not None:
                yield AnswerCost(problem.id, problem.kind, cost)


def _weights(state: ApplicationState, problem: Problem) -> Weights:
    return registry.find(str(problem.problem["assignor"])).weights.configured(state.assignment_configs)


def _columns(state: ApplicationState, problem: Problem) -> AssignmentColumns:
    assert problem.expected is not None
    active = np.full(len(state.tasks), UNASSIGNED, dtype=np.int64)
    standby = np.zeros((len(state.tasks), len(state.clients)), dtype=np.bool_)
    for client, tasks in problem.expected["assignment"].items():
        column = state.row_of_client[ProcessId.parse(client)]
        active[[state.row_of_task[TaskId.parse(task)] for task in tasks["active"]]] = column
        standby[[state.row_of_task[TaskId.parse(task)] for task in tasks["standby"]], column] = True
    return AssignmentColumns(active, standby, None)


def table() -> str:
    """Return a table with one row per assignor and strategy: the gap between Kafka's answers and the optimum."""
    kinds = defaultdict(list)
    for answer in answer_costs("public", _proven):
        kinds[answer.kind].append(answer.cost)
    rows = [
        "| assignor | strategy | problems | optimal | median gap | 90th percentile of the gap |",
        "|---|---|---|---|---|---|",
    ]
    for (assignor, strategy), costs in sorted(kinds.items()):
        gaps = np.array([_gap_percent(cost) for cost in costs])
        median, p90 = (f"{np.quantile(gaps, q):,.0f} %" for q in (0.5, 0.9))
        optimal = f"{(gaps == 0).mean():.0%}".replace("%", " %")
        rows.append(f"| {registry.find(assignor).name} | {strategy} | {len(costs)} | {optimal} | {median} | {p90} |")
    return "\n".join(rows)


def _proven(state: ApplicationState, columns: AssignmentColumns, weights: Weights) -> CostAndBound | None:
    cost = prove_bound(state, columns, weights, LIMIT_S)
    if cost is not None and (cost.proof is None or cost.bound < cost.proof.best_known_cost):
        raise AssertionError("optimum not proven; the table requires proofs")
    return cost


def _gap_percent(cost: CostAndBound) -> float:
    """Return the gap in percent of the optimum; relative to 1 if the optimum is 0."""
    return 100.0 * (cost.cost - cost.bound) / max(cost.bound, 1)


def refreshed(text: str) -> str:
    """Return the page with current figures after its mark."""
    head, _, rest = text.partition(MARK)
    _, _, tail = rest.partition("\n\n## ")
    return f"{head}{MARK}\n\n{table()}\n\n## {tail}"


if __name__ == "__main__":
    PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
