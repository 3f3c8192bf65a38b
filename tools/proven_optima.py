"""Effect of `run --prove` on the bounds of shipped scenarios; `python -m tools.proven_optima` writes it into the docs.

The run time is a few minutes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assignor_sim.api.running import run
from assignor_sim.commands.run import PROOF_LIMIT_S
from scenarios.load import load
from scenarios.shipped import list_applications

PAGE = Path(__file__).parent.parent / "docs" / "explanation" / "optimum.md"
MARK = "<!-- Measured by `python -m tools.proven_optima`. -->"

Row = dict[str, Any]


def proofs(scenario: Path) -> list[Row]:
    """Return the rounds of a scenario with a proof, with their costs and whether they are the deciding round."""
    tables = run(load(scenario), prove=PROOF_LIMIT_S, explain=False).tables
    key = ("assignor", "seed", "round")
    costs = {tuple(row[name] for name in key): row["total_cost"] for row in tables["rounds"].to_pylist()}
    deciding = {(row["assignor"], row["seed"], row["deciding_round"]) for row in tables["runs"].to_pylist()}
    return [
        {**row, "total_cost": costs[place], "is_deciding": place in deciding}
        for row in tables["proofs"].to_pylist()
        for place in [tuple(row[name] for name in key)]
    ]


def _all_rounds(rows_by_scenario: dict[str, list[Row]]) -> Iterator[str]:
    yield "| scenario | rounds | bound raised | optimum proven |"
    yield "|---|---|---|---|"
    for name, rows in rows_by_scenario.items():
        yield f"| {name} | {counts(rows)} |"
    yield f"| all | {counts([row for rows in rows_by_scenario.values() for row in rows])} |"


def counts(rows: list[Row]) -> str:
    raised = sum(row["total_cost_bound"] > row["relaxed_total_cost_bound"] for row in rows)
    proven = sum(row["total_cost_bound"] == row["best_known_total_cost"] for row in rows)
    return f"{len(rows):,} | {raised:,} | {proven:,}"


def _deciding_rounds(rows_by_scenario: dict[str, list[Row]]) -> Iterator[str]:
    yield "| scenario | assignor | cost | bound by flows | optimum | above the bound | above the optimum |"
    yield "|---|---|---|---|---|---|---|"
    for name, rows in rows_by_scenario.items():
        for row in rows:
            bound, relaxed, cost = row["total_cost_bound"], row["relaxed_total_cost_bound"], row["total_cost"]
            if row["is_deciding"] and bound > relaxed:
                gaps = f"{_above(cost, relaxed)} | {_above(cost, bound)}"
                yield f"| {name} | {row['assignor']} | {cost:,} | {relaxed:,} | {_optimum(row)} | {gaps} |"


def _optimum(row: Row) -> str:
    bound, best_known = row["total_cost_bound"], row["best_known_total_cost"]
    return f"{bound:,}" if bound == best_known else f"{bound:,} to {best_known:,}"


def _above(cost: int, bound: int) -> str:
    if cost == bound:
        return "nothing"
    return f"{round(100 * (cost - bound) / bound):,} %" if bound else f"by {cost:,}"


def refreshed(text: str, rows_by_scenario: dict[str, list[Row]]) -> str:
    """Return the page with these figures after its mark."""
    head, _, rest = text.partition(MARK)
    _, _, tail = rest.partition("\n\n## ")
    heading = "In the deciding rounds, which `run` and the page show, it raised these bounds:"
    tables = f"{_joined(_all_rounds(rows_by_scenario))}\n\n{heading}\n\n{_joined(_deciding_rounds(rows_by_scenario))}"
    return f"{head}{MARK}\n\n{tables}\n\n## {tail}"


def _joined(lines: Iterator[str]) -> str:
    return "\n".join(lines)


if __name__ == "__main__":
    figures = {path.stem: proofs(path) for path in list_applications()}
    PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8"), figures), encoding="utf-8")
