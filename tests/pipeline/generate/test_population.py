"""Partitions of synthetic measurements."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.generate import Population

pytestmark = pytest.mark.spark


def test_rates_follow_zipf_and_sum_to_total() -> None:
    table = Population(2_400, seed=3).table()
    by_topic = table.groupby("topic")["base"].sum().sort_values(ascending=False).to_numpy()
    assert by_topic[0] / by_topic[9] == pytest.approx(10)
    assert table["base"].sum() == pytest.approx(2_400 * 100_000)
    assert (table["skew_ms"] == 0).all()


def test_partitions_do_not_depend_on_clock_skew() -> None:
    right, off = Population(100, seed=3).table(), Population(100, seed=3, skewed=0.5).table()
    assert right.drop(columns="skew_ms").equals(off.drop(columns="skew_ms"))
    assert np.abs(off["skew_ms"]).max() >= 20_000
    assert not right["base"].equals(Population(100, seed=4).table()["base"])
