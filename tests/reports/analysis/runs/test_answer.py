"""The trade-off between cost and disruption: dominance, headline figures, and sentences about both."""

from __future__ import annotations

from random import Random

import pytest

from reports.analysis.comparison import ComparisonRow, compare_runs
from reports.analysis.metrics import METRIC
from reports.analysis.runs.answer import headline, question, trade_offs
from reports.analysis.runs.highlights import contrast, settled_sentence
from tests.reports.sample_player_runs import player_runs
from tests.reports.sample_runs import four_assignors, run_rounds, tables


def random_rows(seed: int) -> list[ComparisonRow]:
    random = Random(seed)
    runs = [
        {
            "assignor": f"a{number}",
            "cross_rack_bytes_per_s": random.choice((None, 1e6, 2e6, random.uniform(0, 4e6))),
            "worst_downtime_ms": random.choice((0, 1_000, random.randrange(100_000))),
            "verdict": random.choice(("stable", "stable", "failed")),
        }
        for number in range(random.randrange(1, 7))
    ]
    return compare_runs(tables(runs))


@pytest.mark.parametrize("seed", range(100))
def test_points_are_dominated_only_by_better_ones(seed: int) -> None:
    rows = random_rows(seed)
    for trade_off in trade_offs(rows):
        by_name = {point.assignor: point for point in trade_off.points}
        assert set(by_name) | set(trade_off.left_out) == {row.assignor for row in rows}
        for point in trade_off.points:
            assert rows[point.index].assignor == point.assignor
            better = [
                other
                for other in trade_off.points
                if other.cost <= point.cost
                and other.disruption <= point.disruption
                and trade_off.cost.write(other.cost) != trade_off.cost.write(point.cost)
            ]
            if point.dominated_by is None:
                assert not better
            else:
                dominating = by_name[point.dominated_by]
                written = trade_off.cost.write, trade_off.disruption.write
                assert dominating.cost <= point.cost or written[0](dominating.cost) == written[0](point.cost)
                assert dominating.dominated_by is None
        assert trade_off.sentence.endswith(".")


def test_sentence_names_both_ends() -> None:
    longest, _, _, convergence, _ = trade_offs(compare_runs(four_assignors()))
    assert longest.sentence == (
        "No trade-off: both are lowest with HA min_traffic; HA none is dominated by HA min_traffic; "
        "HA balance_subtopology is dominated by HA min_traffic; 1 more is dominated."
    )
    assert convergence.sentence == (
        "Cross-rack traffic (steady state) is lowest with HA min_traffic, time to converge (worst event) with sticky; "
        "HA none is dominated by HA min_traffic; HA balance_subtopology is dominated by HA min_traffic."
    )


def test_headline_has_the_traffic_below_the_cost() -> None:
    with_price = headline(
        compare_runs(tables([{"cross_rack_usd_per_day": 6.2}, {"assignor": "b", "verdict": "never"}]))
    )
    assert with_price.titles[0] == METRIC["cross_rack_usd_per_day"].title
    [first, second] = with_price.rows
    assert [str(cell) for cell, _ in first.cells] == [
        "$6.20 (41.2 MB/s)",
        "20 s (worst total 25 s)",
        "12 min",
        "52.4 GB",
    ]
    assert first.verdict == ""
    assert second.verdict == "never"
    assert str(second.cells[0][0]) == "n/a (41.2 MB/s)"
    assert headline(compare_runs(tables())).titles[0] == METRIC["cross_rack_bytes_per_s"].title


def test_contrast_names_ties() -> None:
    rows = compare_runs(four_assignors())
    assert contrast(rows, METRIC["active_moves"]) == "lowest with sticky (12), highest with HA min_traffic (26)"
    assert contrast(rows, METRIC["rebalances"]) == "3 with every assignor"
    assert contrast(rows[:1], METRIC["rebalances"]) == "3 with HA none"
    assert contrast(rows, METRIC["stateful_cost"]) == "480 with every assignor for which it is known"


def test_settled_names_first_and_last() -> None:
    rounds = [*run_rounds("a", [(0, 1.0, 3), (5, 1.0, 0)]), *run_rounds("b", [(0, 1.0, 0), (5, 1.0, 2), (9, 1.0, 0)])]
    text = settled_sentence(tables([{"assignor": "a"}, {"assignor": "b"}], rounds))
    assert text == "Settled: earliest with a (0:05:00), latest with b (0:09:00)."
    never = settled_sentence(tables([{"assignor": "a"}], run_rounds("a", [(0, 1.0, 3)])))
    assert never == "Not all tasks settle with a."


def test_question_names_application_and_events() -> None:
    assert question(player_runs(), "rack_outage") == (
        "What happens to 4 tasks (4 stateful) on 3 clients in 2 racks? Event: outage of rack az1 at 0:10:00."
    )
    assert question(tables([], []), "rack_outage") == ""
