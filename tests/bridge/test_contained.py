"""Whatever an assignor in Java does ends one run, which says so; other runs are as if it were not there."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import assignor_sim as sim
from assignors import registry
from assignors.containment.limits import CallLimits
from assignors.errors import UnknownAssignorError
from assignors.jvm.process import LOCK, java_process, stop_java
from tests.assignor_sim.conftest import SMALL

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

SCENARIO = sim.loads(SMALL)
LIMITS = CallLimits(timeout_s=5.0, memory_bytes=2**27)
FAILURES = {
    "Throwing": r"raised java\.lang\.IllegalStateException: no \[31msuch key \(Misbehaving\.java:\d+\)",
    "Failing": r"raised java\.lang\.AssertionError \(Misbehaving\.java:\d+\)",
    "Recursive": r"raised java\.lang\.StackOverflowError \(Misbehaving\.java:\d+\)",
    "Exiting": "its process ended with exit code 3",
    "Halting": "its process ended with exit code 4",
    "Killing": "its process was killed by SIGKILL",
    "Endless": r"took longer than 5 s, and its process was killed; allow more with --assignor-timeout",
    "Hoarding": r"raised java\.lang\.OutOfMemoryError: Java heap space \(Misbehaving\.java:\d+\)",
    "Returning": r"raised java\.lang\.NullPointerException: assign returned null .*",
    "Doubling": r"ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES: task 0_0 is active on .*",
    "Inventing": r"UNKNOWN_TASK_ID: task 77_7, assigned to .*",
    "Random": r"is not deterministic: for the same state, task .*",
}


def reference(jar: Path, name: str) -> str:
    return f"java:org.example.Misbehaving${name}@{jar}"


@pytest.mark.parametrize("name", FAILURES)
def test_failure_ends_one_run_only(jar: Path, name: str) -> None:
    assignors = ["high_availability", reference(jar, name), "java:kafka-streams@4.3.1:sticky"]
    result = sim.run(SCENARIO, assignors, limits=LIMITS)
    rows = result.tables["runs"].to_pylist()
    assert [row["verdict"] for row in rows] == ["stable", "failed", "stable"]
    assert re.fullmatch(rf"round \d+: Misbehaving\${name}: {FAILURES[name]}", rows[1]["cause"]), rows[1]["cause"]
    assert "\x1b" not in rows[1]["cause"]
    assert rows[0] == sim.run(SCENARIO, "high_availability").tables["runs"].to_pylist()[0]


@pytest.mark.parametrize("name", ["Printing", "Configured"])
def test_unusual_behavior_is_no_failure(jar: Path, name: str, capfd: pytest.CaptureFixture[str]) -> None:
    stop_java()  # A new one has the standard error of this test.
    rows = sim.run(SCENARIO, reference(jar, name), limits=LIMITS).tables["runs"].to_pylist()
    assert rows[0]["verdict"] == "stable"
    output, errors = capfd.readouterr()
    assert output == ""
    assert ("printed by Java" in errors) == (name == "Printing")


def test_deadline_is_a_delay_that_does_not_depend_on_the_clock(jar: Path) -> None:
    traces = sim.run(SCENARIO, "high_availability", capture=True, keep_traces=True).traces
    state = next(iter(traces.values())).captured_rounds[0].state
    assignor = registry.make(registry.load(reference(jar, "Following")))
    assert {assignor.assign(state).followup_rebalance_delay_ms for _ in range(20)} == {90_000}


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("Nothing", r"is not an assignor: it does not implement .*\.TaskAssignor"),
        ("Missing", r"its jars have no class org\.example\.Misbehaving\$Missing"),
        ("Unbuildable", r"has no constructor without parameters"),
        ("Refusing", r"raised java\.lang\.UnsupportedOperationException: not today \(Misbehaving\.java:\d+\)"),
    ],
)
def test_class_that_is_no_assignor_is_rejected(jar: Path, name: str, problem: str) -> None:
    with pytest.raises(UnknownAssignorError, match=problem):
        registry.load(reference(jar, name))


def test_old_java_is_rejected(jar: Path, tmp_path: Path) -> None:
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n", encoding="utf-8")
    program.chmod(0o755)
    for home, expected in (
        (tmp_path, "is Java 11; install a JDK 17 or newer"),
        (jar.parent, "has no bin/java"),
    ):
        done = run_command(reference(jar, "Printing"), JAVA_HOME=str(home))
        assert done.returncode == 2
        assert expected in done.stderr
        assert "Traceback" not in done.stderr


def test_kafka_that_is_not_here_is_reported_without_maven(tmp_path: Path) -> None:
    done = run_command("java:kafka-streams@4.3.1:ha", XDG_CACHE_HOME=str(tmp_path), PATH="/nowhere")
    assert done.returncode == 2
    assert "kafka-streams 4.3.1 were not used here before, and Maven (mvn)" in done.stderr


def run_command(assignor: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "assignor_sim", "run", "order_processing", "--assignor", assignor]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, env={**os.environ, **environment}, check=False
    )


@pytest.mark.parametrize("name", ["Printing", "Endless"])
def test_java_ends_with_the_process_that_started_it(jar: Path, name: str) -> None:
    code = (
        "import sys\n"
        "import assignor_sim as sim\n"
        "from assignors.jvm.process import running_processes\n"
        "from assignors import registry\n"
        f"registry.load({reference(jar, name)!r})\n"
        "print(running_processes()[0]._process._process.pid, flush=True)\n"
        f"sim.run(sim.loads({SMALL!r}), {reference(jar, name)!r})\n"
        "sys.stdin.read()\n"
    )
    python = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert python.stdout is not None
    assert python.stdin is not None
    java = int(python.stdout.readline())
    time.sleep(1)  # Endless is in its call by now, on any machine that starts Python in a minute.
    assert is_running(java)
    python.send_signal(signal.SIGKILL)
    python.wait()
    python.stdin.close()
    python.stdout.close()
    deadline = time.monotonic() + 60
    while is_running(java) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not is_running(java)


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_class_path_of_one_assignor_does_not_disturb_another() -> None:
    """Kafka initializes its configs when an assignor of a path is first asked, after another path was loaded."""
    stop_java()
    released = ["java:kafka-streams@4.3.1:ha", "java:kafka-streams@3.9.2:ha"]
    for assignor in released:
        registry.load(assignor)
    rows = sim.run(SCENARIO, released).tables["runs"].to_pylist()
    assert [row["verdict"] for row in rows] == ["stable", "stable"]


def test_one_jvm_serves_all_assignors(jar: Path) -> None:
    for assignor in (reference(jar, "Printing"), "java:kafka-streams@4.3.1:ha", "java:kafka-streams@3.9.2:ha"):
        registry.load(assignor)
    with LOCK:
        first = java_process(CallLimits())
        sim.run(SCENARIO, [reference(jar, "Printing"), "java:kafka-streams@3.9.2:ha"])
        assert java_process(CallLimits()) is first
