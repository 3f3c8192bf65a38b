"""The input of replica strategies, and the strategies, from a cluster and the options of a plan."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from assignors.model.columns import NO_RACK, IntArray, distinct
from assignors.replicas.goal_chain import GoalChain
from assignors.replicas.plan import PlanRequest, ReplicaAssignor
from assignors.replicas.plan_evaluation import NUM_ORDERS
from assignors.replicas.planning import PlanError, check_request
from assignors.replicas.registry import load, make
from assignors.replicas.state import NO_BROKER, BrokerState, ClusterState
from assignors.replicas.user_constraints import parse_constraints
from scenarios.clusters.cluster_reader import read_tool_output
from scenarios.kafka.formats.broker_list import parse_broker
from scenarios.kafka.formats.reassignment import parse_topics_to_move
from scenarios.kafka.plan_files import BatchLimits, LogDirs
from scenarios.language.errors import Mistake, Mistakes, ScenarioError, did_you_mean, format_list, format_value
from scenarios.language.text_files import MAX_IMPORT_BYTES, UnreadableError, read_text
from simulator.plurals import counted, plural

_REQUIRED: Final = {
    "time_limit_s": "--time-limit",
    "headroom": "--headroom",
    "goals": "--goals",
    "constraints": "--constraints",
}
"""The options that at least one strategy must support, by parameter."""


@dataclass(frozen=True, slots=True)
class StrategyOptions:
    """Options for the parameters of all strategies; None for options that are not given.

    Attributes:
        time_limit: the time limit of a search in seconds.
        headroom: the share of every capacity to keep free.
        goals: names of goals, separated by commas.
        constraints: a file with one linear constraint per line.
    """

    time_limit: float | None = None
    seed: int | None = None
    headroom: float | None = None
    goals: str | None = None
    constraints: Path | None = None


def strategy_parameters(options: StrategyOptions) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the given parameters by name, and for those that a strategy must support, the option that sets them.

    Raises PlanError if a goal is unknown; and ScenarioError if a line is not a constraint, or the file cannot be read.
    """
    values = {
        "time_limit_s": options.time_limit,
        "seed": options.seed,
        "headroom": options.headroom,
        "goals": None if options.goals is None else _parse_goals(options.goals),
        "constraints": None if options.constraints is None else _read_constraints(options.constraints),
    }
    parameters = {name: value for name, value in values.items() if value is not None}
    return parameters, {name: option for name, option in _REQUIRED.items() if name in parameters}


def build_strategies(
    names: Sequence[str], parameters: Mapping[str, Any], required: Mapping[str, str] | None = None
) -> dict[str, ReplicaAssignor]:
    """Create strategies by name.

    `names`: built-in or installed strategies, or `package.module:Class`; each may be followed by its own parameters,
    for example `leader_max_flow,costs=published,pruning=none`. `parameters`: parameters for every strategy that has
    them; a strategy's own parameters take precedence. `required`: the options of the parameters that at least one
    strategy must have, by parameter. Raises PlanError if no strategy has a required parameter, or a strategy's own
    parameter is not NAME=VALUE.
    """
    strategies: dict[str, ReplicaAssignor] = {}
    supported: set[str] = set()
    for text in dict.fromkeys(names):
        name, *own_parameters = text.split(",")
        info = load(name)
        fields = getattr(info.find_class(), "__dataclass_fields__", {})
        common = {key: value for key, value in parameters.items() if key in fields}
        supported |= common.keys()
        strategies[text] = make(info, {**common, **dict(_parse_parameter(name, entry) for entry in own_parameters)})
    for key, option in (required or {}).items():
        if key not in supported:
            raise PlanError(f"{option}: no strategy has this parameter ({format_list('strategies', strategies)})")
    return strategies


def _parse_parameter(strategy: str, text: str) -> tuple[str, Any]:
    """Return a name and a value: JSON, or else text; raise PlanError if the text is not NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise PlanError(f"--strategy {strategy}: '{text}' is not a parameter (NAME=VALUE, for example pruning=none)")
    try:
        return name.strip(), json.loads(value)
    except ValueError:
        return name.strip(), value


def _parse_goals(text: str) -> tuple[str, ...]:
    try:
        return GoalChain(goals=text).goals  # type: ignore[arg-type]
    except ValueError as error:
        raise PlanError(f"--goals: {error}") from None


def _read_constraints(file: Path) -> tuple[str, ...]:
    """Return the constraints of a file, without comments after #; raise ScenarioError if one is invalid."""
    try:
        text = read_text(file, MAX_IMPORT_BYTES, f"longer than {MAX_IMPORT_BYTES:,} bytes")
    except UnreadableError as error:
        raise ScenarioError([Mistake(str(file), error.line, "", str(error))]) from None
    constraints: list[str] = []
    mistakes = []
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            constraints += [constraint.text for constraint in parse_constraints(line.partition("#")[0])]
        except ValueError as error:
            mistakes.append(Mistake(str(file), number, "", str(error)))
    if not constraints and not mistakes:
        example = "leaders(broker=3) <= 10"
        mistakes.append(Mistake(str(file), None, "", f"no constraint; add one per line, for example {example}"))
    if mistakes:
        raise ScenarioError(mistakes)
    return tuple(constraints)


