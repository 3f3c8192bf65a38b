"""Run workloads in processes of their own, with this code or that of an older revision."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Json = dict[str, Any]

SCRIPT = Path(__file__).with_name("workloads.py")
REPOSITORY = Path(__file__).resolve().parents[2]
BRIDGE = Path("assignors") / "jvm" / "bridge.jar"


@dataclass(frozen=True, slots=True)
class Limits:
    """When a workload is ended.

    Attributes:
        seconds: its elapsed time.
        memory_bytes: the address space of each of its processes.
    """

    seconds: float
    memory_bytes: int


def measure(workload: str, *arguments: str, code: Path, limits: Limits) -> Json:
    """Run a workload in a new process.

    `workload`: name of a function of `workloads.py`; `code`: root folder of the code to measure; `limits`: when it is
    ended. Returns its figures, or `failed` with the reason.
    """
    environment = {**os.environ, "PYTHONPATH": str(code), "PYTHONHASHSEED": "0"}
    command = [sys.executable, str(SCRIPT), workload, *arguments]
    if not workload.startswith(("ingest", "long_ingest", "sweep", "page")):  # Java reserves more memory than it uses.
        command = ["prlimit", f"--as={limits.memory_bytes}", *command]
    try:
        done = subprocess.run(
            command, cwd=code, env=environment, capture_output=True, text=True, timeout=limits.seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"over {limits.seconds / 60:.0f} min"}
    if done.returncode == 0:
        figures: Json = json.loads(done.stdout.splitlines()[-1])
        return figures
    if "MemoryError" in done.stderr or "Unable to allocate" in done.stderr:
        return {"failed": f"over {limits.memory_bytes / 1e9:.0f} GB"}
    return {"failed": "refused" if "can be simulated" in done.stderr else "failed", "error": done.stderr[-2_000:]}


@contextmanager
def code_of(revision: str, folder: Path, repository: Path = REPOSITORY) -> Iterator[Path]:
    """Check out an older revision below a folder.

    `repository`: the root folder of the repository; by default this one. Yields the root folder of its code.
    """
    code = folder / "before"
    git = ["git", "-C", str(repository), "worktree"]
    subprocess.run([*git, "add", "--detach", "--quiet", str(code), revision], check=True)
    try:
        if (repository / BRIDGE).exists():
            shutil.copyfile(repository / BRIDGE, code / BRIDGE)
        yield code
    finally:
        subprocess.run([*git, "remove", "--force", str(code)], check=True)
