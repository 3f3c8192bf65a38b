"""`RunResult.explain` and `RunResult.list_moves`: why tasks moved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from assignor_sim.api.results import MoveLists, RunResult, TaskExplanations
from assignor_sim.api.stored_scenario import StoredScenarioError, read_stored_scenario
from assignors.errors import AssignorError
from assignors.model.ids import TaskId, TopicPartition
from reports.analysis.explanation import explain as explain_tables
from reports.analysis.explanation import list_moves as list_moves_of_run
from reports.analysis.runs.run_rows import select_assignors
from scenarios.load import AssignorSpec, Scenario
from scenarios.resolution.consumer_groups import subscribed_topics
from scenarios.run import run
from simulator.assignment.explanation import ExplanationRequest
from simulator.processes.run_options import RunOptions
from simulator.results.tabulation import tabulate


def list_moves(
    result: RunResult, round_: int | None = None, assignors: Sequence[str] = (), seed: int | None = None
) -> MoveLists:
    """List the moves of all tasks with their reasons, for each assignor.

    Args:
        result: the result, with recorded reasons.
        round_: number of a rebalance; by default all after the initial assignment.
        assignors: labels; by default all.
        seed: random seed of the run; by default the first of each assignor.

    Returns:
        The moves.

    Raises:
        ExplanationError: the result has no such round or seed, or its runs recorded no reasons.
        RunLookupError: the result has no assignor of that label.
    """
    labels = select_assignors(result.tables, assignors)
    return MoveLists(tuple(list_moves_of_run(result.tables, label, seed, round_) for label in labels))


def explain(
    result: RunResult,
    task: str,
    round_: int | None = None,
    assignors: Sequence[str] = (),
    seed: int | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> TaskExplanations:
    """Explain the moves of a task, for each assignor.

    Args:
        result: the result, with recorded reasons.
        task: task id, as in `0_3`.
        round_: number of a rebalance; by default all.
        assignors: labels; by default all. The code of an assignor that is not built-in is imported only if its label
            is among them.
        seed: random seed of the run; by default the first of each assignor.
        on_progress: called with a description of each step.

    Returns:
        The explanations. Where the run cannot be repeated, they lack the cost at which the task would have stayed.

    Raises:
        ExplanationError: the result has no such task, round or seed, or its runs recorded no reasons.
        RunLookupError: the result has no assignor of that label.
    """
    explanations, remarks = [], []
    for label in select_assignors(result.tables, assignors):
        explanation = explain_tables(result.tables, label, seed, task, round_)
        if explanation.lacks_break_evens:
            if on_progress is not None:
                on_progress(f"{label}: computing break-even costs")
            try:
                tables = _repeat_run(result, label, explanation.seed, task, may_import=label in assignors)
                explanation = explain_tables(tables, label, explanation.seed, task, round_)
            except StoredScenarioError as error:
                remarks.append(f"{error}; the cost at which the task would have stayed is unknown")
        explanations.append(explanation)
    return TaskExplanations(tuple(explanations), tuple(remarks))


def _repeat_run(result: RunResult, label: str, seed: int, task: str, *, may_import: bool) -> dict[str, pa.Table]:
    """Return the tables of one run, simulated again with the break-even costs of one task.

    Raises:
        StoredScenarioError: the run cannot be repeated, or gives other assignments.
    """
    if result.scenario is not None:
        scenario, spec = result.scenario, result.specs[label]
    elif result.directory is not None:
        scenario = read_stored_scenario(result.directory, result.manifest)
        spec = _stored_assignor(result, scenario, label, may_import=may_import)
    else:
        raise StoredScenarioError("this result has no scenario")
    trace = run(
        scenario,
        spec,
        seed,
        RunOptions(explain=ExplanationRequest(tasks=frozenset([_task_id(scenario, task)]))),
    )
    tables = tabulate(trace, label, seed)
    before = result.tables["assignments"]
    before = before.filter(pc.and_(pc.equal(before["assignor"], label), pc.equal(before["seed"], seed)))
    if not before.equals(tables["assignments"]):
        source = "" if result.directory is None else f"{result.directory}: "
        raise StoredScenarioError(f"{source}simulating {label} again gives other assignments than this result has")
    return tables


def _task_id(scenario: Scenario, task: str) -> TaskId:
    """Return the id of a task; that of a consumer group is named after its partition."""
    if scenario.group is None:
        return TaskId.parse(task)
    partition = TopicPartition.parse(task)
    topics = list(subscribed_topics(scenario.group))
    return TaskId(topics.index(partition.topic), partition.partition)


def _stored_assignor(result: RunResult, scenario: Scenario, label: str, *, may_import: bool) -> AssignorSpec:
    """Return the assignor with a label of the manifest.

    A manifest may have another author, so it must not name code to import; the caller may.

    Raises:
        StoredScenarioError: this installation lacks the assignor, or it is not built-in and `may_import` is false.
    """
    record = next(assignor for assignor in result.manifest["assignors"] if assignor["label"] == label)
    is_listed = any(spec.label == label for spec in scenario.assignors)
    try:
        spec = scenario.assignor_spec(label if is_listed else record["assignor"], may_import=may_import)
    except AssignorError as error:
        if may_import:
            raise StoredScenarioError(str(error)) from None
        raise StoredScenarioError(
            f"{result.directory}: simulated with {record['assignor']}, which is not built-in; name it to load its code "
            f"(--assignor {label})"
        ) from None
    parameters = spec.parameters if is_listed else record["parameters"]
    return replace(spec, label=label, parameters=parameters)
