"""The smaller commands, and how the command line starts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from assignor_sim.cli import app
from tests.assignor_sim.conftest import Shell

COMMANDS = tuple(str(command.name) for command in app.registered_commands)


def test_help_names_every_command_in_its_panel(shell: Shell) -> None:
    ended = shell("--help")
    assert ended.code == 0
    for word in ("Scenarios", "Simulation", "Results", *COMMANDS):
        assert word in ended.out


def test_help_of_each_command_shows_an_example(shell: Shell) -> None:
    for command in COMMANDS:
        assert "Example: assignor-sim " in shell(command, "--help").out, command


def test_help_imports_nothing_heavy() -> None:
    program = (
        "import sys; from assignor_sim import cli\n"
        "heavy = {'numpy', 'pandas', 'pyarrow', 'pydantic', 'matplotlib', 'numba', 'ortools', 'pyspark', 'simpy'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_run_that_writes_nothing_imports_neither_spark_nor_figures(shell: Shell, small: Path) -> None:
    program = (
        "import sys; sys.argv = ['assignor-sim', 'run', 'small.yaml']\n"
        "from assignor_sim.cli import app\n"
        "app(standalone_mode=False)\n"
        "print(sorted({'pyspark', 'matplotlib', 'pandas'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=shell.folder, capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_list_says_whose_answers_an_assignor_gives(shell: Shell) -> None:
    listed = json.loads(shell("list", "--format", "json").out)
    by_name = {row["assignor"]: row for row in listed["assignors"]}
    assert by_name["high_availability"]["kafka_version"]
    assert by_name["high_availability"]["identical_to_kafka"]
    assert "order_processing" in [row["scenario"] for row in listed["scenarios"]]
    table = shell("list").out
    assert "HighAvailabilityTaskAssignor" in table


def test_validate_says_ok_or_every_mistake(shell: Shell, small: Path) -> None:
    assert "small.yaml: OK" in shell("validate", "small.yaml", "order_processing").out
    text = small.read_text().replace("racks: [az1], threads: 2, starts", "threds: 2, process_id: az9, starts")
    shell.write("bad.yaml", text)
    ended = shell("validate", "small.yaml", "bad.yaml")
    assert ended.code == 2
    assert "process_id" in ended.err
    assert "threds" in ended.err
    assert "bad.yaml:15" in ended.err
    assert "small.yaml: OK" in ended.out


def test_schema_is_json_and_goes_where_it_is_told(shell: Shell) -> None:
    printed = json.loads(shell("schema").out)
    assert printed["type"] == "object"
    assert shell("schema", "-o", "schema.json").code == 0
    assert json.loads((shell.folder / "schema.json").read_text()) == printed


def test_output_into_a_closed_pipe_is_no_error(shell: Shell) -> None:
    command = f"{sys.executable} -m assignor_sim schema | head -1"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    assert done.stdout.strip() == "{"
