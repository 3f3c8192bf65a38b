"""Fixtures of the simulator's tests."""

from __future__ import annotations

import pytest

from simulator.group.heartbeats import Heartbeats


@pytest.fixture
def equal_phases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all members send their heartbeats in phase and on time: times are then multiples of the interval."""
    monkeypatch.setattr(Heartbeats, "draw", lambda *_: 0.0)