MAX_ORDERS = 1_000
"""Maximum number of input orders; every strategy runs in all of them."""

MAX_REORDERED = 200_000
"""The maximum number of partitions in all input orders together, by default; at least 2 orders are tested."""


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """The options of a plan, as given on the command line; raise PlanError if there are too many input orders.

    Attributes:
        remove: ids of brokers to decommission.
        add: brokers to add, as ID:RACK or ID:RACK:CAPACITY.
        replication_factor: the new replication factor of every partition; None to keep the current ones.
        topics: the topics that may change; an entry may list several, separated by commas. Empty for all topics.
        rack_aware: whether racks constrain the plan.
        imported: files with plans of other tools, to evaluate beside those of the strategies.
        limits: the limits of a batch, and the throttle.
        num_orders: the number of input orders in which each strategy runs to test its stability, at most `MAX_ORDERS`;
            0 for no test; None for 20, or fewer of more than 10,000 partitions.
    """

    remove: Sequence[int] = ()
    add: Sequence[str] = ()
    replication_factor: int | None = None
    topics: Sequence[str] = ()
    rack_aware: bool = True
    imported: Sequence[Path] = ()
    limits: BatchLimits = field(default_factory=BatchLimits)
    num_orders: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= (self.num_orders or 0) <= MAX_ORDERS:
            raise PlanError(f"--shuffles {self.num_orders}: must be from 0 to {MAX_ORDERS:,}")

    def orders_of(self, num_partitions: int) -> int:
        """Return the number of input orders for a cluster with this number of partitions."""
        if self.num_orders is not None:
            return self.num_orders
        return max(2, min(NUM_ORDERS, MAX_REORDERED // max(1, num_partitions)))


@dataclass(frozen=True, slots=True)
class PlanInput:
    """The input of replica strategies.

    Attributes:
        state: the cluster, including added brokers.
        request: the requirements for the plan.
        topics: the topics that may change; None for all.
        warnings: warnings for the user.
        log_dirs: the known log directories of replicas, which the files of a plan keep.
    """

    state: ClusterState
    request: PlanRequest
    topics: tuple[str, ...] | None
    warnings: tuple[str, ...]
    log_dirs: LogDirs = field(default_factory=dict)

    @property
    def rows(self) -> IntArray:
        """The rows of the partitions that may change."""
        if self.topics is None:
            return np.arange(self.state.num_partitions)
        topic_indices = [index for index, name in enumerate(self.state.topics) if name in self.topics]
        return np.flatnonzero(np.isin(self.state.topic, topic_indices))


def build_plan_input(
    state: ClusterState, options: PlanOptions, log_dirs: LogDirs | None = None, *, is_planned: bool = True
) -> PlanInput:
    """Build the input of replica strategies.

    `options`: what is asked of a plan. `log_dirs`: the known log directories of replicas. `is_planned` says whether
    strategies plan; the replication factors of imported plans are their own. Raises PlanError if an option refers to an
    unknown broker or topic, or no plan can meet the options.
    """
    alive = sorted(broker.id for broker in state.brokers if broker.is_alive)
    added = [_parse_added_broker(text, alive) for text in options.add]
    if len({broker.id for broker in added}) < len(added):
        raise PlanError(f"--add-broker: a broker occurs twice ({format_list('brokers to add', options.add)})")
    for broker in options.remove:
        if broker not in alive:
            raise PlanError(f"--remove-broker {broker}: unknown broker ({format_list('brokers', alive)})")
    extended = _add_brokers(state, added)
    remaining = {*alive, *(broker.id for broker in added)} - set(options.remove)
    topics = tuple(dict.fromkeys(name.strip() for text in options.topics for name in text.split(",") if name.strip()))
    if options.topics and not topics:
        raise PlanError("--topics: empty list of topics")
    request = PlanRequest(
        brokers=tuple(sorted(remaining)) if options.remove else None,
        replication_factor=options.replication_factor,
        rack_aware=options.rack_aware,
    )
    if options.remove and not remaining:
        raise PlanError("--remove-broker: no broker remains; keep one")
    check_request(extended, request, topics or None)
    warnings = tuple(_warnings(state, extended, request, added))
    plan_input = PlanInput(extended, request, topics or None, warnings, log_dirs or {})
    if is_planned:
        _check_factors(plan_input)
    return replace(plan_input, warnings=(*warnings, *_remaining_replicas(plan_input)))


def _remaining_replicas(plan_input: PlanInput) -> Iterator[str]:
    """Yield a warning if topics that may not change have replicas on brokers to decommission."""
    state, request = plan_input.state, plan_input.request
    if plan_input.topics is None or request.brokers is None:
        return
    frozen = np.setdiff1d(np.arange(state.num_partitions), plan_input.rows)
    replicas = state.replicas[frozen]
    remains = (replicas != NO_BROKER) & ~request.is_allowed(state)[replicas]
    if not remains.any():
        return
    brokers = state.ids[distinct(replicas[remains])].tolist()
    topics = [state.topics[index] for index in distinct(state.topic[frozen[remains.any(axis=1)]]).tolist()]
    count = counted(int(remains.sum()), "replica remains", "replicas remain")
    on = f"{plural(len(brokers), 'broker')} {', '.join(map(str, sorted(brokers)))}"
    yield f"{count} on {on}: --topics excludes their topics ({format_list('topics', topics)})"


def read_topics(path: Path, state: ClusterState) -> tuple[str, ...]:
    """Read the topics to move from a file of `kafka-reassign-partitions.sh`, in the order of the file."""
    listed = read_tool_output(path, parse_topics_to_move)
    mistakes = Mistakes(str(path))
    for topic in listed:
        if topic.name not in state.topics:
            suggestion = did_you_mean(topic.name, sorted(state.topics), "topics")
            mistakes.add(Mistake(str(path), topic.line, "", f"unknown topic {format_value(topic.name)} ({suggestion})"))
    mistakes.raise_any()
    return tuple(topic.name for topic in listed)


def _parse_added_broker(text: str, alive: Sequence[int]) -> BrokerState:
    try:
        broker = parse_broker(text)
    except ValueError as error:
        raise PlanError(f"--add-broker {text}: {error} (ID:RACK or ID:RACK:CAPACITY, for example 7:az1)") from None
    if broker.id in alive:
        raise PlanError(f"--add-broker {text}: broker {broker.id} exists already ({format_list('brokers', alive)})")
    return BrokerState(broker.id, broker.rack, broker.capacity_bytes, broker.capacity_bytes_per_s)


def _add_brokers(state: ClusterState, added: Sequence[BrokerState]) -> ClusterState:
    """Return the cluster with added brokers; a missing broker that returns keeps its row."""
    by_id = {broker.id: broker for broker in added}
    existing = [by_id.pop(broker.id, broker) for broker in state.brokers]
    return replace(state, brokers=(*existing, *by_id.values()))


def _warnings(
    state: ClusterState, extended: ClusterState, request: PlanRequest, added: Sequence[BrokerState]
) -> list[str]:
    warnings = [
        f"--add-broker: {broker.rack!r} is a new rack ({format_list('racks', state.racks)})"
        for broker in added
        if broker.rack is not None and state.racks and broker.rack not in state.racks
    ]
    num_racks = len(set(extended.rack[request.is_allowed(extended)].tolist()) - {NO_RACK})
    max_factor = int(request.factors(extended).max(initial=0))
    if request.is_rack_aware(extended) and max_factor > num_racks:
        limit = int(request.rack_limits(extended).max(initial=0))
        racks, replicas = counted(num_racks, "rack"), counted(limit, "replica")
        warnings.append(f"{max_factor} replicas over {racks}: up to {replicas} of a partition per rack")
    return warnings


def _check_factors(plan_input: PlanInput) -> None:
    """Raise PlanError if a replication factor exceeds the number of allowed brokers."""
    state, request, rows = plan_input.state, plan_input.request, plan_input.rows
    factors, num_allowed = request.factors(state)[rows], int(request.is_allowed(state).sum())
    if (factors > num_allowed).any():
        hardest = int(factors.argmax())
        option = "" if request.replication_factor is None else f"--replication-factor {request.replication_factor}: "
        name = state.name(int(rows[hardest]))
        raise PlanError(f"{option}{name}: replication factor {factors[hardest]} exceeds {num_allowed} allowed brokers")
