"""Commands in poor environments succeed, or end with one error; they never leave half a result or a traceback."""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from simulator.results.files import output_lock
from tests.assignor_sim.conftest import SMALL

pytestmark = pytest.mark.answers

ROOT = Path(__file__).parents[2]
RUN = ("run", "small.yaml", "--out", "out")
NO_OUTPUT = ("run", "small.yaml")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    (work / "small.yaml").write_text(SMALL)
    return work


def call(
    folder: Path,
    *arguments: str,
    limit: Callable[[], None] | None = None,
    stdout: int = subprocess.PIPE,
    **environ: str,
) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "80", **environ}
    return subprocess.run(
        [sys.executable, "-m", "assignor_sim", *arguments],
        cwd=folder,
        env={key: value for key, value in environment.items() if value != "unset"},
        stdout=stdout,
        stderr=subprocess.PIPE,
        preexec_fn=limit,
        timeout=240,
    )


@pytest.mark.parametrize(
    "environ",
    [
        {"HOME": "/nonexistent", "NUMBA_CACHE_DIR": "/proc/nonexistent", "MPLCONFIGDIR": "/proc/nonexistent"},
        *(
            pytest.param(environ, marks=pytest.mark.slow)
            for environ in (
                {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
                {"TMPDIR": "/nonexistent"},
                {"HOME": "unset", "XDG_CACHE_HOME": "unset", "USER": "unset", "LOGNAME": "unset"},
                {"PYTHONIOENCODING": "cp1252"},
                {"COLUMNS": "20"},
            )
        ),
    ],
    ids=["no cache", "C locale", "no temporary folder", "no home", "cp1252", "20 columns"],
)
def test_run_succeeds(folder: Path, environ: dict[str, str]) -> None:
    result = call(folder, *RUN, **environ)
    assert result.returncode == 0, result.stderr.decode()
    assert b"Traceback" not in result.stderr
    assert b"small" in result.stdout
    assert (folder / "out" / "manifest.json").exists()


def test_few_open_files_suffice(folder: Path) -> None:
    result = call(folder, *RUN, limit=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
    assert (result.returncode, result.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("arguments", "out"),
    [
        (RUN, "out"),
        (("record", "small.yaml"), "small.expected.json"),
        (("schema", "-o", "schema.json"), "schema.json"),
        *(
            pytest.param(arguments, out, marks=pytest.mark.slow)
            for arguments, out in (
                (("report", "old", "-o", "page.html"), "page.html"),
                (("report", "old", "-o", "-", "--figures", "figures"), "figures/cross_rack_traffic.png"),
                (("init", "shop.yaml"), "shop.yaml"),
                (("frontier", "a_partition_changes_rack", "-o", "front.png"), "front.png"),
                (("plan", "small.yaml", "--out", "out"), "out"),
            )
        ),
    ],
)
def test_full_disk_leaves_the_old_state(folder: Path, arguments: tuple[str, ...], out: str) -> None:
    if "old" in arguments:
        assert call(folder, "run", "small.yaml", "--out", "old").returncode == 0
    before = sorted(path.name for path in folder.iterdir())
    limit = 2_000  # bytes per file
    result = call(
        folder,
        *arguments,
        limit=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        PYTHONDONTWRITEBYTECODE="1",  # Python would write incomplete modules, which other tests could not import.
    )
    assert result.returncode == 2, result.stderr.decode()
    assert result.stderr.decode() == f"error: {out}: cannot be written: File too large\n"
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.slow
def test_module_that_a_full_disk_has_made_incomplete_is_an_error(folder: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    environ = {"PYTHONPYCACHEPREFIX": str(cache), "PYTHONDONTWRITEBYTECODE": "unset"}
    record = ("record", "small.yaml")
    assert call(folder, *record, **environ).returncode == 0
    (module,) = cache.glob("**/assignor_sim/api/regression.*.pyc")
    os.truncate(module, 2_000)
    result = call(folder, *record, **environ)
    assert result.returncode == 2
    assert result.stderr.decode().strip().startswith(f"error: {module}: is incomplete"), result.stderr.decode()
    module.unlink()
    assert call(folder, *record, **environ).returncode == 0


def test_directory_that_cannot_be_written_is_an_error(folder: Path) -> None:
    for out in ("/proc/assignor-sim", "small.yaml/out", "/dev/null/out"):
        result = call(folder, "run", "small.yaml", "--out", out)
        assert result.returncode == 2, (out, result.stderr.decode())
        assert result.stderr.startswith(f"error: {out}: ".encode()), result.stderr.decode()
        assert len(result.stderr.splitlines()) == 1


def without_root_permissions() -> None:
    """Give up the capability with which root writes to read-only folders; the system has none of it for other users."""
    if os.getuid() == 0:
        drop_from_bounding_set, dac_override = 24, 1
        assert ctypes.CDLL(None).prctl(drop_from_bounding_set, dac_override, 0, 0, 0) == 0


@pytest.mark.parametrize(
    ("arguments", "out"),
    [(RUN, "out"), (("record", "small.yaml"), "small.expected.json"), (("schema", "-o", "schema.json"), "schema.json")],
)
def test_read_only_folder_is_an_error(folder: Path, arguments: tuple[str, ...], out: str) -> None:
    folder.chmod(0o555)
    try:
        result = call(folder, *arguments, limit=without_root_permissions)
    finally:
        folder.chmod(0o755)
    assert result.returncode == 2, result.stderr.decode()
    assert result.stderr.startswith(f"error: {out}: ".encode()), result.stderr.decode()
    assert b"ermission" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert sorted(path.name for path in folder.iterdir()) == ["small.yaml"]


def test_closed_standard_output_is_no_traceback(folder: Path) -> None:
    for close in (lambda: os.close(1), None):
        reading, writing = os.pipe()
        os.close(reading)
        try:
            result = call(folder, *NO_OUTPUT, stdout=writing, limit=close)
        finally:
            os.close(writing)
        assert b"Traceback" not in result.stderr, result.stderr.decode()
        assert b"Exception ignored" not in result.stderr, result.stderr.decode()


def test_full_standard_output_is_an_error(folder: Path) -> None:
    with open("/dev/full", "wb") as full:
        result = call(folder, *NO_OUTPUT, stdout=full.fileno())
    assert result.returncode != 0
    assert b"Traceback" not in result.stderr, result.stderr.decode()


@pytest.mark.parametrize(
    ("arguments", "target"),
    [(RUN, "out"), (("record", "small.yaml"), "small.expected.json"), (("schema", "-o", "schema.json"), "schema.json")],
)
def test_second_writer_is_an_error_that_names_the_first(folder: Path, arguments: tuple[str, ...], target: str) -> None:
    with output_lock(folder / target):
        result = call(folder, *arguments)
    assert result.returncode == 2
    assert f"in use by process {os.getpid()} on ".encode() in result.stderr
    assert not (folder / target).exists()
    assert sorted(path.name for path in folder.iterdir()) == ["small.yaml"]
