"""The page's tables count what the confirmations say, and name every miss."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.fidelity import stored_confirmation
from tests.fidelity.report import (
    BEGIN,
    COMMAND,
    EARLY_WARMUP,
    END,
    PAGE,
    SEPARATE_ENDS,
    UNEXPLAINED,
    WITHIN_RANGE,
    explain,
    tables,
    write_page,
)
from tests.fidelity.shares import CONVERGENCE, REBALANCES, RESTORED, TASKS, THREADS, TIMES, Share
from tests.fidelity.stored_confirmation import StoredConfirmation, read_confirmations, write_confirmations

RIGHT = StoredConfirmation(
    kafka="4.3.1",
    experiment="crash",
    step="crash1 returns after the crash",
    application="killed-eos",
    title="13 MB a task, exactly-once",
    is_streams_group=False,
    depends_on_timing=False,
    joined_separately=False,
    warmed_up_early=False,
    differences=(),
    tasks=8,
    threads=4,
    active_tasks=8,
    tasks_on_predicted_thread=6,
    predicted_rebalances_ms=(1_000, 62_000),
    range_of_rebalances=(),
    rebalances_ms=(500, 64_000),
    predicted_probing_rounds=1,
    probing_rounds=1,
    predicted_converged_ms=63_000,
    converged_ms=66_000,
    predicted_restored_bytes=52_000_000,
    restored_bytes=50_000_000,
    replayed=2,
    replayed_alike=2,
)
WRONG = replace(
    RIGHT,
    step="crash1 joins",
    differences=("p active: ['0_1'] only predicted, [] only observed",),
    rebalances_ms=(500, 1_500),
    converged_ms=2_500,
    restored_bytes=13_000_000,
    probing_rounds=0,
)


def test_a_step_as_predicted_has_no_miss() -> None:
    assert RIGHT.misses() == []
    assert RIGHT.summary().endswith("6/8 by thread]: as predicted")


@pytest.mark.parametrize(
    ("change", "phrase"),
    [
        ({"differences": ("x",)}, "tasks: x"),
        ({"rebalances_ms": (500,)}, "rebalances: predicted at 1.0, 62.0 s, observed at 0.5 s"),
        ({"rebalances_ms": (500, 80_000)}, "rebalances: predicted at 1.0, 62.0 s, observed at 0.5, 80.0 s"),
        ({"rebalances_ms": ()}, "rebalances: predicted at 1.0, 62.0 s, observed at no time"),
        ({"converged_ms": 90_000}, "time to converge: predicted 63.0 s, observed 90.0 s"),
        ({"predicted_converged_ms": None}, "time to converge: predicted no time, observed 66.0 s"),
        ({"restored_bytes": 107_000_000}, "restored: predicted 52.0 MB, observed 107.0 MB"),
    ],
)
def test_each_dimension_can_be_missed(change: dict[str, object], phrase: str) -> None:
    assert replace(RIGHT, **change).misses() == [phrase]  # type: ignore[arg-type]


def test_shares_count_the_misses() -> None:
    both = [RIGHT, WRONG]
    shares = [dimension.share(both) for dimension in (TASKS, THREADS, REBALANCES, TIMES, CONVERGENCE, RESTORED)]
    assert shares == [Share(1, 2), Share(12, 16), Share(2, 2), Share(3, 4), Share(1, 2), Share(1, 2)]
    assert THREADS.share([replace(RIGHT, threads=0)]).percent == "–"
    assert (shares[0].percent, str(shares[1])) == ("50 %", "12 of 16")


def test_only_recorded_races_are_explained() -> None:
    assert explain(WRONG) == UNEXPLAINED
    assert explain(replace(WRONG, warmed_up_early=True)) == UNEXPLAINED
    early = replace(WRONG, warmed_up_early=True, rebalances_ms=(500,))
    assert explain(early) == EARLY_WARMUP
    assert explain(replace(early, range_of_rebalances=(2, 4))) == EARLY_WARMUP
    ended = replace(early, warmed_up_early=False, is_streams_group=True, experiment="threads", differences=("a task",))
    assert explain(ended) == SEPARATE_ENDS
    within = replace(early, range_of_rebalances=(1, 2))
    assert explain(within) == WITHIN_RANGE
    assert not within.has_predicted_count
    assert REBALANCES.share([within]) == Share(0, 1)


def test_page_has_every_table(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE.read_text())
    write_page([RIGHT, WRONG], page)
    text = page.read_text()
    assert text.count("made by `python -m tests.fidelity --write`") == len(tables([RIGHT]))
    misses = text[text.index(BEGIN.format(name="misses", command=COMMAND)) : text.index(END.format(name="misses"))]
    assert "| 4.3.1 | 13 MB a task, exactly-once | crash1 joins | tasks: p active" in misses
    assert RIGHT.step not in misses
    write_page([RIGHT, WRONG], page)
    assert page.read_text() == text
    page.write_text("nothing")
    with pytest.raises(ValueError, match="around 'summary'"):
        write_page([RIGHT], page)


def test_a_later_run_replaces_its_experiments_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_confirmation, "OUT", tmp_path / "out")
    assert read_confirmations("4.3.1") == []
    other = replace(RIGHT, experiment="close", predicted_converged_ms=None)
    write_confirmations("4.3.1", [WRONG, other])
    write_confirmations("4.3.1", [RIGHT])
    assert read_confirmations("4.3.1") == [other, RIGHT]
