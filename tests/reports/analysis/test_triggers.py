"""Triggers of rebalances as text."""

from __future__ import annotations

import pytest

from reports.analysis.scaled_rounds import trigger_text


@pytest.mark.parametrize(
    ("stored", "text"),
    [
        ("follow-up", "follow-up requested by the assignor"),
        ("pod-1 joined, follow-up", "pod-1 joined, follow-up requested by the assignor"),
        ("follow-up-1 joined", "follow-up-1 joined"),
        ("", ""),
        ("a\x1b joined", "a\\x1b joined"),
    ],
)
def test_follow_ups_say_who_requested_them(stored: str, text: str) -> None:
    assert trigger_text(stored) == text
