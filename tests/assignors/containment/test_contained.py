"""Whatever a custom assignor does ends one run, which says so; other runs are as if it were not there."""

from __future__ import annotations

import re
import signal
import threading
import time
from functools import cache
from typing import Any

import pytest

import assignor_sim as sim
from assignors import registry
from assignors.containment.limits import CallLimits
from assignors.errors import ChangedStateError, CustomAssignorError, NotDeterministicError
from tests.assignor_sim.conftest import SMALL
from tests.assignors.containment import misbehaving as bad
from tests.contract.broken_assignors import ChangesState

SCENARIO = sim.loads(SMALL)
IN_PROCESS = CallLimits(timeout_s=0.5)
ISOLATED = CallLimits(timeout_s=2.0, isolate=True, memory_bytes=2**28)


FAILURES: list[tuple[type, str]] = [
    (bad.Raising, r"Raising: raised KeyError: '\\x1b\[31mno such\\nkey' \(misbehaving\.py:\d+\)"),
    (bad.Unprintable, r"Unprintable: raised BrokenError \(misbehaving\.py:\d+\)"),
    (bad.Exiting, r"Exiting: called sys\.exit\(3\) \(misbehaving\.py:\d+\)"),
    (bad.ExitingAtOnce, r"ExitingAtOnce: called os\._exit\(0\) \(misbehaving\.py:\d+\)"),
    (bad.Replacing, r"Replacing: called os\.execv\(…\) \(misbehaving\.py:\d+\)"),
    (bad.Forking, r"Forking: raised ValueError: its child has ended \(misbehaving\.py:\d+\)"),
    (bad.Late, r"Late: followup_rebalance_delay_ms of .* is more than 4,503,599,627,370,496 \(.*\), expected fewer .*"),
    (bad.LateInColumns, r"LateInColumns: followup_rebalance_delay_ms of the columns is more than .*"),
    (bad.Recursive, r"Recursive: raised RecursionError: maximum recursion depth .*"),
    (bad.WrongType, r"WrongType: returned a dict, expected a TaskAssignment"),
    (
        bad.NotDeterministic,
        r"NotDeterministic: is not deterministic: for the same state, task .* on .*, then on .*",
    ),
    (bad.Counting, r"Counting: is not deterministic: for the same state, task 0_0 on .*, then on .*"),
]
HANGING: list[tuple[type, str]] = [
    (cls, rf"{cls.__name__}: took longer than 0\.5 s \(misbehaving\.py:\d+\); allow more with --assignor-timeout")
    for cls in (bad.Endless, bad.Stubborn, bad.Sleeping)
]


def check_failure(assignor: object, limits: CallLimits, message: str, rebalance: int = 2) -> None:
    result = sim.run(SCENARIO, ["high_availability", assignor, "sticky"], limits=limits)  # type: ignore[list-item]
    rows = result.tables["runs"].to_pylist()
    assert [row["verdict"] for row in rows] == ["stable", "failed", "stable"]
    assert re.fullmatch(f"round {rebalance}: {message}", rows[1]["cause"]), rows[1]["cause"]
    assert [rows[0], rows[2]] == rows_of_others()


@cache
def rows_of_others() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = sim.run(SCENARIO, ["high_availability", "sticky"]).tables["runs"].to_pylist()
    return rows


@pytest.mark.parametrize(
    ("assignor", "message"), [*FAILURES, *HANGING], ids=lambda value: getattr(value, "__name__", "")
)
def test_failure_ends_one_run_only(assignor: type, message: str) -> None:
    check_failure(assignor, IN_PROCESS, message)
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("assignor", "limits", "kind"),
    [
        (bad.Raising, IN_PROCESS, CustomAssignorError),
        (bad.Raising, ISOLATED, CustomAssignorError),
        (bad.NotDeterministic, IN_PROCESS, NotDeterministicError),
        (bad.NotDeterministic, ISOLATED, NotDeterministicError),
        (ChangesState, IN_PROCESS, ChangedStateError),
    ],
    ids=["raises", "raises, isolated", "not deterministic", "not deterministic, isolated", "changes the state"],
)
def test_trace_has_the_class_of_the_error(assignor: type, limits: CallLimits, kind: type) -> None:
    assert sim.run(SCENARIO, assignor, seed=1, limits=limits, capture=True).trace.failure_kind is kind


@pytest.mark.parametrize("assignor", bad.CHANGING, ids=[change.__name__ for change in bad.CHANGES])
def test_change_of_the_state_is_found_and_has_no_effect(assignor: type) -> None:
    check_failure(assignor, IN_PROCESS, "Changing: changed the state, which is read-only.*")


def test_assignor_that_cannot_be_built_fails_in_the_first_rebalance() -> None:
    message = (
        r"misbehaving:BrokenConstructor: raised RuntimeError: no license while it was built \(misbehaving\.py:\d+\)"
    )
    check_failure(bad.BrokenConstructor, IN_PROCESS, ".*" + message, 1)


def test_function_fails_like_a_class() -> None:
    check_failure(lambda state: 1 // 0, IN_PROCESS, r"FunctionAssignor: raised ZeroDivisionError: .*", 1)


def test_output_is_kept_out_of_standard_output(capfd: pytest.CaptureFixture[str]) -> None:
    sim.run(SCENARIO, bad.Printing)
    out, err = capfd.readouterr()
    assert out == ""
    assert "assigning 6" in err


def test_time_limit_applies_in_other_threads() -> None:
    causes: list[str] = []

    def simulate() -> None:
        trace = sim.run(SCENARIO, bad.Endless, limits=IN_PROCESS).trace
        causes.append(str(trace.failure))

    thread = threading.Thread(target=simulate)
    thread.start()
    thread.join(20)
    assert "took longer than 0.5 s" in causes[0]


def test_outer_alarm_survives() -> None:
    rang: list[int] = []
    former = signal.signal(signal.SIGALRM, lambda number, frame: rang.append(number))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        registry.make_contained(registry.resolve(bad.Correct).info).assign(sim.ApplicationState.of([], []))
        time.sleep(0.3)
        assert rang == [signal.SIGALRM]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)


def test_limits_are_checked() -> None:
    for timeout_s, memory_bytes in ((0, 1), (float("nan"), 1), (-1, 1), (1, 0)):
        with pytest.raises(ValueError, match="expected"):
            CallLimits(timeout_s=timeout_s, memory_bytes=memory_bytes)


def test_latest_follow_up_does_not_end_the_run() -> None:
    [row] = sim.run(SCENARIO, bad.VeryLate).tables["runs"].to_pylist()
    assert row["verdict"] == "probing"
