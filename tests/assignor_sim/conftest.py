"""Run `assignor-sim` in a temporary folder: in this process, or in a new one where that makes a difference."""

from __future__ import annotations

import contextlib
import functools
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest
import typer.testing
from typer.testing import CliRunner

from assignor_sim.cli import app

# Typer builds all commands anew for each call, which takes longer than many of the calls.
typer.testing._get_command = functools.cache(typer.testing._get_command)


@dataclass(frozen=True)
class CommandResult:
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


Ended = CommandResult  # former name, used by tests/docs


@dataclass(frozen=True)
class Shell:
    """Runs each command in a new process."""

    folder: Path

    def __call__(self, *arguments: str, stdin: str = "", **environment: str) -> CommandResult:
        process = subprocess.run(
            [sys.executable, "-m", "assignor_sim", *arguments],
            cwd=self.folder,
            input=stdin,
            capture_output=True,
            text=True,
            env={**os.environ, "COLUMNS": "160", **environment},
            timeout=120,
        )
        return CommandResult(process.returncode, process.stdout, process.stderr)

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path


@dataclass(frozen=True)
class InProcessShell(Shell):
    """Runs each command in this process; an exception that a command does not handle reaches the test."""

    def __call__(self, *arguments: str, stdin: str = "", **environment: str) -> CommandResult:
        with contextlib.chdir(self.folder), mock.patch.object(sys, "argv", ["assignor-sim", *arguments]):
            result = CliRunner().invoke(
                app, arguments, input=stdin, env={"COLUMNS": "160", **environment}, catch_exceptions=False
            )
        return CommandResult(result.exit_code, result.stdout, result.stderr)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return InProcessShell(tmp_path)


@pytest.fixture
def process_shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.fixture
def importable_folder(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Make the modules in the folder of the shell importable; forget them after the test."""
    monkeypatch.syspath_prepend(shell.folder)
    yield shell.folder
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(shell.folder)):
            del sys.modules[name]


SMALL = """\
name: small
cluster:
  brokers: {count: 3, racks: [az1, az2, az3]}
  topics:
    - {name: orders, partitions: 6, replication_factor: 2, bytes_per_s: 6 MB/s, size: 6 GB}
application:
  id: app
  configs: {num.standby.replicas: 1}
  subtopologies:
    - id: 0
      sources: [orders]
      stores: [{name: totals, size: 600 MB, bytes_per_s: 60 kB/s}]
clients:
  - {name: app, count: 3, racks: [az1, az2, az3], threads: 2}
  - {name: late, count: 1, racks: [az1], threads: 2, starts: false}
events:
  - {at: 30m, scale_out: {clients: late}}
assignors:
  - high_availability
  - {label: sticky, assignor: legacy_sticky}
duration: 6h
seeds: [1]
"""


@pytest.fixture
def small(shell: Shell) -> Path:
    return shell.write("small.yaml", SMALL)
