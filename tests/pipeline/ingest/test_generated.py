"""Generated measurements: what may be asked for, and who is measured. What they hold is tested by recovering it."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.generate.faults import Faults, FaultsError
from pipeline.generate.measurements import Schedule, ScheduleError
from pipeline.generate.population import Population


def test_faults_are_shares_by_kind_or_a_word() -> None:
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
def test_faults_that_do_not_fit_are_refused(text: str, message: str) -> None:
    with pytest.raises(FaultsError) as caught:
        Faults.parse(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(("interval", "slots"), [("5m", 288), ("1m", 1440), ("15 m", 96), ("1h", 24)])
def test_a_schedule_has_whole_blocks_a_day(interval: str, slots: int) -> None:
    assert Schedule.parse(2, interval).slots == 2 * slots


@pytest.mark.parametrize("interval", ["7m", "0m", "often", "500ms", "2d"])
def test_an_interval_that_does_not_divide_a_day_is_refused(interval: str) -> None:
    with pytest.raises(ScheduleError, match="interval "):
        Schedule.parse(1, interval)


@pytest.mark.parametrize("partitions", [10, 10_000, 100_000])
def test_files_have_whole_days_or_equal_parts_of_a_day(partitions: int) -> None:
    schedule = Schedule(30, 300)
    files = schedule.files(partitions)
    assert files % 30 == 0
    assert schedule.slots * partitions / files <= 4_000_000
    assert (schedule.slots // files) % 8 == 0


def test_rates_follow_zipf_and_add_up() -> None:
    table = Population(2_400, seed=3).table()
    by_topic = table.groupby("topic")["base"].sum().sort_values(ascending=False).to_numpy()
    assert by_topic[0] / by_topic[9] == pytest.approx(10)
    assert table["base"].sum() == pytest.approx(2_400 * 100_000)
    assert (table["skew_ms"] == 0).all()


def test_a_seed_draws_the_same_partitions_whether_clocks_are_off_or_not() -> None:
    right, off = Population(100, seed=3).table(), Population(100, seed=3, skewed=0.5).table()
    assert right.drop(columns="skew_ms").equals(off.drop(columns="skew_ms"))
    assert np.abs(off["skew_ms"]).max() >= 20_000
    assert not right["base"].equals(Population(100, seed=4).table()["base"])
