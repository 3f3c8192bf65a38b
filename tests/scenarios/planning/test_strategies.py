"""Strategies are built from names and parameters of the command line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assignors.errors import UnknownAssignorError
from assignors.replicas.planning import PlanError
from scenarios.language.errors import ScenarioError
from scenarios.planning.plan_input import StrategyOptions, build_strategies, strategy_parameters


def test_only_given_options_become_parameters() -> None:
    assert strategy_parameters(StrategyOptions()) == ({}, {})
    parameters, required = strategy_parameters(StrategyOptions(time_limit=7.5, seed=3, headroom=0.2))
    assert parameters == {"time_limit_s": 7.5, "seed": 3, "headroom": 0.2}
    assert required == {"time_limit_s": "--time-limit", "headroom": "--headroom"}


def test_goals_are_parsed() -> None:
    parameters, required = strategy_parameters(StrategyOptions(goals="RackAwareGoal,ReplicaDistributionGoal"))
    assert parameters == {"goals": ("RackAwareGoal", "ReplicaDistributionGoal")}
    assert required == {"goals": "--goals"}
    with pytest.raises(PlanError, match=r"^--goals: unknown goal 'RackGoal'"):
        strategy_parameters(StrategyOptions(goals="RackGoal"))


def test_constraints_are_read_without_comments(tmp_path: Path) -> None:
    file = tmp_path / "constraints.txt"
    file.write_text("# limits\nleaders(broker=3) <= 10  # busy\n\nreplicas() >= 0\n")
    parameters, required = strategy_parameters(StrategyOptions(constraints=file))
    assert parameters == {"constraints": ("leaders(broker=3) <= 10", "replicas() >= 0")}
    assert required == {"constraints": "--constraints"}


@pytest.mark.parametrize(
    ("text", "location"),
    [("leaders(broker=3) <= 10\nleaders <=\n", ":2: "), ("# nothing\n", ": no constraint; add one per line")],
)
def test_invalid_constraints_are_rejected(tmp_path: Path, text: str, location: str) -> None:
    file = tmp_path / "constraints.txt"
    file.write_text(text)
    with pytest.raises(ScenarioError, match="^" + re.escape(f"{file}{location}")):
        strategy_parameters(StrategyOptions(constraints=file))


def test_missing_constraints_file_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"no such file$"):
        strategy_parameters(StrategyOptions(constraints=tmp_path / "missing"))


def test_strategies_receive_the_parameters_that_they_have() -> None:
    goals = ("RackAwareGoal", "ReplicaDistributionGoal")
    strategies = build_strategies(["exact_flow", "goal_chain", "exact_flow"], {"time_limit_s": 7.5, "goals": goals})
    assert list(strategies) == ["exact_flow", "goal_chain"]
    assert strategies["exact_flow"].time_limit_s == 7.5  # type: ignore[attr-defined]
    assert strategies["goal_chain"].goals == goals  # type: ignore[attr-defined]


def test_own_parameters_of_a_strategy_take_precedence() -> None:
    strategies = build_strategies(["movement_mip,time_limit_s=3"], {"time_limit_s": 7.5})
    assert strategies["movement_mip,time_limit_s=3"].time_limit_s == 3  # type: ignore[attr-defined]


def test_option_that_no_strategy_supports_is_rejected() -> None:
    with pytest.raises(PlanError, match=re.escape("--goals: no strategy has this parameter (strategies: exact_flow)")):
        build_strategies(["exact_flow"], {"goals": ("RackAwareGoal",)}, {"goals": "--goals"})


def test_malformed_parameter_is_rejected() -> None:
    message = "--strategy movement_mip: 'pruning' is not a parameter (NAME=VALUE, for example pruning=none)"
    with pytest.raises(PlanError, match=re.escape(message)):
        build_strategies(["movement_mip,pruning"], {})


def test_unknown_strategy_is_rejected() -> None:
    with pytest.raises(UnknownAssignorError, match="exact_flo"):
        build_strategies(["exact_flo"], {})
