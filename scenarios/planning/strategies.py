"""Replica strategies from names and parameters, as given on the command line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from assignors.replicas.goal_chain import GoalChain
from assignors.replicas.plan import ReplicaAssignor
from assignors.replicas.planning import PlanError
from assignors.replicas.registry import load, make
from assignors.replicas.user_constraints import parse_constraints
from scenarios.language.errors import Mistake, ScenarioError, format_list
from scenarios.language.text_files import MAX_IMPORT_BYTES, UnreadableError, read_text

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
        seed: the random seed.
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
    """Return the name and the value of a parameter: a JSON number, true, false or null, and text otherwise.

    Raises PlanError if the text is not NAME=VALUE.
    """
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
    """Return the constraints of a file; text after # is a comment.

    Raises ScenarioError if a line is not a constraint, the file has none, or it cannot be read.
    """
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
