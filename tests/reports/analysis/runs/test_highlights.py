"""Sentences on the sections of a report of one assignor compare nothing."""

from __future__ import annotations

from dataclasses import replace

from reports.analysis.runs.breakdowns import moves_by_reason
from reports.analysis.runs.grids import client_loads
from reports.analysis.runs.highlights import load_sentence, moves_sentence
from tests.reports.sample_player_runs import player_runs


def test_moves_of_one_assignor_are_not_compared() -> None:
    moves = moves_by_reason(player_runs())
    assert len(moves.bars) > 1
    assert "most often" in moves_sentence(moves)
    [alone] = [bar for bar in moves.bars if bar.values is not None and sum(bar.values)][:1]
    sentence = moves_sentence(replace(moves, bars=(alone,)))
    assert sentence.startswith(f"{alone.label} moves active tasks ")
    assert "most often" not in sentence


def test_loads_of_one_assignor_are_not_compared() -> None:
    loads = client_loads(player_runs())
    for label, of_run in loads.items():
        sentence = load_sentence({label: of_run})
        assert "Most uneven" not in sentence
        assert "every assignor" not in sentence
