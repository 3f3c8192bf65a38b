"""A run of a directory of results, made again to ask more of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from assignor_sim.api.results import run_scenario
from assignor_sim.api.stored_scenario import StoredScenarioError, read_stored_scenario
from assignors.errors import AssignorError
from assignors.model.ids import TaskId
from simulator.assignment.explanation import ExplanationRequest

Tables = Mapping[str, pa.Table]


def rerun(
    directory: Path, tables: Tables, manifest: Mapping[str, Any], assignor: str, seed: int, task: str
) -> dict[str, pa.Table]:
    """The tables of one run again, with what cost would have kept a task at each of its moves.

    Args:
        directory: of the results.
        tables: what it holds.
        manifest: what it says.
        assignor: label.
        seed: of the run.
        task: task id.

    Raises:
        KeptError: the run cannot be made again, or does not come to the same assignments.
    """
    scenario = read_stored_scenario(directory, manifest)
    question = ExplanationRequest(tasks=frozenset([TaskId.parse(task)]))
    try:
        again = run_scenario(scenario, [assignor], [seed], question=question).tables
    except AssignorError as error:
        raise StoredScenarioError(str(error)) from None
    before = tables["assignments"]
    before = before.filter(pc.and_(pc.equal(before["assignor"], assignor), pc.equal(before["seed"], seed)))
    if not before.equals(again["assignments"]):
        raise StoredScenarioError(
            f"{directory}: running {assignor} again gives other assignments than these results have"
        )
    return again
