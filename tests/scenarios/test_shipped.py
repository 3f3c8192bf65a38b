"""Scenarios and sweeps are found by path, or by the name of a shipped one."""

from __future__ import annotations

from pathlib import Path

import pytest

from scenarios.shipped import find_scenario, find_shipped, library_folder, list_scenarios, list_sweeps


@pytest.mark.parametrize("name", ["cold_start", "cold_start.yaml"])
def test_shipped_scenario_is_found_by_name(name: str) -> None:
    assert find_scenario(Path(name)) == library_folder() / "cold_start.yaml"


def test_shipped_sweep_is_found_by_name() -> None:
    first = list_sweeps()[0]
    assert find_shipped(Path(first.stem), list_sweeps()) == first


def test_existing_file_takes_precedence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cold_start").write_text("")
    assert find_scenario(Path("cold_start")) == Path("cold_start")


@pytest.mark.parametrize("path", ["missing", "folder/cold_start"])
def test_other_paths_are_returned_unchanged(path: str) -> None:
    assert find_scenario(Path(path)) == Path(path)


def test_shipped_files_are_sorted_and_separate() -> None:
    assert list_scenarios() == sorted(list_scenarios())
    assert list_sweeps() == sorted(list_sweeps())
    assert not set(list_scenarios()) & set(list_sweeps())
