"""The range of outcomes that a prediction has if copies begin to read earlier or later, as client times allow."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from assignors import registry
from scenarios.load import loads
from simulator.processes.simulation import simulate
from simulator.results.trace import Trace
from tests.fidelity.scenario_edits import Document
from tests.fidelity.step_outcome import StepOutcome, predict_outcome


def predict_range(trace: Trace, document: Document, assignor: str, period_ms: tuple[int, int]) -> list[StepOutcome]:
    """Return the outcomes of a period with copies that begin to read as early and as late as client times allow.

    Args:
        trace: The prediction.
        document: Its scenario.
        assignor: Name of its assignor.
        period_ms: Period of simulated time.

    Returns:
        Two outcomes; none if the simulator knows no client times, or knows them exactly.
    """
    application = trace.world.application
    times: Any = getattr(application, "times", None)
    if times is None or times.uncertainty == 1:
        return []
    spec = loads(json.dumps(document), application.id).assignor_spec(assignor)
    outcomes = []
    for scaled_times in (times.early(), times.late()):
        changes: dict[str, Any] = {"times": scaled_times}
        world = dataclasses.replace(trace.world, application=dataclasses.replace(application, **changes))
        scaled = simulate(world, registry.make(spec.info, spec.parameters), spec.info.weights)
        outcomes.append(predict_outcome(scaled, *period_ms))
    return outcomes
