"""A wheel of the checkout: built once, and unpacked as pip does it."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from hatch_build import BRIDGE, NESTED_PACKAGES

ROOT = Path(__file__).parents[2]
SOURCES = ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel and return its file; if the Java bridge is not built, an empty file takes its place."""
    folder = tmp_path_factory.mktemp("wheel")
    root = ROOT if (ROOT / BRIDGE).is_file() else copy_with_empty_bridge(tmp_path_factory.mktemp("checkout"))
    return Path(next(WheelBuilder(str(root)).build(directory=str(folder), versions=["standard"])))


def copy_with_empty_bridge(folder: Path) -> Path:
    for name in SOURCES:
        shutil.copy(ROOT / name, folder / name)
    for package in ("assignor_sim", *NESTED_PACKAGES):
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / BRIDGE).touch()
    return folder


@pytest.fixture(scope="session")
def installed(wheel: Path) -> Path:
    """Unpack the wheel and return the folder."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(wheel.parent / "site")
    return wheel.parent / "site"
