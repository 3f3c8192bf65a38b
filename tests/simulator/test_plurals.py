"""Numbers with their nouns."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.plurals import counted, plural


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 tasks"),
        (1, "1 task"),
        (1.0, "1 task"),
        (1_200, "1,200 tasks"),
        (12.5, "12.5 tasks"),
        (np.int64(2), "2 tasks"),
        (10**400, f"{10**400:,} tasks"),
    ],
)
def test_number_decides_the_noun(number: float, text: str) -> None:
    assert counted(number, "task") == text


def test_irregular_plurals_and_clauses_are_given() -> None:
    assert counted(2, "entry", "entries") == "2 entries"
    assert counted(1, "partition has", "partitions have") == "1 partition has"
    assert plural(2, "broker") == "brokers"
