"""Folders with a small cluster for `assignor-sim plan`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.assignor_sim.commands.plan_commands import write_cluster


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_cluster(tmp_path)
    return tmp_path
