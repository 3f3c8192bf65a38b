"""The run of one assignor in one case, and the checks of its invariants."""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from assignors import registry
from assignors.containment.contained import ContainedAssignor, innermost
from assignors.containment.limits import DEFAULT_LIMITS, CallLimits
from assignors.contract import (
    SETTLING,
    ContractViolation,
    Invariant,
    MakeAssignor,
    carried_out,
    check_complete,
    check_relabeled,
    check_state,
    compute,
    settle,
    violation_of_failure,
)
from assignors.errors import AssignorError
from assignors.model.assignment import TaskAssignor
from assignors.model.state import LATEST_OFFSET, NO_LAG, UNKNOWN_OFFSET_SUM, ApplicationState
from assignors.model.traffic_rates import RateAwareAssignor
from assignors.optimum.proof import prove_bound
from assignors.registry import AssignorLike, ResolvedAssignor
from assignors.tasks.high_availability import HighAvailability
from assignors.tasks.streams_group_sticky import StreamsGroupPreview
from reports.analysis.metrics import COMPARABLE_METRICS
from reports.analysis.review.outcomes import AssignorOutcome, CaseOutcome, InvariantViolation, OptimumGap
from scenarios.language.client_configs import AssignorConfigs, AssignorEntryConfigs
from scenarios.load import AssignorSpec, Scenario, ScenarioError, loads
from scenarios.run import run
from scenarios.suite.documents import Document
from scenarios.suite.scale_shapes import ScaleShape, scale_state, without_some_clients
from scenarios.suite.standard import SuiteCase
from simulator.assignment.measures import measure
from simulator.assignment.rebalance import compute_assignment
from simulator.errors import AssignorFailedError
from simulator.processes.run_options import RunOptions
from simulator.random_streams import random_stream
from simulator.results.tabulation import tabulate_run
from simulator.results.trace import CapturedRound, Trace
from simulator.results.verdict import INCOMPARABLE, Verdict
from simulator.world.layout import lay_out, mean_traffic
from simulator.world.leave_on_close import releases_after_upgrades

PROTOCOL: Final = "group.protocol"
_LABEL: Final = "reviewed"


