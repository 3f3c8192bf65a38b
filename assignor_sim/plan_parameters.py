"""Options of `plan` that are parameters of strategies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from assignors.replicas.goal_chain import GoalChain
from assignors.replicas.planning import PlanError
from assignors.replicas.programs.user_constraints import parse_constraints
from scenarios.language.errors import Mistake, ScenarioError
from scenarios.language.text_files import MAX_IMPORT_BYTES, UnreadableError, read_text

_NEEDED: Final = {
    "time_limit_s": "--time-limit",
    "headroom": "--headroom",
    "goals": "--goals",
    "constraints": "--constraints",
}
"""The options that make no sense without a strategy that takes them, by parameter."""


@dataclass(frozen=True, slots=True)
class ParameterOptions:
    """The options; None for those that are not given.

    Attributes:
        time_limit: seconds that a search may take.
        seed: of what a strategy draws.
        headroom: the share of every capacity to keep free.
        goals: names of goals, separated by commas.
        constraints: a file with a linear constraint a line.
    """

    time_limit: float | None = None
    seed: int | None = None
    headroom: float | None = None
    goals: str | None = None
    constraints: Path | None = None


def strategy_parameters(options: ParameterOptions) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the parameters by name, and by name the option of those that at least one strategy has to have.

    Raises:
        PlanError: a goal is unknown.
        ScenarioError: a line is not a constraint, or the file cannot be read.
    """
    given = {
        "time_limit_s": options.time_limit,
        "seed": options.seed,
        "headroom": options.headroom,
        "goals": None if options.goals is None else _goals(options.goals),
        "constraints": None if options.constraints is None else _constraints(options.constraints),
    }
    known = {name: value for name, value in given.items() if value is not None}
    return known, {name: option for name, option in _NEEDED.items() if name in known}


def _goals(text: str) -> tuple[str, ...]:
    try:
        return GoalChain(goals=text).goals  # type: ignore[arg-type]
    except ValueError as error:
        raise PlanError(f"--goals: {error}") from None


def _constraints(file: Path) -> tuple[str, ...]:
    """Return the constraints of a file; what follows a # is a comment."""
    try:
        text = read_text(file, MAX_IMPORT_BYTES, f"longer than {MAX_IMPORT_BYTES:,} bytes")
    except UnreadableError as error:
        raise ScenarioError([Mistake(str(file), None, "", str(error))]) from None
    found: list[str] = []
    mistakes = []
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            found += [each.text for each in parse_constraints(line.partition("#")[0])]
        except ValueError as error:
            mistakes.append(Mistake(str(file), number, "", str(error)))
    if not found and not mistakes:
        mistakes.append(Mistake(str(file), None, "", "no constraint; a line has one, such as leaders(broker=3) <= 10"))
    if mistakes:
        raise ScenarioError(mistakes)
    return tuple(found)
