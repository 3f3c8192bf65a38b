"""`sim.recommend`: search for the Kafka configs that minimize an objective."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from assignor_sim.api.sweeps import spark_session
from pipeline.advise.objective import RecommendError, check_price, parse_limits, parse_objective
from pipeline.advise.recommender import CandidateRuns, MetricEvaluator, RecommendationRequest, keep_sweeps, run_chunks
from pipeline.advise.recommender import recommend as search
from pipeline.advise.space import search_space, with_current_assignor
from pipeline.pool import run_pool
from pipeline.sweep.run import Progress
from reports.analysis.recommendation import Recommendation
from scenarios.load import Scenario, load
from scenarios.shipped import find_scenario

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def recommend(
    scenario: Scenario | str | os.PathLike[str],
    objective: str,
    *,
    max_moves: float | None = None,
    max_downtime: str | None = None,
    max_convergence: str | None = None,
    max_unprotected_tasks: int | None = None,
    today: str | None = None,
    assignors: Sequence[str] = (),
    keep: Sequence[str] = (),
    runs: int = 400,
    seeds: int = 20,
    sweeps: str | None = None,
    spark: SparkSession | None = None,
    command: str = "",
    on_progress: Callable[[Progress], None] | None = None,
    on_step: Callable[[str], None] | None = None,
) -> Recommendation:
    """Search for the Kafka configs that minimize an objective; `assignor-sim recommend` in Python.

    Args:
        scenario: a scenario loaded from a file, a file, or the name of a shipped scenario.
        objective: what to minimize: arithmetic over `usd`, `cross_rack` (GB), `moves`, `restored` (GB), `downtime` and
            `worst_downtime` (s), `convergence` (min), and the keys of metrics.
        max_moves: maximum number of active task moves of a run.
        max_downtime: maximum downtime of all tasks of a run, as in `20s`.
        max_convergence: maximum time to converge after any event, as in `30m`.
        max_unprotected_tasks: maximum number of stateful tasks that lose all copies with one rack or one client.
        today: label of the current assignor; by default the first of the scenario.
        assignors: built-in assignors to consider beside the current one.
        keep: config keys to leave unchanged; `assignor` keeps the assignor.
        runs: approximate number of simulated runs.
        seeds: number of fresh seeds with which the recommendation is evaluated.
        sweeps: folder or URI to keep the underlying sweeps in, which run on Spark; not kept by default.
        spark: Spark session whose workers simulate; by default processes of this machine. With `sweeps`, the active
            session by default, else Spark embedded in this process on all cores.
        command: the command line, for the manifests.
        on_progress: called with the number of completed runs from time to time.
        on_step: called with a description of each step of the search.

    Returns:
        The recommended changes, their gain, and the verdict.

    Raises:
        ScenarioError: the scenario is invalid.
        AssignorError: an assignor is unknown.
        RecommendError: the objective or a limit is invalid, or the scenario was not loaded from a file.
        SparkError: Spark does not start, or fails.
    """
    file, loaded = _with_file(scenario)
    loaded.require_application("recommend")
    loaded, current = with_current_assignor(loaded, today)
    parsed = parse_objective(objective)
    limits = parse_limits(max_moves, max_downtime, max_convergence, max_unprotected_tasks)
    check_price(loaded, parsed)
    request = RecommendationRequest(file, loaded, current, search_space(loaded, current, assignors, keep), runs, seeds)
    progress = on_progress or (lambda _: None)
    with ExitStack() as stack:
        if sweeps is not None:
            run_job = keep_sweeps(stack.enter_context(spark_session(spark)), sweeps, progress)
        else:
            run_job = run_chunks(stack.enter_context(run_pool(None, spark)), progress)
        candidate_runs = CandidateRuns(request, run_job, command)
        return search(
            request, MetricEvaluator(request.space, parsed, limits, candidate_runs), on_step or (lambda _: None)
        )


def _with_file(scenario: Scenario | str | os.PathLike[str]) -> tuple[Path, Scenario]:
    """Return the file of a scenario, which the sweeps refer to, and the scenario.

    Raises:
        RecommendError: the scenario has no file.
    """
    if not isinstance(scenario, Scenario):
        file = find_scenario(Path(scenario))
        return file, load(file)
    if scenario.path is None:
        raise RecommendError(f"{scenario.name}: recommend needs a scenario from a file; write its text to one")
    return scenario.path, scenario