@dataclass(frozen=True, slots=True)
class Reviewed:
    """An assignor under review, in a form that other processes can build.

    Attributes:
        assignor: its name, or what `registry.resolve` found.
        configs: Streams configs with which it runs, by Kafka's keys.
    """

    assignor: str | ResolvedAssignor
    configs: Mapping[str, Any] = field(default_factory=dict)
    limits: CallLimits = DEFAULT_LIMITS

    @classmethod
    def of(cls, assignor: AssignorLike, configs: Mapping[str, Any], limits: CallLimits) -> Reviewed:
        """Return an assignor under review; a broker's assignor runs in a streams group.

        Raises UnknownAssignorError if it is unknown, or is not an assignor; and ValueError if it cannot be sent to
        other processes, or Kafka has no such config.
        """
        resolved = registry.resolve(assignor)
        if not isinstance(assignor, str):
            try:
                pickle.dumps(resolved)
            except (pickle.PicklingError, AttributeError, TypeError) as error:
                raise ValueError(
                    f"assignor '{resolved.label}' cannot be sent to other processes ({error}): define it in a module "
                    "that they can import, not in a notebook cell or inside a function"
                ) from error
        own = {PROTOCOL: "streams"} if resolved.info.in_streams_groups else {}
        reviewed = cls(assignor if isinstance(assignor, str) else resolved, {**own, **configs}, limits)
        try:
            AssignorEntryConfigs.model_validate(dict(reviewed.configs))
        except ValidationError as error:
            first = error.errors()[0]
            raise ValueError(f"config {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
        return reviewed

    @property
    def label(self) -> str:
        """Its name with its configs."""
        settings = ", ".join(f"{key}={value}" for key, value in self.configs.items() if key != PROTOCOL)
        return f"{self.name} ({settings})" if settings else self.name

    @property
    def name(self) -> str:
        """Its name."""
        return self.assignor if isinstance(self.assignor, str) else self.assignor.label

    @property
    def isolated(self) -> Reviewed:
        """The assignor in a process of its own, which it may end."""
        return replace(self, limits=replace(self.limits, isolate=True))

    def entry(self) -> Document:
        """Return the entry `assignors[]` of a scenario that has its configs; the assignor itself is set afterwards."""
        return {"assignor": "high_availability", "label": _LABEL, "configs": dict(self.configs)}

    def spec(self, scenario: Scenario) -> AssignorSpec:
        """Return the assignor with the configs of the scenario's only entry."""
        entry = scenario.assignors[0]
        found = scenario.assignor_spec(self.assignor)
        return replace(
            found,
            label=self.label,
            configs=entry.configs,
            changed=entry.changed,
            protocol=entry.protocol,
            limits=self.limits,
        )

    def make(self) -> TaskAssignor:
        """Build the assignor without a scenario."""
        resolved = registry.resolve(self.assignor)
        return registry.make_contained(resolved.info, resolved.parameters, self.limits)

    def configured(self, state: ApplicationState) -> ApplicationState:
        """Return a state with the configs of the assignor."""
        changes: dict[str, Any] = AssignorConfigs.model_validate(
            {key: value for key, value in self.configs.items() if key != PROTOCOL}
        ).changes()
        return replace(state, assignment_configs=replace(state.assignment_configs, **changes))


_CACHED_SCENARIOS: Final = 4
MAX_REBALANCES: Final = 150

SKIPPED: Final = "skipped"
"""Verdict of a case that is invalid with the configs of an assignor."""

_MAX_STATES: Final = 12
"""States of a run on which the invariants are checked: the first ones and the last."""

RELABELINGS: Final = 20
"""States with other process ids that are checked for each run."""

_PROOF_S: Final = 5.0
"""Time limit of the search for the optimum, which `solve_integer` converts to nodes: the clock has no influence."""

_MAX_CHECKED_PAIRS: Final = 400_000
"""Tasks times clients of a state above which only its assignment is checked, and not the order of its lists."""


def run_cases(cases: Sequence[SuiteCase], base: Reviewed, head: Reviewed, metrics: list[str]) -> list[CaseOutcome]:
    """Run both assignors in each case; see `run_case`."""
    return [run_case(case, base, head, metrics) for case in cases]


def run_case(case: SuiteCase, base: Reviewed, head: Reviewed, metrics: Iterable[str]) -> CaseOutcome:
    """Run both assignors in a case.

    `metrics`: keys of the metrics to keep. Returns their outcomes; skipped if the scenario is invalid with the configs
    of one of them.
    """
    keys = list(metrics)
    try:
        of_base, of_head = (run_assignor(case, reviewed, keys) for reviewed in (base, head))
    except ScenarioError as error:
        return CaseOutcome(case.family, case.name, case.seed, skipped=str(error).splitlines()[0])
    return CaseOutcome(case.family, case.name, case.seed, of_base, of_head)


def run_assignor(case: SuiteCase, reviewed: Reviewed, metrics: list[str]) -> AssignorOutcome:
    """Run one assignor in a case, and check its invariants.

    `metrics`: keys of the metrics to keep. Returns its metrics, and the invariants that it violates. Raises
    ScenarioError if the scenario is invalid with the configs of the assignor.
    """
    if case.shape is not None:
        return _run_shape(case.shape, case.seed, reviewed, metrics)
    scenario = load_case(case, reviewed)
    return check_scenario(scenario, reviewed.spec(scenario), case.seed, metrics)


def check_scenario(
    scenario: Scenario,
    spec: AssignorSpec,
    seed: int,
    metrics: Sequence[str] = (),
    relabelings: int = RELABELINGS,
    invariants: Collection[Invariant] = tuple(Invariant),
) -> AssignorOutcome:
    """Run an assignor in a scenario, and check its invariants.

    `metrics`: keys of the metrics to keep; the gap to the optimum is computed only if there are any. `relabelings`:
    number of states with other process ids to check. `invariants`: those to check, beside what the run itself shows.
    Returns its metrics, and the invariants that it violates.
    """
    trace = run(scenario, spec, seed, RunOptions(capture=True, max_rebalances=MAX_REBALANCES))
    violations, checked, nanos = _check_run(trace, spec, seed, relabelings, invariants) if invariants else ([], 0, ())
    if trace.failure is not None:
        return AssignorOutcome({}, trace.failure, _first_of_each(violations), checked, (), len(trace.captured_rounds))
    row = tabulate_run(trace, spec.label, seed)
    if row["verdict"] in (Verdict.CYCLING, Verdict.STOPPED):
        text = f"the group does not stop rebalancing: {row['cause'] or 'assignments repeat'}"
        violations.append(ContractViolation(Invariant.CONVERGES, text))
    known = row["verdict"] not in INCOMPARABLE
    return AssignorOutcome(
        metrics=_values(row, metrics) if known else {},
        violations=_first_of_each(violations),
        checked_states=checked,
        nanos=nanos,
        rebalances=len(trace.captured_rounds),
        gap=_gap(trace, spec, row["deciding_round"]) if known and metrics else None,
    )


def _gap(trace: Trace, spec: AssignorSpec, deciding_round: int | None) -> OptimumGap | None:
    """Return the cost of the deciding round above the optimum, which an exact search proves if it can."""
    for one in trace.captured_rounds:
        if one.round.number == deciding_round:
            weights = spec.info.weights.configured(one.state.assignment_configs)
            found = prove_bound(one.state, one.columns, weights, _PROOF_S)
            if found is None or found.proof is None:
                return None
            return OptimumGap(found.cost, found.bound, found.bound == found.proof.best_known_cost)
    return None


def measure_runs(cases: Sequence[SuiteCase], reviewed: Reviewed, metrics: Iterable[str]) -> list[dict[str, Any]]:
    """Run one assignor in the scenario of each case; see `measure_run`."""
    return [measure_run(case, reviewed, metrics) for case in cases]


def measure_run(case: SuiteCase, reviewed: Reviewed, metrics: Iterable[str]) -> dict[str, Any]:
    """Run one assignor in the scenario of a case, without any check of its invariants.

    `metrics`: keys of the metrics to keep. Returns `verdict`, and the known metrics by key, none if the run is
    incomparable. The verdict is `skipped` if the scenario is invalid with the configs of the assignor.
    """
    try:
        scenario = load_case(case, reviewed)
    except ScenarioError:
        return {"verdict": SKIPPED}
    spec = reviewed.spec(scenario)
    trace = run(scenario, spec, case.seed, RunOptions(max_rebalances=MAX_REBALANCES))
    row = tabulate_run(trace, spec.label, case.seed)
    values = {} if row["verdict"] in INCOMPARABLE else _values(row, metrics)
    return {"verdict": str(row["verdict"]), **values}


def load_case(case: SuiteCase, reviewed: Reviewed) -> Scenario:
    """Load the scenario of a case with the configs of an assignor.

    Returns the scenario; its only entry of `assignors` has the configs. Raises ScenarioError if the scenario is invalid
    with them.
    """
    assert case.document is not None
    # JSON is YAML, and faster to write.
    return _load(
        json.dumps({**case.document, "assignors": [reviewed.entry()]}, ensure_ascii=False),
        case.name.partition(",")[0],
        case.folder,
    )


@lru_cache(_CACHED_SCENARIOS)
def _load(text: str, name: str, folder: Path | None) -> Scenario:
    return loads(text, name, folder=folder)


def _values(row: Mapping[str, Any], metrics: Iterable[str]) -> dict[str, float]:
    known = {key: COMPARABLE_METRICS[key].of(row) for key in metrics}
    return {key: float(value) for key, value in known.items() if value is not None}


def _first_of_each(violations: Iterable[ContractViolation]) -> tuple[InvariantViolation, ...]:
    """Return the first violation of each invariant."""
    first: dict[Invariant, str] = {}
    for violation in violations:
        first.setdefault(violation.invariant, violation.message)
    return tuple(InvariantViolation(str(invariant), message) for invariant, message in first.items())


def _check_run(
    trace: Trace, spec: AssignorSpec, seed: int, relabelings: int, invariants: Collection[Invariant]
) -> tuple[list[ContractViolation], int, tuple[int, ...]]:
    """Return the violations in a run, the number of checked states, and the durations of calls."""
    violations = [] if trace.failure is None else [violation_of_failure(trace.failure_kind, _plain(trace.failure))]
    if trace.failure is not None and is_timeout(trace.failure):
        return violations, 0, ()  # Each further call may take as long.
    captured = trace.captured_rounds
    of_brokers = spec.info.in_streams_groups
    follows_upgrade = spec.follows_release and bool(releases_after_upgrades(trace.world, of_brokers=of_brokers))
    if not captured or follows_upgrade:
        return violations, 0, ()
    make = maker(spec, trace)
    chosen = [*captured[: _MAX_STATES - 1], captured[-1]] if len(captured) > _MAX_STATES else captured
    for one in captured:
        violations += check_complete(one.state, one.columns)
    for number, found in enumerate(_checks(captured, chosen, make, seed, relabelings, invariants), start=1):
        violations += found
        if any(is_timeout(one.message) for one in found):
            return violations, number, ()
    # A search for a smaller violation, which checks a single invariant, needs no durations.
    nanos = _durations(captured[-1].state, make) if len(invariants) == len(Invariant) else ()
    return violations, len(chosen) + relabelings, nanos


def _checks(
    captured: Sequence[CapturedRound],
    chosen: Sequence[CapturedRound],
    make: MakeAssignor,
    seed: int,
    relabelings: int,
    invariants: Collection[Invariant],
) -> Iterator[list[ContractViolation]]:
    """Yield the violations in each chosen state, while the group settles, and with other process ids."""
    own = make()
    if not SETTLING.issuperset(invariants):
        for one in chosen:
            yield [] if _is_answered_by_another(one.state, own) else list(check_state(one.state, make, one.columns))
    last = captured[-1].state
    yield list(settle(last, make).violations)
    for _, violation in check_relabeled(last, make, random_stream(seed, "relabeling"), relabelings):
        yield [replace(violation, message=f"with other process ids: {violation.message}")]


def is_timeout(message: str) -> bool:
    """Return whether a violation is that a call exceeded its time limit."""
    return "took longer than" in message


def _is_answered_by_another(state: ApplicationState, assignor: TaskAssignor) -> bool:
    """Return whether a run asks another assignor in a state: Kafka's for unknown lags, or for a step to a target."""
    if isinstance(assignor, StreamsGroupPreview):
        return True
    unknown = (state.lags == UNKNOWN_OFFSET_SUM) | (state.lags == LATEST_OFFSET) | (state.lags == NO_LAG)
    return isinstance(innermost(assignor), HighAvailability) and bool(unknown.all())


def _plain(failure: str) -> str:
    """Return the cause of a failure without the name of the assignor."""
    return failure.partition(": ")[2] or failure


def maker(spec: AssignorSpec, trace: Trace) -> MakeAssignor:
    """Return how a run builds its assignor."""
    return partial(_make, spec, trace)


def _make(spec: AssignorSpec, trace: Trace) -> TaskAssignor:
    """Build an assignor as a run does: one that minimizes bytes gets the traffic of the run."""
    assignor = spec.make()
    if isinstance(assignor, RateAwareAssignor) and assignor.needs_rates:
        return assignor.with_rates(mean_traffic(trace.world, lay_out(trace.world)))
    return assignor


def _durations(state: ApplicationState, make: MakeAssignor) -> tuple[int, ...]:
    """Return the duration of a second call in ns; none if the assignor fails."""
    try:
        assignor = make()
        compute(state, assignor)
        started = time.perf_counter_ns()
        compute(state, assignor)
        nanos = time.perf_counter_ns() - started
    except AssignorError:
        return ()
    # A contained assignor may be asked twice, and knows the duration of one call.
    return (assignor.nanos if isinstance(assignor, ContainedAssignor) else nanos,)


def _run_shape(shape: ScaleShape, seed: int, reviewed: Reviewed, metrics: list[str]) -> AssignorOutcome:
    """Compute a large assignment twice: for a new group, and after some clients have left."""
    state = reviewed.configured(scale_state(shape, seed))
    make = reviewed.make
    violations: list[ContractViolation] = []
    assignor = make()
    if isinstance(assignor, RateAwareAssignor) and assignor.needs_rates:
        return AssignorOutcome()  # Single assignments have no traffic.
    try:
        first = compute_assignment(state, assignor)
        violations += check_complete(first.state, first.columns)
        fewer = without_some_clients(carried_out(first.state, first.columns))
        started = time.perf_counter_ns()
        second = compute_assignment(fewer, assignor)
        nanos = time.perf_counter_ns() - started
    except AssignorFailedError as error:
        violations.append(violation_of_failure(error.kind, _plain(str(error))))
        return AssignorOutcome({}, str(error), _first_of_each(violations), 1)
    violations += check_complete(fewer, second.columns)
    if len(fewer.tasks) * len(fewer.clients) <= _MAX_CHECKED_PAIRS:
        violations += check_state(fewer, make, second.columns)
    measures = measure(fewer, second.columns)
    owner = {task: client for client, held in enumerate(fewer.previous_active) for task in held}
    moved = sum(
        owner.get(task) != client for task, client in zip(fewer.tasks.ids, second.columns.active.tolist(), strict=True)
    )
    row = {
        "cross_rack_source_partitions": measures.cross_rack_source_partitions,
        "active_moves": moved,
        "load_skew": measures.load_skew,
        "subtopology_skew": measures.subtopology_skew,
        "tasks_without_rack_redundancy": measures.tasks_without_rack_redundancy,
        "leader_compute_ms": max(first.leader_compute_ms, second.leader_compute_ms),
    }
    values = {key: float(row[key]) for key in metrics if row.get(key) is not None}
    return AssignorOutcome(values, None, _first_of_each(violations), 2, (nanos,))
