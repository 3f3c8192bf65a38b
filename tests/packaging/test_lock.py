"""requirements.lock pins every dependency of pyproject.toml by hash, for every supported Python."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

DEPENDENCIES = [
    *PYPROJECT["build-system"]["requires"],
    *PYPROJECT["project"]["dependencies"],
    *PYPROJECT["dependency-groups"]["dev"],
]
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]


def read_entries(lock: str) -> list[str]:
    """Return one text per pin of a lock file, with its hashes and without comments."""
    lines = [line for line in lock.splitlines() if not line.lstrip().startswith("#")]
    return "\n".join(lines).replace("\\\n", "").splitlines()


def read_pin(entry: str) -> Requirement:
    return Requirement(entry.split("--hash", maxsplit=1)[0].strip())


def read_pins(lock: str, python: str) -> dict[str, list[str]]:
    """Return the versions that a lock file installs on Linux with one Python version, by canonical package name."""
    environment = {"python_version": python, "python_full_version": f"{python}.1", "sys_platform": "linux"}
    versions: dict[str, list[str]] = {}
    for pin in map(read_pin, read_entries(lock)):
        if pin.marker is None or pin.marker.evaluate(environment):
            (specifier,) = pin.specifier
            assert specifier.operator == "=="
            versions.setdefault(canonicalize_name(pin.name), []).append(specifier.version)
    return versions


@pytest.mark.parametrize("python", PYTHONS)
def test_declared_dependencies_are_pinned_to_allowed_versions(python: str) -> None:
    pins = read_pins(LOCK, python)
    for dependency in map(Requirement, DEPENDENCIES):
        assert any(map(dependency.specifier.contains, pins.get(canonicalize_name(dependency.name), []))), dependency


@pytest.mark.parametrize("python", PYTHONS)
def test_each_package_is_pinned_to_one_version_per_python(python: str) -> None:
    assert {name: versions for name, versions in read_pins(LOCK, python).items() if len(versions) > 1} == {}


def test_every_pin_has_a_hash() -> None:
    hash_option = re.compile(r"--hash=sha256:[0-9a-f]{64}(\s|$)")
    assert [entry for entry in read_entries(LOCK) if not hash_option.search(entry)] == []


def test_lock_has_no_host_and_no_path() -> None:
    assert re.findall(r".*(?:://|@|^-|--(?!hash=)|/).*", LOCK, flags=re.MULTILINE) == []


def test_lock_states_how_it_is_made() -> None:
    assert "# Made from pyproject.toml by `make lock`." in LOCK.splitlines()[:3]


def test_machine_check_allows_the_python_versions_of_the_lock() -> None:
    script = (ROOT / "tools" / "check_machine.sh").read_text(encoding="utf-8")
    oldest, newest = (
        int(re.search(rf"^{name}_PYTHON=(\d+)", script, re.MULTILINE)[1]) for name in ("OLDEST", "NEWEST")
    )
    assert [f"3.{minor}" for minor in range(oldest, newest + 1)] == PYTHONS
    assert PYPROJECT["project"]["requires-python"] == f">=3.{oldest}"
