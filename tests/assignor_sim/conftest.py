"""Running the command line as a person would, in a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Shell:
    folder: Path

    def __call__(self, *arguments: str, stdin: str = "", **environment: str) -> Ended:
        done = subprocess.run(
            [sys.executable, "-m", "assignor_sim", *arguments],
            cwd=self.folder,
            input=stdin,
            capture_output=True,
            text=True,
            env={**os.environ, "COLUMNS": "160", **environment},
            timeout=120,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


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
