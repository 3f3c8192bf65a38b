"""Help, start-up, and the commands `list`, `validate` and `schema`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from assignor_sim.cli import app
from tests.assignor_sim.conftest import Shell

COMMANDS = tuple(str(command.name) for command in app.registered_commands)


def test_help_lists_all_commands(shell: Shell) -> None:
    result = shell("--help")
    assert result.code == 0
    for word in ("Start", "Understand", "Decide", "Test", "Brokers", "Data", *COMMANDS):
        assert word in result.out


def test_help_of_every_command_has_an_example(shell: Shell) -> None:
    for command in COMMANDS:
        assert "Example: assignor-sim " in shell(command, "--help").out, command


def test_start_imports_no_large_package() -> None:
    program = (
        "import sys; from assignor_sim import cli\n"
        "large = {'numpy', 'pandas', 'pyarrow', 'pydantic', 'matplotlib', 'numba', 'ortools', 'pyspark', 'simpy'}\n"
        "print(sorted(large & set(sys.modules)))"
    )
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "[]"


def test_run_without_output_imports_neither_spark_nor_matplotlib(shell: Shell, small: Path) -> None:
    program = (
        "import sys; sys.argv = ['assignor-sim', 'run', 'small.yaml']\n"
        "from assignor_sim.cli import app\n"
        "app(standalone_mode=False)\n"
        "print(sorted({'pyspark', 'matplotlib', 'pandas'} & set(sys.modules)), file=sys.stderr)"
    )
    process = subprocess.run(
        [sys.executable, "-c", program], cwd=shell.folder, capture_output=True, text=True, check=True
    )
    assert process.stderr.strip() == "[]"


def test_list_shows_reimplemented_kafka_assignors(shell: Shell) -> None:
    lists = json.loads(shell("list", "--format", "json").out)
    by_name = {row["assignor"]: row for row in lists["assignors"]}
    assert by_name["high_availability"]["kafka_version"]
    assert by_name["high_availability"]["identical_to_kafka"]
    assert "order_processing" in [row["scenario"] for row in lists["scenarios"]]
    table = shell("list").out
    assert "HighAvailabilityTaskAssignor" in table


def test_validate_prints_ok_or_all_mistakes(shell: Shell, small: Path) -> None:
    assert "small.yaml: OK" in shell("validate", "small.yaml", "order_processing").out
    text = small.read_text().replace("racks: [az1], threads: 2, starts", "threds: 2, process_id: az9, starts")
    shell.write("bad.yaml", text)
    result = shell("validate", "small.yaml", "bad.yaml")
    assert result.code == 2
    assert "process_id" in result.err
    assert "threds" in result.err
    assert "bad.yaml:15" in result.err
    assert "small.yaml: OK" in result.out


def test_schema_is_written_to_standard_output_or_file(shell: Shell) -> None:
    printed = json.loads(shell("schema").out)
    assert printed["type"] == "object"
    assert shell("schema", "-o", "schema.json").code == 0
    assert json.loads((shell.folder / "schema.json").read_text()) == printed


def test_closed_pipe_is_not_an_error(shell: Shell) -> None:
    command = f"{sys.executable} -m assignor_sim schema | head -1"
    process = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True)
    assert "Traceback" not in process.stderr
    assert process.stdout.strip() == "{"
