"""`sim.record` and `sim.verify`: store the results of scenarios, and check that they are reproduced."""

from __future__ import annotations

import hashlib
import math
import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Final

from assignor_sim.api.running import estimate, run
from assignor_sim.text_files import write_text
from assignors.containment.limits import CallLimits
from assignors.errors import AssignorError
from assignors.registry import AssignorLike
from reports.analysis.expectations import ExpectationResult, summarize
from reports.analysis.stored.invariant_case import (
    InvariantCase,
    InvariantCheck,
    invariant_case_path,
    read_invariant_case,
)
from reports.analysis.stored.results import (
    ResultOrigin,
    StoredResults,
    StoredResultsError,
    collect_results,
    read_stored,
    write_stored,
)
from reports.analysis.stored.verification import (
    Tolerance,
    Verification,
    VerificationStatus,
    compare_origins,
    compare_results,
    parse_tolerances,
)
from reports.analysis.text import printable
from scenarios.load import Scenario, ScenarioError, load
from scenarios.run_estimate import RunEstimate
from scenarios.shipped import find_scenario
from simulator.model_version import MODEL_VERSION
from simulator.plurals import counted
from simulator.results.files import read_document, remove_leftovers
from simulator.results.verdict import Verdict

SUFFIX: Final = ".expected.json"
_PACKAGES: Final = ("assignor-sim", "numba", "numpy", "ortools", "simpy")


def stored_results_path(file: Path) -> Path:
    """Return the file with the stored results of a scenario: NAME.expected.json beside NAME.yaml."""
    return file.with_suffix(SUFFIX)


def scenario_files(arguments: Iterable[str | os.PathLike[str]]) -> list[Path]:
    """Return scenario files, each once.

    Args:
        arguments: files, names of shipped scenarios, and directories; a directory is replaced by its `*.yaml`, sorted.

    Returns:
        The files, in the order of the arguments.

    Raises:
        StoredResultsError: a directory has no scenario file.
    """
    return list(dict.fromkeys(file for argument in arguments for file in _files(Path(argument))))


def record(
    scenario: str | os.PathLike[str],
    assignors: Sequence[AssignorLike] = (),
    *,
    on_progress: Callable[[str], None] | None = None,
    on_estimate: Callable[[RunEstimate], None] | None = None,
) -> str:
    """Simulate a scenario and store its results beside it, as NAME.expected.json.

    If the results are the same, the file is not rewritten, so that a new release of a dependency does not change it.

    Args:
        scenario: a scenario file, or the name of a shipped scenario.
        assignors: assignors as in `run`; by default those that the scenario lists.
        on_progress: called with a description of each run before it starts.
        on_estimate: called with the estimated time and memory of the runs before they start.

    Returns:
        The outcome as text: `stored`, `unchanged`, or the number of differences; and how many expectations of the
        scenario are not met, which does not prevent storing.

    Raises:
        ScenarioError: the scenario is invalid.
        AssignorError: an assignor is unknown, or rejects its parameters.
        OSError: the results cannot be written.
    """
    file = find_scenario(Path(scenario))
    target = stored_results_path(file)
    results, expectations = _results(load(file), assignors, on_progress, on_estimate)
    before = _read_if_possible(target)
    if (
        before is not None
        and not compare_results(before, results)
        and not _has_other_inputs(before.origin, results.origin)
        and _metrics(before) == _metrics(results)
    ):
        remove_leftovers(target)
        return "; ".join(("unchanged", *_unmet(expectations)))
    write_text(target, write_stored(results))
    outcome = "stored" if before is None else _differences(before, results)
    return "; ".join((outcome, *_failed_runs(results), *_unmet(expectations)))


