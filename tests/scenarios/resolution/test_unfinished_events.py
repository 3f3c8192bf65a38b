"""Events that the end of the run cuts off are reported with their paths."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from assignor_sim.cli import app
from scenarios.load import loads

SCENARIO = """\
cluster:
  brokers: {count: 3, racks: [az1, az2, az3]}
  topics: [{name: clicks, partitions: 12, replication_factor: 1, bytes_per_s: 3 MB/s}]
application: {id: counts, subtopologies: [{sources: [clicks]}]}
clients:
  - {name: app, count: 10, racks: [az1, az2, az3]}
  - {name: late, count: 4, racks: [az1, az2, az3], starts: false}
assignors: [high_availability, sticky]
duration: 8h
events:
  - {at: 1h, EVENT}
"""

UNFINISHED_CASES = [
    (
        "crash: {clients: app-0, down: 10h}",
        "crash.down: the return, at 11h, is not before the end of the run (8h); "
        "set duration to more than 11h, or remove down for a permanent outage",
    ),
    ("crash: {clients: app, pick: 2, down: 7h}", "crash.down: the return, at 8h, is not before"),
    ("rack_outage: {rack: az1, down: 8h}", "rack_outage.down: the return, at 9h, is not before"),
    ("broker_loss: {brokers: [1], down: 10h}", "broker_loss.down: the return, at 11h, is not before"),
    (
        "rolling_bounce: {clients: app, down: 20m, pause: 40m}",
        "rolling_bounce: only 7 of 10 clients have restarted before the run ends at 8h; "
        "the last is at 10h20m; set a longer duration, or shorten the event",
    ),
    ("broker_bounce: {brokers: [0, 1, 2], down: 1h, pause: 3h}", "broker_bounce: only 2 of 3 brokers have restarted"),
    ("scale_out: {clients: late, every: 3h}", "scale_out.every: only 3 of 4 clients join before the run ends at 8h; "),
    ("leave: {clients: app, every: 1h}", "leave.every: only 7 of 10 clients leave before the run ends at 8h; "),
]
FINISHED_EVENTS = (
    "crash: {clients: app-0, down: 6h 59m}",
    "crash: {clients: app-0}",
    "rolling_bounce: {clients: app}",
    "broker_bounce: {brokers: [0, 1, 2]}",
    "scale_out: {clients: late, every: 2h}",
)


def scenario_with(event: str) -> str:
    return SCENARIO.replace("EVENT", event)


@pytest.mark.parametrize(("event", "message"), UNFINISHED_CASES)
def test_unfinished_event_causes_a_warning_with_its_path(event: str, message: str) -> None:
    [warning] = loads(scenario_with(event), "late.yaml").warnings
    assert warning.startswith(f"late.yaml:11: events[0].{message}")


@pytest.mark.parametrize("event", FINISHED_EVENTS)
def test_event_that_ends_in_time_or_never_causes_no_warning(event: str) -> None:
    assert loads(scenario_with(event)).warnings == ()


def test_overridden_duration_is_used() -> None:
    assert loads(scenario_with(UNFINISHED_CASES[0][0]), overrides=[("duration", "12h")]).warnings == ()
    [warning] = loads(scenario_with(FINISHED_EVENTS[0]), overrides=[("duration", "3h")]).warnings
    assert "the return, at 7h59m, is not before the end of the run (3h)" in warning


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "late.yaml"
    path.write_text(scenario_with(UNFINISHED_CASES[0][0]), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "command",
    [
        ("run", "FILE"),
        ("run", "FILE", "--format=json", "--seed=1", "--seed=2"),
        ("compare", "FILE", "--assignor=high_availability", "--assignor=sticky", "--seeds=2"),
    ],
)
def test_commands_print_the_warning_once_to_stderr(file: Path, command: tuple[str, ...]) -> None:
    result = CliRunner().invoke(app, [str(file) if part == "FILE" else part for part in command])
    assert result.exit_code == 0, result.output
    message = f"{file}:11: events[0].crash.down: the return, at 11h, is not before the end"
    assert result.stderr.count(message) == 1
    assert "warning: " in result.stderr
    assert message not in result.stdout


def test_dry_run_of_a_sweep_prints_the_warning(file: Path) -> None:
    sweep = file.with_name("sweep.yaml")
    factor = "{name: standbys, path: application.configs.num.standby.replicas, values: [0, 1]}"
    sweep.write_text(f"name: late\nscenario: late.yaml\nfactors: [{factor}]\n", encoding="utf-8")
    result = CliRunner().invoke(app, ["sweep", str(sweep), "--out", str(file.with_name("out")), "--dry-run"])
    assert result.exit_code == 0, result.output
    assert result.stderr.count("events[0].crash.down: the return, at 11h") == 1


def test_validate_prints_warnings(file: Path) -> None:
    result = CliRunner().invoke(app, ["validate", str(file)])
    assert (result.exit_code, result.stdout.count("warning: ")) == (0, 1)
    assert f"warning: {file}:11: events[0].crash.down: " in result.stdout
