from __future__ import annotations

import pytest

from pipeline.recommend.errors import RecommendError
from pipeline.recommend.limits import DOES_NOT_CONVERGE, Limit, parse_limits, violations
from pipeline.recommend.objective import MAX_CHARS, SHORT_NAMES, parse_objective
from reports.analysis.metrics import METRIC
from tests.pipeline.recommend.synthetic_runs import row

RUN = row(cross_rack_usd=12.0, active_moves=40, downtime_ms=90_000, time_to_converge_ms=600_000, restored_bytes=5e9)


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
def test_an_objective_is_worked_out_as_arithmetic_in_the_units_of_its_names(text: str, value: float) -> None:
    assert parse_objective(text).of(RUN) == pytest.approx(value)


def test_every_short_name_is_that_of_a_metric() -> None:
    assert {metric for metric, _ in SHORT_NAMES.values()} <= set(METRIC)


def test_an_objective_says_once_which_metrics_it_looks_at() -> None:
    assert parse_objective("usd + moves + 2*usd").metrics == ("cross_rack_usd", "active_moves")


@pytest.mark.parametrize("text", ["worst_downtime + usd", "usd / (moves - 40)", "usd * 1e308 * 1e308"])
def test_an_objective_without_a_finite_value_is_not_known(text: str) -> None:
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
def test_what_is_no_arithmetic_is_refused_where_it_stands(text: str, part: str) -> None:
    with pytest.raises(RecommendError) as error:
        parse_objective(text)
    line, caret = str(error.value).splitlines()
    assert line[caret.index("^") :].startswith(part)


def test_a_name_that_is_not_known_gets_a_guess_and_all_short_names() -> None:
    with pytest.raises(RecommendError, match=r"'mooves'.*did you mean 'moves'\?.*usd, cross_rack, moves"):
        parse_objective("mooves")


@pytest.mark.parametrize("text", ["", "usd +", "usd moves", "(usd", "3 + 4", "\0", "usd; moves", "x := usd"])
def test_what_says_nothing_that_can_be_small_is_refused(text: str) -> None:
    with pytest.raises(RecommendError, match="--objective"):
        parse_objective(text)


def test_an_objective_may_be_as_deep_as_it_may_be_long() -> None:
    assert parse_objective("-" * (MAX_CHARS - 3) + "usd").of(RUN) == -12


@pytest.mark.parametrize("text", ["usd+" * MAX_CHARS + "usd", "(" * 240 + "usd" + ")" * 240])
def test_an_objective_that_is_too_long_or_nested_is_refused(text: str) -> None:
    with pytest.raises(RecommendError, match="--objective"):
        parse_objective(text)


def test_limits_are_read_in_the_units_of_people() -> None:
    assert parse_limits(3, "20s", "1h 30m") == [
        Limit("--max-moves", "active_moves", 3),
        Limit("--max-downtime", "downtime_ms", 20_000),
        Limit("--max-convergence", "time_to_converge_ms", 5_400_000),
    ]
    assert [str(each) for each in parse_limits(3, "20s")] == ["--max-moves 3", "--max-downtime 20 s"]


def test_a_time_that_is_none_is_refused_under_its_option() -> None:
    with pytest.raises(RecommendError, match="--max-downtime: "):
        parse_limits(downtime="long")


def test_a_run_is_acceptable_up_to_its_limits() -> None:
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
        ({"cross_rack_usd": None}, "has no usd: one of its metrics is unknown"),
    ],
)
def test_a_run_that_comes_to_no_rest_or_figure_is_not_acceptable(columns: dict[str, object], cause: str) -> None:
    assert [violation.cause for violation in violations({**RUN, **columns}, parse_objective("usd"), ())] == [cause]


def test_a_run_that_ends_while_standbys_catch_up_is_acceptable_unless_convergence_matters() -> None:
    restoring = {**RUN, "verdict": "restoring", "time_to_converge_ms": None}
    assert violations(restoring, parse_objective("usd"), parse_limits(40)) == []
    assert [violation.cause for violation in violations(restoring, parse_objective("convergence"), ())] == [
        DOES_NOT_CONVERGE
    ]
    assert [
        violation.cause for violation in violations(restoring, parse_objective("usd"), parse_limits(convergence="10h"))
    ] == [DOES_NOT_CONVERGE]
