"""Fixtures of the simulator's tests."""

from __future__ import annotations

import pytest

from simulator.group.heartbeats import Heartbeats
from simulator.processes import classic_protocol


@pytest.fixture
def equal_phases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all members send their heartbeats in phase and on time, and the oldest member lead.

    Times are then multiples of the interval, and a group that runs from the start has the leader of one that joined.
    """
    monkeypatch.setattr(Heartbeats, "draw", lambda *_: 0.0)
    monkeypatch.setattr(classic_protocol, "random_order", lambda *_: 0)
