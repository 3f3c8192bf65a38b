"""Objectives and limits of runs, and violations of them."""

from __future__ import annotations

import pytest

from pipeline.advise.objective import (
    DOES_NOT_CONVERGE,
    MAX_CHARS,
    SHORT_NAMES,
    Limit,
    RecommendError,
    check_price,
    parse_limits,
    parse_objective,
    violations,
)
from reports.analysis.metrics import METRIC
from scenarios.load import loads
from tests.pipeline.advise.shop_space import SHOP
from tests.pipeline.advise.synthetic_runs import row
from tests.pipeline.sweep.examples import SCENARIO

pytestmark = pytest.mark.spark

RUN = row(
    cross_rack_usd_per_day=12.0, active_moves=40, downtime_ms=90_000, time_to_converge_ms=600_000, restored_bytes=5e9
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("usd", 12),
        ("usd + 0.05*moves", 14),
        ("usd+moves*2/8", 22),
        ("-(usd - moves) * 2", 56),
        ("downtime", 90),
        ("convergence + restored", 15),
        ("downtime_ms / 1e3 + +1", 91),
    ],
)
def test_objective_is_evaluated_in_units_of_its_names(text: str, value: float) -> None:
    assert parse_objective(text).of(RUN) == pytest.approx(value)


def test_every_short_name_is_a_metric() -> None:
    assert {metric for metric, _ in SHORT_NAMES.values()} <= set(METRIC)


def test_objective_lists_its_metrics_once() -> None:
    assert parse_objective("usd + moves + 2*usd").metrics == ("cross_rack_usd_per_day", "active_moves")


@pytest.mark.parametrize("text", ["worst_downtime + usd", "usd / (moves - 40)", "usd * 1e308 * 1e308"])
def test_objective_without_finite_value_is_unknown(text: str) -> None:
    assert parse_objective(text).of(RUN) is None


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("usd + mooves", "mooves"),
        ("usd + 2 ** moves", "2 **"),
        ("usd + abs(moves)", "abs"),
        ("usd + moves.real", "moves.real"),
        ("usd + 'a'", "'a'"),
        ("usd + True", "True"),
        ("usd + (moves > 3)", "moves >"),
        ("usd + moves[0]", "moves[0]"),
        ("1e999 * usd", "1e999"),
        ("usd + (lambda: 1)", "lambda"),
        ("usd + ü", "ü"),
        ("'ü' + usd", "'ü'"),
        ("usd + usd if moves else 1", "usd + usd if"),
    ],
)
def test_unsupported_syntax_is_rejected_with_position(text: str, part: str) -> None:
    with pytest.raises(RecommendError) as error:
        parse_objective(text)
    line, caret = str(error.value).splitlines()
    assert line[caret.index("^") :].startswith(part)


def test_unknown_metric_gets_a_suggestion() -> None:
    with pytest.raises(RecommendError, match=r"'mooves'.*did you mean 'moves'\?.*usd, cross_rack, moves"):
        parse_objective("mooves")


@pytest.mark.parametrize("text", ["", "usd +", "usd moves", "(usd", "3 + 4", "\0", "usd; moves", "x := usd"])
def test_expression_without_metric_is_rejected(text: str) -> None:
    with pytest.raises(RecommendError, match="--objective"):
        parse_objective(text)


def test_nesting_is_limited_only_by_length() -> None:
    assert parse_objective("-" * (MAX_CHARS - 3) + "usd").of(RUN) == -12


@pytest.mark.parametrize("text", ["usd+" * MAX_CHARS + "usd", "(" * 240 + "usd" + ")" * 240])
def test_too_long_or_nested_objective_is_rejected(text: str) -> None:
    with pytest.raises(RecommendError, match="--objective"):
        parse_objective(text)


def test_cost_objective_without_price_is_rejected() -> None:
    unpriced = loads(SCENARIO.replace("price: aws", ""), "shop")
    with pytest.raises(RecommendError, match="--set price=aws"):
        check_price(unpriced, parse_objective("moves + 2*usd"))
    check_price(unpriced, parse_objective("moves"))
    check_price(SHOP, parse_objective("usd"))


def test_limits_are_parsed_with_units() -> None:
    assert parse_limits(3, "20s", "1h 30m") == [
        Limit("--max-moves", "active_moves", 3),
        Limit("--max-downtime", "downtime_ms", 20_000),
        Limit("--max-convergence", "time_to_converge_ms", 5_400_000),
    ]
    assert [str(limit) for limit in parse_limits(3, "20s")] == ["--max-moves 3", "--max-downtime 20 s"]


def test_invalid_duration_is_rejected_with_its_option() -> None:
    with pytest.raises(RecommendError, match="--max-downtime: "):
        parse_limits(downtime="long")


def test_run_within_limits_has_no_violation() -> None:
    objective = parse_objective("usd")
    assert violations(RUN, objective, parse_limits(40, "90s", "10m")) == []
    assert [violation.cause for violation in violations(RUN, objective, parse_limits(39, "60s"))] == [
        "exceeds --max-moves 39",
        "exceeds --max-downtime 60 s",
    ]


@pytest.mark.parametrize(
    ("columns", "cause"),
    [
        ({"error": "ValueError: no such rack"}, "raises an error (ValueError: no such rack)"),
        ({"verdict": "failed", "cause": "no member"}, "ends without an assignment (no member)"),
        ({"verdict": "empty"}, "ends without an assignment (empty)"),
        ({"verdict": "cycling"}, DOES_NOT_CONVERGE),
        ({"verdict": "probing", "time_to_converge_ms": None}, DOES_NOT_CONVERGE),
        ({"cross_rack_usd_per_day": None}, "has no usd: one of its metrics is unknown"),
    ],
)
def test_failed_or_unconverged_run_is_a_violation(columns: dict[str, object], cause: str) -> None:
    assert [violation.cause for violation in violations({**RUN, **columns}, parse_objective("usd"), ())] == [cause]


def test_restoring_run_is_a_violation_only_if_convergence_matters() -> None:
    restoring = {**RUN, "verdict": "restoring", "time_to_converge_ms": None}
    assert violations(restoring, parse_objective("usd"), parse_limits(40)) == []
    assert [violation.cause for violation in violations(restoring, parse_objective("convergence"), ())] == [
        DOES_NOT_CONVERGE
    ]
    assert [
        violation.cause for violation in violations(restoring, parse_objective("usd"), parse_limits(convergence="10h"))
    ] == [DOES_NOT_CONVERGE]
