"""Kinds and shares of injected faults."""

from __future__ import annotations

import pytest

from pipeline.generate import Faults, FaultsError

pytestmark = pytest.mark.spark


def test_faults_are_parsed() -> None:
    assert Faults.parse("none") == Faults()
    assert Faults.parse("gaps=0.01, skew=1") == Faults(gaps=0.01, skew=1)
    assert min(Faults.parse("some").in_blocks.values()) > 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("holes=0.1", "'holes=0.1': expected some, none, or shares of gaps, duplicates"),
        ("gaps=much", "'much' is not a share between 0 and 1"),
        ("gaps=2", "'2' is not a share between 0 and 1"),
        ("gaps=0.1,late=0.1", "1/8 of the samples"),
        ("resets=0.5", "resets exceed 1/16 of the samples"),
    ],
)
def test_invalid_faults_are_rejected(text: str, message: str) -> None:
    with pytest.raises(FaultsError) as caught:
        Faults.parse(text)
    assert message in str(caught.value)