def verify(
    scenarios: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    assignors: Sequence[AssignorLike] = (),
    *,
    tolerances: Iterable[str] = (),
    metrics_only: bool = False,
    on_progress: Callable[[str], None] | None = None,
) -> list[Verification]:
    """Check expectations and stored results of scenarios; `assignor-sim verify` in Python.

    Args:
        scenarios: one or several scenario files, names of shipped scenarios, or directories of them.
        assignors: assignors as in `run`; by default those that each scenario lists.
        tolerances: how far a metric may differ, as in `time_to_converge_ms=5%` or `active_moves=3`.
        metrics_only: whether to compare metrics only, and not the decisions of single rebalances.
        on_progress: called with a description of each run before it starts.

    Returns:
        One verification per scenario; that of an invalid scenario has status `unreadable`.

    Raises:
        StoredResultsError: a directory has no scenario file.
        ToleranceError: a tolerance is invalid.

    Examples:
        >>> import assignor_sim as sim
        >>> [str(verification.status) for verification in sim.verify("cold_start")]
        ['same']
    """
    arguments = [scenarios] if isinstance(scenarios, str | os.PathLike) else scenarios
    allowed = parse_tolerances(tolerances)
    return [
        verify_file(file, allowed, metrics_only=metrics_only, assignors=assignors, on_progress=on_progress)
        for file in scenario_files(arguments)
    ]


def verify_file(
    file: Path,
    allowed: Mapping[str, Tolerance],
    *,
    metrics_only: bool = False,
    assignors: Sequence[AssignorLike] = (),
    on_progress: Callable[[str], None] | None = None,
    on_estimate: Callable[[RunEstimate], None] | None = None,
) -> Verification:
    """Verify one scenario file; if it is invalid, the verification has status `unreadable`.

    Args:
        file: the scenario.
        allowed: tolerances by metric.
        metrics_only: whether to compare metrics only.
        assignors: as in `verify`.
        on_progress: as in `verify`.
        on_estimate: as in `record`.

    Returns:
        The verification.
    """
    started = time.perf_counter()
    target = stored_results_path(file)
    must_hold = invariant_case_path(file)
    is_stored = target.exists() or not (file.exists() or must_hold.exists())
    if not (is_stored or must_hold.exists() or may_state_expectations(file)):
        return Verification(str(file), VerificationStatus.NOT_STORED)
    before, now = None, None
    expectations: list[ExpectationResult] = []
    invariants: list[InvariantCheck] = []
    try:
        scenario = load(file)
        if not (is_stored or must_hold.exists() or scenario.expectations):
            return Verification(str(file), VerificationStatus.NOT_STORED)
        if must_hold.exists():
            case = read_invariant_case(read_document(must_hold), str(must_hold))
            invariants = _check_invariants(scenario, case, assignors)
        if is_stored or scenario.expectations:
            before = read_stored(read_document(target), str(target)) if is_stored else None
            now, expectations = _results(scenario, assignors, on_progress, on_estimate)
    except (ScenarioError, AssignorError, StoredResultsError, OSError, UnicodeDecodeError) as error:
        return Verification(
            str(file), VerificationStatus.UNREADABLE, error=str(error), seconds=time.perf_counter() - started
        )
    differences = (
        [] if before is None or now is None else compare_results(before, now, allowed, metrics_only=metrics_only)
    )
    if not (all(one.is_met for one in expectations) and all(check.is_met for check in invariants)):
        status = VerificationStatus.UNMET
    elif before is None:
        status = VerificationStatus.MET
    else:
        status = VerificationStatus.CHANGED if differences else VerificationStatus.SAME
    return Verification(
        str(file),
        status,
        differences,
        None if before is None or now is None else compare_origins(before.origin, now.origin),
        runs=[] if now is None else list(now.runs),
        seconds=time.perf_counter() - started,
        expectations=expectations,
        invariants=invariants,
    )


