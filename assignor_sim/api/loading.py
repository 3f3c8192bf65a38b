"""Scenario arguments of the API: a loaded scenario, a file, or the name of a shipped scenario."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from scenarios.language.overrides import Overrides
from scenarios.load import Scenario
from scenarios.load import load as load_file
from scenarios.shipped import find_scenario


def load(scenario: str | os.PathLike[str], overrides: Overrides = ()) -> Scenario:
    """Load a scenario.

    Args:
        scenario: a YAML file, or the name of a shipped scenario (`assignor-sim list`). A file takes precedence.
        overrides: pairs of a path in the scenario and its new value, or a mapping of them: a text as in `--set
            PATH=VALUE`, or a number, a boolean, a list or a mapping.

    Returns:
        The scenario.

    Raises:
        ScenarioError: the scenario is invalid; names every mistake with file and line.

    Examples:
        >>> import assignor_sim as sim
        >>> sim.load("cold_start", overrides=[("duration", "30m")]).name
        'cold-start'
    """
    return load_file(find_scenario(Path(scenario)), overrides)


def as_scenario(scenario: Scenario | str | os.PathLike[str]) -> Scenario:
    """Return a scenario; load it if it is a file or a name.

    Raises:
        ScenarioError: the scenario is invalid.
    """
    return scenario if isinstance(scenario, Scenario) else load(scenario)


def as_scenarios(
    scenarios: Scenario | str | os.PathLike[str] | Iterable[Scenario | str | os.PathLike[str]],
) -> list[Scenario]:
    """Return one or several scenarios as a list; load those that are files or names.

    Raises:
        ScenarioError: a scenario is invalid.
    """
    if isinstance(scenarios, Scenario | str | os.PathLike):
        return [as_scenario(scenarios)]
    return [as_scenario(scenario) for scenario in scenarios]
