"""`sim.run`: simulate a scenario with several assignors and seeds."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from typing import Any

import pyarrow as pa

from assignor_sim.api.loading import as_scenario
from assignor_sim.api.results import RunResult
from assignor_sim.api.stored_scenario import scenario_record
from assignors.containment.limits import DEFAULT_LIMITS, CallLimits
from assignors.registry import AssignorLike
from reports.analysis.expectations import check_expectations, records
from scenarios.language.releases import has_leave_group_config, parse_release
from scenarios.load import AssignorSpec, Scenario, assignor_specs
from scenarios.run import run as run_once
from scenarios.run_estimate import RunEstimate, estimate_runs
from scenarios.time_ranges import time_ranges
from simulator.assignment.explanation import ExplanationRequest
from simulator.model_version import MODEL_VERSION
from simulator.processes.run_options import MAX_REBALANCES, RunOptions
from simulator.results.tables import concat_tables
from simulator.results.tabulation import tabulate
from simulator.results.trace import Trace
from simulator.world.group_configs import GroupProtocol

_PACKAGES = ("assignor-sim", "numpy", "ortools", "pyarrow", "simpy")


def run(
    scenario: Scenario | str | os.PathLike[str],
    assignor: AssignorLike | Sequence[AssignorLike] | None = None,
    seed: int | Iterable[int] | None = None,
    *,
    capture: bool = False,
    prove: float | None = None,
    explain: bool = True,
    keep_traces: bool = True,
    ranges: bool = True,
    max_rebalances: int = MAX_REBALANCES,
    max_seconds: float | None = None,
    limits: CallLimits = DEFAULT_LIMITS,
    command: str = "",
    on_progress: Callable[[str], None] | None = None,
) -> RunResult:
    """Simulate a scenario with one or several assignors and seeds; `assignor-sim run` in Python.

    Args:
        scenario: a loaded scenario, a file, or the name of a shipped scenario.
        assignor: one assignor or a list: a label of the scenario, a registered name, `package.module:Class`, an
            instance, a class, or a callable from `ApplicationState` to `TaskAssignment`. By default the assignors that
            the scenario lists.
        seed: one random seed or several; by default those of the scenario.
        capture: whether the traces keep the assignor's input and output of every rebalance.
        prove: time limit in seconds per rebalance for proving the minimum cost, which then replaces the lower bound.
        explain: whether to record the reasons of task moves (tables `reasons` and `cycles`).
        keep_traces: whether the result keeps the traces beside the tables.
        ranges: whether to simulate runs with warm-ups again with shorter and longer client times, and to report
            outcomes that depend on them (table `time_ranges`).
        max_rebalances: a run is stopped after this many rebalances, with the verdict `stopped`.
        max_seconds: a run is stopped after this wall-clock time, with the verdict `stopped`, but not within a call of
            the assignor; None, the default, for results that depend on the scenario only.
        limits: limits of the calls of custom assignors, and whether they run in a process of their own. A run whose
            assignor fails has the verdict `failed`; the other runs go on.
        command: the command line, for the manifest.
        on_progress: called with a description of each run and of each of its rebalances before it starts.

    Returns:
        The result: tables of all runs, and methods to summarize, plot, explain, report and save them.

    Raises:
        ScenarioError: the scenario is invalid.
        AssignorError: an assignor is unknown, or rejects its parameters.

    Examples:
        >>> import assignor_sim as sim
        >>> result = sim.run("cold_start", ["high_availability", sim.Optimal(slack=1)], seed=1)
        >>> list(result.labels)
        ['high_availability', 'optimal (slack=1)']
        >>> int(result.to_pandas("runs")["seed"].max())
        1
    """
    loaded = as_scenario(scenario)
    specs = assignor_specs(loaded, _as_list(assignor), limits=limits)
    seeds = loaded.seeds if seed is None else (seed,) if isinstance(seed, int) else tuple(seed) or loaded.seeds
    request = ExplanationRequest(break_evens=False) if explain else None
    tables: list[dict[str, pa.Table]] = []
    traces: dict[tuple[str, int], Trace] = {}
    for spec in specs:
        for run_seed in seeds:
            if on_progress is not None:
                on_progress(f"{spec.label}, seed {run_seed}")
            started = time.monotonic()
            options = RunOptions(
                capture=capture,
                prove=prove,
                explain=request,
                max_rebalances=max_rebalances,
                max_seconds=max_seconds,
                on_rebalance=_rebalance_progress(on_progress, f"{spec.label}, seed {run_seed}"),
            )
            trace = run_once(loaded, spec, run_seed, options)
            run_tables = tabulate(trace, spec.label, run_seed)
            if ranges and trace.stopped is None:
                remaining = None if max_seconds is None else max_seconds - (time.monotonic() - started)
                run_tables["time_ranges"] = time_ranges(loaded, trace, spec, run_seed, remaining)
            tables.append(run_tables)
            if keep_traces:
                traces[spec.label, run_seed] = trace
    joined, manifest = concat_tables(tables), _manifest(loaded, specs, seeds, command)
    if prove is not None:
        manifest["proofs"] = _proof_counts(joined["proofs"], prove)
    if loaded.expectations:
        manifest["expectations"] = records(check_expectations(joined["runs"].to_pylist(), loaded.expectations))
    return RunResult(joined, manifest, loaded, {spec.label: spec for spec in specs}, traces)


def estimate(
    scenario: Scenario,
    assignor: AssignorLike | Sequence[AssignorLike] | None = None,
    seed: int | Iterable[int] | None = None,
) -> RunEstimate:
    """Estimate the time and the memory of `run` with the same arguments.

    Returns:
        The times of all runs added, the memory of the largest.

    Raises:
        AssignorError: an assignor is unknown, or rejects its parameters.
    """
    seeds = scenario.seeds if seed is None else (seed,) if isinstance(seed, int) else tuple(seed) or scenario.seeds
    return estimate_runs(scenario, assignor_specs(scenario, _as_list(assignor)), len(seeds))


def _rebalance_progress(on_progress: Callable[[str], None] | None, run: str) -> Callable[[int], None] | None:
    if on_progress is None:
        return None
    return lambda number: on_progress(f"{run}: rebalance {number:,}")


def _as_list(assignor: AssignorLike | Sequence[AssignorLike] | None) -> list[AssignorLike]:
    if assignor is None:
        return []
    return list(assignor) if isinstance(assignor, list | tuple) else [assignor]  # type: ignore[list-item]


def _proof_counts(proofs: pa.Table, limit_s: float) -> dict[str, Any]:
    """Return the number of rounds with a proof attempt, and the number of proven minimums."""
    rows = proofs.to_pylist()
    proven = sum(row["total_cost_bound"] == row["best_known_total_cost"] for row in rows)
    return {"limit_s": limit_s, "rounds": len(rows), "proven": proven, "unproven": len(rows) - proven}


def _manifest(scenario: Scenario, specs: Sequence[AssignorSpec], seeds: Sequence[int], command: str) -> dict[str, Any]:
    """Return everything that identifies the runs, JSON-serializable."""
    return {
        "scenario": scenario_record(scenario),
        "assignors": [_assignor_record(scenario, spec) for spec in specs],
        "seeds": list(seeds),
        "command": command,
        "model": MODEL_VERSION,
        "versions": {"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}},
    }


def _assignor_record(scenario: Scenario, spec: AssignorSpec) -> dict[str, Any]:
    protocol, blueprint = scenario.protocol_of(spec), scenario.of(spec).blueprint
    group = blueprint.group_configs[protocol]
    broker_release, client_release = blueprint.application.releases
    stated = list(dict.fromkeys((*scenario.stated, *spec.changed)))
    return {
        "label": spec.label,
        "assignor": spec.info.name,
        "kafka_version": spec.info.kafka_version,
        "parameters": {name: _json_value(value) for name, value in spec.parameters.items()},
        "configs": dataclasses.asdict(spec.configs),
        "protocol": str(protocol),
        "broker_release": broker_release,
        "client_release": client_release,
        "group": {
            "session_timeout_ms": group.session_timeout_ms,
            "heartbeat_interval_ms": group.heartbeat_interval_ms
            if protocol is GroupProtocol.CLASSIC
            else group.streams_heartbeat_interval_ms,
            "has_leave_config": has_leave_group_config(parse_release(client_release)),
            "static": [client.name for client in blueprint.clients if client.is_static],
            "of_consumers": scenario.group is not None,
        },
        "unused": [key for key in _RACK_AWARE if spec.info.ignores(key)],
        "ignored": [key for key in stated if spec.info.ignores(key)],
        # Before 4.4, Kafka does not start a streams group with static membership.
        "refused": [key for key in stated if not group.has_static_members and key == "group.instance.id"],
    }


_RACK_AWARE = ("rack.aware.assignment.strategy", "rack.aware.assignment.tags")
"""Configs that next steps may suggest, of which some assignors read none."""


def _json_value(value: object) -> object:
    """Return a parameter unchanged if it is JSON-serializable, otherwise as text."""
    try:
        json.dumps(value)
    except TypeError:
        return str(value)
    return value
