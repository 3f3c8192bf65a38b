"""The same command writes the same bytes, whatever the process, the machine's settings and the folder are.

`PYTHONS="/a/bin/python3.12 /b/bin/python3.13"` names other interpreters to compare with; they need the locked packages.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.assignor_sim.conftest import SMALL

pytestmark = pytest.mark.answers

ROOT = Path(__file__).parents[2]
COMMANDS = (
    ("run", "small.yaml", "--out", "out", "--assignor", "high_availability", "--assignor", "optimal"),
    ("report", "out", "-o", "page.html"),
    ("record", "small.yaml"),
)
RACK_AWARE = SMALL.replace(
    "configs: {num.standby.replicas: 1}",
    "configs: {num.standby.replicas: 1, rack.aware.assignment.strategy: min_traffic}",
)
VARIANTS = {
    "hash seed": {"PYTHONHASHSEED": "4711"},
    "locale": {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "time zone": {"TZ": "Pacific/Kiritimati"},
    "without Numba": {"NUMBA_DISABLE_JIT": "1"},
    "threads": {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"},
    "terminal": {"COLUMNS": "20", "TERM": "dumb", "NO_COLOR": "1"},
    "optimized": {"PYTHONOPTIMIZE": "1"},
}
OTHER_PYTHONS = os.environ.get("PYTHONS", "").split()


def results(folder: Path, python: str = sys.executable, **environment: str) -> dict[str, bytes]:
    folder.mkdir(parents=True)
    (folder / "small.yaml").write_text(RACK_AWARE)
    for arguments in COMMANDS:
        subprocess.run(
            [python, "-m", "assignor_sim", *arguments],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0", "TZ": "UTC", **environment},
            check=True,
            capture_output=True,
            timeout=600,
        )
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return results(tmp_path_factory.mktemp("expected") / "a")


@pytest.mark.parametrize(
    "variant",
    [variant if variant == "hash seed" else pytest.param(variant, marks=pytest.mark.slow) for variant in VARIANTS],
)
def test_results_do_not_depend_on_the_process(tmp_path: Path, expected: dict[str, bytes], variant: str) -> None:
    check(results(tmp_path / "another folder, ö" / "deeper", **VARIANTS[variant]), expected)


@pytest.mark.parametrize("python", OTHER_PYTHONS)
def test_results_do_not_depend_on_the_release_of_python(
    tmp_path: Path, expected: dict[str, bytes], python: str
) -> None:
    written = results(tmp_path / "out", python)
    check(without_release(written, python), without_release(expected, sys.executable))


def without_release(written: dict[str, bytes], python: str) -> dict[str, bytes]:
    """Return files without the release of Python, which the manifest, pages and stored results name."""
    command = [python, "-c", "import platform; print(platform.python_version(), end='')"]
    release = subprocess.run(command, check=True, capture_output=True).stdout
    return {name: content.replace(release, b"RELEASE") for name, content in written.items()}


def check(written: dict[str, bytes], expected: dict[str, bytes]) -> None:
    assert written.keys() == expected.keys()
    assert [name for name in written if written[name] != expected[name]] == []
    assert {"out/manifest.json", "out/report.html", "page.html", "small.expected.json"} <= written.keys()
