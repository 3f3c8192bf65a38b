"""Recording what scenarios come to, and verifying that they still do: what `record`, `verify` and pytest share."""

from __future__ import annotations

import hashlib
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

from assignor_sim.api.results import run_scenario
from assignor_sim.text_files import write_text
from assignors.errors import AssignorError
from reports.analysis.stored.changes import compare_origins, compare_results
from reports.analysis.stored.results import (
    ResultOrigin,
    StoredResults,
    StoredResultsError,
    collect_results,
    read_stored,
    write_stored,
)
from reports.analysis.stored.tolerance import Tolerance
from reports.analysis.stored.verification import Verification, VerificationStatus
from scenarios.load import Scenario, ScenarioError, load
from scenarios.shipped import find_scenario
from simulator.model_version import MODEL_VERSION
from simulator.results.verdict import Verdict

SUFFIX: Final = ".expected.json"
_PACKAGES: Final = ("assignor-sim", "numba", "numpy", "ortools", "simpy")

Progress = Callable[[str], None]
"""Told before each run what comes."""


def stored_results_path(file: Path) -> Path:
    """Where the results of a scenario are stored: NAME.expected.json beside NAME.yaml."""
    return file.with_suffix(SUFFIX)


def scenario_files(arguments: Iterable[Path]) -> list[Path]:
    """The scenario files that are meant: files, names of shipped scenarios, and each *.yaml in a directory, sorted.

    Raises:
        StoredError: a directory without any.
    """
    return list(dict.fromkeys(file for argument in arguments for file in _files(argument)))


def record(file: Path, assignors: Sequence[str] = (), progress: Progress = lambda _: None) -> str:
    """Run a scenario and store its results beside it; says what came of it.

    A file whose results are as they were is left as it is, so that a new version of a package is no change to review.

    Args:
        file: the scenario.
        assignors: as in `compare`; those of the scenario if empty.
        progress: told before each run what comes.

    Raises:
        ScenarioError: something is wrong with the scenario.
        AssignorError: something is wrong with an assignor.
        OSError: the results cannot be written.
    """
    target = stored_results_path(file)
    results = _results(load(file), assignors, progress)
    before = _before(target)
    if before is not None and not compare_results(before, results) and not _has_news(before.origin, results.origin):
        return "unchanged"
    write_text(target, write_stored(results))
    return "; ".join(("stored" if before is None else _news(before, results), *_failed(results)))


def verify(
    file: Path,
    allowed: Mapping[str, Tolerance],
    *,
    metrics_only: bool = False,
    assignors: Sequence[str] = (),
    progress: Progress = lambda _: None,
) -> Verification:
    """Run a scenario again and compare with the results stored beside it; raises nothing for the user's mistakes.

    Args:
        file: the scenario.
        allowed: how far figures may be off.
        metrics_only: leave out what the single rounds decided.
        assignors: as in `compare`; those of the scenario if empty.
        progress: told before each run what comes.
    """
    started = time.perf_counter()
    target = stored_results_path(file)
    if file.exists() and not target.exists():
        return Verification(str(file), VerificationStatus.NOT_STORED)
    try:
        scenario = load(file)
        before = read_stored(target.read_text(encoding="utf-8"), str(target))
        now = _results(scenario, assignors, progress)
    except (ScenarioError, AssignorError, StoredResultsError, OSError, UnicodeDecodeError) as error:
        return Verification(
            str(file), VerificationStatus.UNREADABLE, error=str(error), seconds=time.perf_counter() - started
        )
    found = compare_results(before, now, allowed, metrics_only=metrics_only)
    return Verification(
        str(file),
        VerificationStatus.CHANGED if found else VerificationStatus.SAME,
        found,
        compare_origins(before.origin, now.origin),
        runs=list(now.runs),
        seconds=time.perf_counter() - started,
    )


def _files(argument: Path) -> Iterator[Path]:
    if not argument.is_dir():
        yield find_scenario(argument)
        return
    every = sorted(argument.glob("*.yaml"))
    if not every:
        raise StoredResultsError(f"{argument}: no scenario files (*.yaml) in this directory")
    yield from every


def _results(scenario: Scenario, assignors: Sequence[str], progress: Progress) -> StoredResults:
    tables = run_scenario(scenario, assignors, progress=lambda step: progress(f"{scenario.name}: {step}")).tables
    origin = ResultOrigin(
        scenario=hashlib.sha256(scenario.text.encode()).hexdigest(),
        imports=dict(scenario.imports),
        model=MODEL_VERSION,
        versions={"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}},
    )
    return collect_results(tables, scenario.name, origin)


def _before(target: Path) -> StoredResults | None:
    """What was stored; None if nothing was, or nothing that can still be read."""
    try:
        return read_stored(target.read_text(encoding="utf-8"), str(target))
    except (OSError, StoredResultsError, UnicodeDecodeError):
        return None


def _news(before: StoredResults, results: StoredResults) -> str:
    """What differs from what was stored."""
    found = compare_results(before, results)
    if not found:
        return "stored, results as before"
    return f"stored, {len(found)} difference{'s' if len(found) > 1 else ''}; {compare_origins(before.origin, results.origin)}"


def _failed(results: StoredResults) -> Iterator[str]:
    for (assignor, seed), run in results.runs.items():
        if run.figures["verdict"] == Verdict.FAILED:
            yield f"{assignor}, seed {seed}, failed: {run.figures['cause']}"


def _has_news(before: ResultOrigin, now: ResultOrigin) -> bool:
    """Whether there is something to tell beside the versions."""
    since = compare_origins(before, now)
    return bool(since.scenario or since.model)