def _check_invariants(
    scenario: Scenario, case: InvariantCase, assignors: Sequence[AssignorLike] = ()
) -> list[InvariantCheck]:
    """Check the invariants of a case that fuzzing stored.

    Args:
        scenario: its scenario.
        case: what is stored of it.
        assignors: assignors as in `run`; by default the one for which it was found, if it is one of this project.

    Returns:
        One check for each assignor, seed of the scenario, and invariant.

    Raises:
        AssignorError: an assignor is unknown, or the case needs one that is not named.
    """
    from pipeline.fuzz.found_cases import is_built_in_name
    from pipeline.review.case_runs import check_scenario

    if not assignors and not is_built_in_name(case.assignor):
        name = printable(case.assignor)
        raise AssignorError(f"{scenario.name}: found for '{name}'; name it with --assignor, as files run no code")
    limits = CallLimits(case.timeout_s or math.inf, case.isolate)
    checks = []
    for assignor in (assignors or [case.assignor]) if case.invariants else ():
        spec = replace(scenario.assignor_spec(assignor), limits=limits)
        for seed in scenario.seeds:
            violations = {one.invariant: one.message for one in check_scenario(scenario, spec, seed).violations}
            checks += [InvariantCheck(key, spec.label, seed, violations.get(key)) for key in case.invariants]
    return checks


def may_state_expectations(file: Path) -> bool:
    """Return whether a file mentions expectations; an invalid scenario with expectations must not be skipped."""
    try:
        return "expect" in read_document(file)
    except (OSError, UnicodeDecodeError):
        return False


def _files(argument: Path) -> Iterator[Path]:
    if not argument.is_dir():
        yield find_scenario(argument)
        return
    files = sorted(argument.glob("*.yaml"))
    if not files:
        raise StoredResultsError(f"{argument}: this directory has no scenario files (*.yaml)")
    yield from files


def _results(
    scenario: Scenario,
    assignors: Sequence[AssignorLike],
    on_progress: Callable[[str], None] | None,
    on_estimate: Callable[[RunEstimate], None] | None,
) -> tuple[StoredResults, list[ExpectationResult]]:
    """Simulate a scenario; return what is stored of it, and its checked expectations."""

    def prefixed(text: str) -> None:
        if on_progress is not None:
            on_progress(f"{scenario.name}: {text}")

    if on_estimate is not None:
        on_estimate(estimate(scenario, list(assignors)))
    result = run(scenario, list(assignors), explain=False, keep_traces=False, ranges=False, on_progress=prefixed)
    origin = ResultOrigin(
        scenario=hashlib.sha256(scenario.text.encode()).hexdigest(),
        imports=dict(scenario.imports),
        model=MODEL_VERSION,
        versions={"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}},
    )
    return collect_results(result.tables, scenario.name, origin), result.expectations()


def _read_if_possible(target: Path) -> StoredResults | None:
    """Return the stored results; None if the file is missing or this version cannot read it."""
    try:
        return read_stored(read_document(target), str(target))
    except (OSError, StoredResultsError, UnicodeDecodeError):
        return None


def _metrics(results: StoredResults) -> set[str]:
    return {name for run in results.runs.values() for name in run.figures}


def _differences(before: StoredResults, results: StoredResults) -> str:
    differences = compare_results(before, results)
    if not differences:
        return "stored, same results"
    return f"stored, {counted(len(differences), 'difference')}; {compare_origins(before.origin, results.origin)}"


def _failed_runs(results: StoredResults) -> Iterator[str]:
    for (assignor, seed), stored_run in results.runs.items():
        if stored_run.figures["verdict"] == Verdict.FAILED:
            yield f"{assignor}, seed {seed}, failed: {stored_run.figures['cause']}"


def _unmet(expectations: Sequence[ExpectationResult]) -> Iterator[str]:
    if not all(expectation.is_met for expectation in expectations):
        yield f"expectations: {summarize(expectations)}"


def _has_other_inputs(before: ResultOrigin, now: ResultOrigin) -> bool:
    """Return whether the scenario or the model changed; versions of packages do not count."""
    since = compare_origins(before, now)
    return bool(since.scenario or since.model)
