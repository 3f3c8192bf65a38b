"""A run whose bounds of cost are raised to the optimum, as far as that can be proven."""

from __future__ import annotations

from dataclasses import replace

from assignors.optimum.proof import prove_bound
from scenarios.assignor_specs import AssignorSpec
from scenarios.captured_rounds import run_and_capture
from scenarios.load import Scenario
from simulator.assignment.explanation import ExplanationRequest
from simulator.results.trace import Trace


def run_with_proofs(
    scenario: Scenario,
    assignor_spec: AssignorSpec,
    time_limit_s: float,
    seed: int | None = None,
    question: ExplanationRequest | None = None,
) -> Trace:
    """Simulate a scenario with one assignor, and look for the cheapest assignment of every round.

    Args:
        scenario: what to simulate.
        contestant: the assignor.
        time_limit_s: how long to look in each round, as in `assignors.optimum.proof.prove`.
        seed: the scenario's first if None.
        question: as in `run_watched`.

    Returns:
        What happened, as without proofs but for the appraisals of the rounds.
    """
    trace, shown = run_and_capture(scenario, assignor_spec, seed, question)
    weights = assignor_spec.info.weights
    proven = {
        each.round.number: prove_bound(
            each.state, each.columns, weights.configured(each.state.assignment_configs), time_limit_s
        )
        for each in shown
    }
    rounds = [replace(each, appraisal=proven.get(each.number, each.appraisal)) for each in trace.rounds]
    return replace(trace, rounds=rounds)
