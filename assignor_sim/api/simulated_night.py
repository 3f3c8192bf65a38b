"""Simulations of the recorded events of a past night, with the figures that are compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from reports.analysis.incident import IncidentReport, WhatIf
from scenarios.load import AssignorSpec, Scenario, loads
from scenarios.run import run
from simulator.results.tabulation import tabulate

SCENARIO_NAME: Final = "the recorded night"
NIGHT_METRICS: Final = ("rebalances", "active_moves", "restored_bytes", "worst_downtime_ms", "downtime_ms")
MAX_NIGHT_MS: Final = 7 * 86_400_000
"""Longest time that is simulated."""


def replay_night(
    scenario: Scenario,
    report: IncidentReport,
    assignors: Sequence[tuple[str, AssignorSpec]],
    changes: Sequence[tuple[str, str]],
    *,
    has_sizes: bool,
) -> Iterator[WhatIf]:
    """Yield the recorded figures, and simulations of the recorded events: unchanged, and with each change.

    Args:
        scenario: The events.
        report: What was recorded.
        assignors: Other assignors, with their names.
        changes: Paths of the scenario, and the values to set.
        has_sizes: Whether sizes of topics are known, so that restored bytes are, too.

    Raises:
        ScenarioError: A change is invalid.
    """
    recorded = {"rebalances": float(len(report.later)), "active_moves": float(report.num_moves())}
    yield WhatIf("recorded", "night", {**dict.fromkeys(NIGHT_METRICS), **recorded})
    if report.until_ms - report.since_ms > MAX_NIGHT_MS:
        yield WhatIf("simulation", "night", {}, "longer than 7 days; select a part with --since and --until")
        return
    yield _simulate("simulated, unchanged", scenario, scenario.assignors[0], has_sizes=has_sizes)
    for label, spec in assignors:
        yield _simulate(label, scenario, spec, has_sizes=has_sizes)
    for path, value in changes:
        changed = loads(scenario.text, SCENARIO_NAME, [(path, value)])
        yield _simulate(f"{path}={value}", changed, changed.assignors[0], has_sizes=has_sizes)


def _simulate(label: str, scenario: Scenario, spec: AssignorSpec, *, has_sizes: bool) -> WhatIf:
    """Return the figures of a simulated night, or why there are none."""
    trace = run(scenario, spec)
    if trace.failure is not None:
        return WhatIf(label, "night", {}, str(trace.failure))
    [row] = tabulate(trace, spec.label, scenario.seeds[0])["runs"].to_pylist()
    figures = {key: row.get(key) for key in NIGHT_METRICS}
    if not has_sizes:
        figures["restored_bytes"] = None
    return WhatIf(label, "night", figures)
