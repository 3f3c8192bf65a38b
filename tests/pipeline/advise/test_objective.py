from __future__ import annotations

import pytest

from pipeline.advise.objective import MAX_CHARS, SHORT_NAMES, RecommendError, parse_objective
from reports.analysis.metrics import METRIC
from tests.pipeline.advise.synthetic_runs import row

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
