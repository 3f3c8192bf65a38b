"""The run function: every command, sweep, notebook and test simulates through it."""

from __future__ import annotations

from dataclasses import replace

from assignors.optimum.proof import prove_bound
from assignors.registry import AssignorLike
from scenarios.assignor_specs import AssignorSpec, assignor_spec, make_assignor
from scenarios.load import Scenario
from simulator.assignment.explanation import ExplanationRequest
from simulator.results.trace import Trace
from simulator.run import simulate


def run(
    scenario: Scenario,
    assignor: AssignorLike | AssignorSpec,
    seed: int | None = None,
    *,
    capture: bool = False,
    prove: float | None = None,
    explain: ExplanationRequest | None = None,
) -> Trace:
    """Simulate a scenario with one assignor and one seed.

    The trace depends on scenario, assignor and seed only; `capture`, `prove` and `explain` add to what is
    recorded and change no other figure.

    Args:
        scenario: the scenario.
        assignor: a label of the scenario, a registered name, `package.module:Class`, an instance, a class, or a
            callable from state to assignment.
        seed: random seed; by default the first seed of the scenario.
        capture: whether to keep the assignor's input and output of every rebalance (`Trace.captured_rounds`).
        prove: time limit in seconds per rebalance for proving the minimum cost, which then replaces the lower bound
            in `Round.appraisal`; None to keep the lower bound.
        explain: the tasks whose moves to explain (`Round.explanation`).

    Returns:
        The trace. If the assignment is invalid or the assignor raises an `AssignorError`, the run ends there and
        `Trace.failure` has the reason; other exceptions propagate.

    Raises:
        UnknownAssignorError: the assignor is unknown, or rejects its parameters.
    """
    spec = assignor if isinstance(assignor, AssignorSpec) else assignor_spec(scenario, assignor)
    world = scenario.world(scenario.seeds[0] if seed is None else seed, spec.choice.configs, spec.choice.protocol)
    trace = simulate(
        world,
        make_assignor(spec, world),
        spec.info.weights,
        capture=capture or prove is not None,
        explain=explain,
    )
    if prove is not None:
        trace = _with_proven_bounds(trace, spec, prove)
    return trace if capture else replace(trace, captured_rounds=())


def _with_proven_bounds(trace: Trace, spec: AssignorSpec, time_limit_s: float) -> Trace:
    """Return the trace with each round's lower bound raised to the proven minimum, if it is found in time."""
    weights = spec.info.weights
    appraisals = {
        captured.round.number: prove_bound(
            captured.state, captured.columns, weights.configured(captured.state.assignment_configs), time_limit_s
        )
        for captured in trace.captured_rounds
    }
    rounds = {
        round_.number: replace(round_, appraisal=appraisals.get(round_.number, round_.appraisal))
        for round_ in trace.rounds
    }
    captured_rounds = tuple(
        replace(captured, round=rounds[captured.round.number]) for captured in trace.captured_rounds
    )
    return replace(trace, rounds=tuple(rounds.values()), captured_rounds=captured_rounds)
