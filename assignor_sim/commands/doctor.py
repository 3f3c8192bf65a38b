"""`assignor-sim doctor`: what the commands need on this machine: Python, Java, packages, a terminal, free space."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Final

import typer

from assignor_sim.console import options
from assignor_sim.console.messages import DIFFERENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reports.document import Report

SPARK_COMMANDS: Final = (
    "aggregate",
    "checkup --master",
    "generate metrics",
    "ingest",
    "recommend --sweeps",
    "report s3a://…",
    "review --master",
    "sweep",
)
JAVA_COMMANDS: Final = (*SPARK_COMMANDS, "run --assignor java:…")
"""Commands that start Java: those that run on Spark, and every command with an assignor in Java."""
KAFKA_COMMANDS: Final = ("checkup --bootstrap", "import --bootstrap", "plan --bootstrap", "watch --bootstrap")
METRICS_COMMANDS: Final = ("watch --metrics",)

_PYTHON: Final = ((3, 11), (3, 14))
_JAVA_TIMEOUT_S: Final = 20
_MIN_COLUMNS: Final = 80
_MIN_FREE_BYTES: Final = 1_000_000_000
_CHARACTERS: Final = "─→≤±"


@dataclass(frozen=True, slots=True)
class Check:
    """What one check found.

    Attributes:
        name: what was checked.
        found: what was found, for example a version; empty if nothing was.
        problem: what is missing or unsuitable, and what to do; empty if nothing is.
        commands: the commands that the problem affects; empty if it affects only how output looks, or all commands.
        is_required: whether the affected commands fail.
    """

    name: str
    found: str
    problem: str = ""
    commands: tuple[str, ...] = ()
    is_required: bool = True

    @property
    def status(self) -> str:
        """`OK`, `missing` or, for what affects only how output looks, `note`."""
        if not self.problem:
            return "OK"
        return "missing" if self.is_required else "note"


def check_machine(columns: int) -> list[Check]:
    """Check this machine.

    `columns`: the width of the terminal in characters. Returns the checks, in a fixed order.
    """
    return [
        check_python(sys.version_info[:3]),
        check_java(os.environ),
        check_package("Spark", "pyspark", "pyspark", SPARK_COMMANDS, "install assignor-sim again: pip install pyspark"),
        check_package("kafka-python", "kafka", "kafka-python", KAFKA_COMMANDS, "pip install 'assignor-sim[kafka]'"),
        check_package(
            "prometheus-client",
            "prometheus_client",
            "prometheus-client",
            METRICS_COMMANDS,
            "pip install 'assignor-sim[watch]'",
        ),
        check_terminal(columns, sys.stdout.encoding or "ascii"),
        check_temporary_folder(),
    ]


def check_python(release: tuple[int, ...]) -> Check:
    """Check the release of Python."""
    oldest, newest = _PYTHON
    found = ".".join(map(str, release))
    if oldest <= release[:2] <= newest:
        return Check("Python", found)
    bounds = f"{oldest[0]}.{oldest[1]} to {newest[0]}.{newest[1]}"
    return Check("Python", found, f"supported are Python {bounds}; make an environment with one of them")


def check_java(environment: Mapping[str, str]) -> Check:
    """Check the Java that Spark and assignors in Java start: that of JAVA_HOME, or else the first on PATH."""
    from assignors.jvm.process import INSTALL_JAVA, OLDEST_JAVA, java_executable, java_release, missing_java

    executable = java_executable(environment)
    if executable is None:
        return Check("Java", "", missing_java(environment), JAVA_COMMANDS)
    try:
        answer = subprocess.run(
            [executable, "-version"], capture_output=True, text=True, errors="replace", timeout=_JAVA_TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Check("Java", executable, f"does not start ({type(error).__name__}); {INSTALL_JAVA}", JAVA_COMMANDS)
    release = java_release(answer.stderr + answer.stdout)
    if release is None:
        return Check("Java", executable, f"does not print its version; {INSTALL_JAVA}", JAVA_COMMANDS)
    number, version = release
    found = f"{version} ({executable})"
    if number < OLDEST_JAVA:
        return Check("Java", found, f"older than {OLDEST_JAVA}; {INSTALL_JAVA}", JAVA_COMMANDS)
    return Check("Java", found)


def check_package(name: str, module: str, distribution: str, commands: tuple[str, ...], install: str) -> Check:
    """Check that a package can be found, without importing it."""
    try:
        is_found = importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        is_found = False
    if not is_found:
        return Check(name, "", install, commands)
    try:
        return Check(name, version(distribution))
    except PackageNotFoundError:
        return Check(name, "of unknown version")


def check_terminal(columns: int, encoding: str) -> Check:
    """Check width and encoding of the terminal, and report whether output has colors."""
    from reports.render.terminal.console import wants_color

    found = f"{columns} columns, {encoding}, {'colors' if wants_color() else 'no colors'}"
    return Check("Terminal", found, "; ".join(_terminal_problems(columns, encoding)), is_required=False)


def _terminal_problems(columns: int, encoding: str) -> Iterator[str]:
    if columns < _MIN_COLUMNS:
        yield f"lines wrap below {_MIN_COLUMNS} columns; widen the terminal, or set COLUMNS"
    try:
        _CHARACTERS.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        yield "some characters are replaced by similar ones; set PYTHONUTF8=1"


def check_temporary_folder() -> Check:
    """Check that files can be written to the temporary folder, and that it has free space."""
    name = "Temporary folder"
    try:
        folder = tempfile.gettempdir()
        with tempfile.NamedTemporaryFile(prefix="assignor-sim-") as file:
            file.write(b"0")
            file.flush()
        free_bytes = shutil.disk_usage(folder).free
    except OSError as error:
        reason = error.strerror or str(error)
        return Check(name, "", f"{reason}; set TMPDIR to a folder with free space", ("run --out", *SPARK_COMMANDS))
    found = f"{folder}, {free_bytes / 1e9:,.1f} GB free"
    if free_bytes < _MIN_FREE_BYTES:
        return Check(name, found, "less than 1 GB is free; set TMPDIR to another folder", SPARK_COMMANDS)
    return Check(name, found)


def doctor(
    format_: options.Format = options.OutputFormat.TABLE,
) -> None:
    """Check what the commands need on this machine; exit with code 1 if something is missing.

    Checked are Python, Java, Spark, kafka-python, the terminal and the temporary folder.

    Example: [bold]assignor-sim doctor[/bold]
    """
    from dataclasses import asdict

    from reports.render.terminal.console import terminal_width

    checks = check_machine(terminal_width(None))
    records = [{**asdict(check), "status": check.status} for check in checks]
    options.print_report(format_, _report(checks, records), lambda: records)
    if any(check.status == "missing" for check in checks):
        raise typer.Exit(DIFFERENT)


def _report(checks: Sequence[Check], records: Sequence[Mapping[str, object]]) -> Report:
    """Return a row per check, then what is missing and which commands are affected."""
    from reports.analysis.cells import Cell
    from reports.document import (
        Block,
        Paragraph,
        Report,
        ReportColumn,
        ReportRow,
        ReportSection,
        ReportTable,
        records_table,
    )

    emphases = {"OK": "good", "missing": "bad"}
    rows: list[ReportRow] = [
        [
            Cell(check.status, emphasis=emphases.get(check.status, "")),
            check.name,
            Cell(
                "; ".join(filter(None, (check.found, check.problem))),
                (f"needed by: {', '.join(check.commands)}",) if check.commands else (),
            ),
        ]
        for check in checks
    ]
    columns = [ReportColumn(title.lower(), title) for title in ("Status", "What", "Found")]
    keys = {key: key for key in ("status", "name", "found", "problem", "commands")}
    missing = [check for check in checks if check.status == "missing"]
    affected = sorted({command for check in missing for command in check.commands})
    if any(not check.commands for check in missing):
        result = "Commands may fail until this is corrected."
    elif affected:
        result = f"All commands work except {', '.join(affected)}."
    else:
        result = "All commands work."
    blocks: list[Block] = [
        records_table("checks", keys, records),
        Paragraph(result),
        ReportTable("machine", columns, rows, has_notes=True, only=("terminal", "markdown")),
    ]
    return Report("This machine", [ReportSection("checks", "", blocks, leads=True)])
