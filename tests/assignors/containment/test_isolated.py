"""A custom assignor in a process of its own: it may crash, hang in a C library, or exhaust its memory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import assignor_sim as sim
from assignors.containment import isolation
from assignors.containment.limits import CallLimits
from tests.assignors.containment import misbehaving as bad
from tests.assignors.containment.test_contained import FAILURES, IN_PROCESS, ISOLATED, SCENARIO, check_failure

pytestmark = pytest.mark.answers


@pytest.fixture(autouse=True)
def no_processes_left() -> Iterator[None]:
    yield
    isolation.stop_processes()


ISOLATED_FAILURES: list[tuple[type, str]] = [
    *FAILURES,
    (bad.Crashing, "Crashing: its process was killed by SIGSEGV"),
    (bad.ExitingInC, "ExitingInC: its process ended with exit code 7"),
    (bad.Greedy, r"Greedy: ran out of memory \(misbehaving\.py:\d+\)"),
    *(
        (cls, rf"{cls.__name__}: took longer than 2 s, and its process was killed; .*")
        for cls in (bad.Endless, bad.Unresponsive)
    ),
]


@pytest.mark.parametrize(("assignor", "message"), ISOLATED_FAILURES, ids=lambda value: getattr(value, "__name__", ""))
def test_isolated_failure_ends_one_run_only(assignor: type, message: str) -> None:
    check_failure(assignor, ISOLATED, message)


def test_isolated_change_of_the_state_is_found() -> None:
    check_failure(bad.CHANGING[0], ISOLATED, "Changing: cannot run in another process .*", 1)


@pytest.mark.parametrize("assignor", [bad.Correct, bad.default_assignment, sim.HighAvailability])
def test_contained_assignor_gives_the_same_tables(assignor: object) -> None:
    """Also the steps and the leader's compute time, for a class that the registry does not know."""

    class Subclass(sim.HighAvailability):
        pass

    expected = sim.run(SCENARIO, "high_availability").tables
    for candidate, limits in ((assignor, IN_PROCESS), (assignor, ISOLATED), (Subclass, IN_PROCESS)):
        tables = sim.run(SCENARIO, candidate, limits=limits).tables  # type: ignore[arg-type]
        for name in ("assignments", "task_states", "traffic"):
            if name in expected:
                assert tables[name].drop_columns("assignor") == expected[name].drop_columns("assignor"), name


def test_isolated_assignor_records_its_steps() -> None:
    name = "tests.assignors.containment.test_isolated:Inherited"
    in_process, isolated = (sim.run(SCENARIO, name, limits=limits).tables for limits in (CallLimits(), ISOLATED))
    assert in_process == isolated
    assert isolated["reasons"].num_rows


class Inherited(sim.HighAvailability):
    """Kafka's default under another name, which records its steps."""


def test_process_is_used_again_and_ends() -> None:
    sim.run(SCENARIO, [bad.Correct], seed=[1, 2], limits=ISOLATED)
    [process] = isolation._PROCESSES.values()
    assert process.is_running
    isolation.stop_processes()
    assert not process.is_running


def test_output_is_kept_out_of_standard_output(capfd: pytest.CaptureFixture[str]) -> None:
    sim.run(SCENARIO, bad.Printing, limits=ISOLATED)
    out, err = capfd.readouterr()
    assert out == ""
    assert "assigning 6" in err
