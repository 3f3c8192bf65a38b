"""Limits of runs, and violations of them."""

from __future__ import annotations

import pytest

from pipeline.advise.objective import (
    DOES_NOT_CONVERGE,
    Limit,
    RecommendError,
    parse_limits,
    parse_objective,
    violations,
)
from tests.pipeline.advise.synthetic_runs import row

pytestmark = pytest.mark.spark

RUN = row(
    cross_rack_usd_per_day=12.0, active_moves=40, downtime_ms=90_000, time_to_converge_ms=600_000, restored_bytes=5e9
)


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
