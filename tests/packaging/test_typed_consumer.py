"""A user's project is type-checked against the wheel, with mypy and pyright in strict mode."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.answers

CONSUMER = Path(__file__).parent / "consumer" / "consumer.py"
CACHE = Path(__file__).parents[2] / ".mypy_cache" / "consumer"


@pytest.fixture(scope="module")
def project(installed: Path) -> Path:
    shutil.copy(CONSUMER, installed)
    return installed


@pytest.mark.slow
def test_mypy_accepts_the_consumer(project: Path) -> None:
    # The cache is valid wherever the wheel is unpacked: mypy compares the content of files, by relative paths.
    options = [
        "--strict",
        "--config-file=",
        f"--cache-dir={CACHE}",
        "--follow-imports=silent",
        "--ignore-missing-imports",
    ]
    process = subprocess.run(
        [sys.executable, "-m", "mypy", *options, CONSUMER.name],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert process.returncode == 0, process.stdout + process.stderr


@pytest.mark.slow
def test_pyright_accepts_the_consumer(project: Path) -> None:
    pyright = shutil.which("pyright", path=str(Path(sys.executable).parent))
    if pyright is None or shutil.which("node") is None:
        pytest.skip("needs pyright (development dependency) and Node.js")
    settings = {
        "include": [CONSUMER.name],
        "extraPaths": [str(project)],
        "typeCheckingMode": "strict",
        "reportMissingTypeStubs": False,
    }
    (project / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    process = subprocess.run(
        [pyright, "--pythonpath", sys.executable], cwd=project, capture_output=True, text=True, timeout=300
    )
    if process.returncode not in (0, 1):
        pytest.skip(f"pyright cannot be started (it is fetched from the npm registry): {process.stderr[-300:]}")
    assert process.returncode == 0, process.stdout
