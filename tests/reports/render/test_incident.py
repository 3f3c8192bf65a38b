"""The page of a past night: figures of the report, explained moves, and what others would have done."""

from __future__ import annotations

import itertools
import re
from html import unescape
from xml.etree import ElementTree

import pytest

from reports.analysis.explanation import step_text
from reports.analysis.incident import MAX_CLIENTS, IncidentReport, cause_lanes, night_findings, summary_text
from reports.render.drawing import incident_timeline
from reports.render.figures.run_figures import figure_bytes, figure_style
from reports.render.incident import incident_report
from reports.render.report_formats import MAX_FOLDED_ROWS, report_page
from tests.reports.sample_incident import random_night, with_difference
from tests.reports.sample_runs import HOSTILE


def page(night: IncidentReport) -> str:
    return report_page(incident_report(night))


def plain(text: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", text.replace("<wbr />", ""))).split())


@pytest.mark.parametrize("seed", range(4))
def test_page_has_every_rebalance_move_and_step(seed: int) -> None:
    report = random_night(seed)
    text = page(report)
    shown = plain(text)
    assert plain(summary_text(report)) in shown
    for finding in night_findings(report):
        assert plain(finding) in shown
    for rebalance in report.rebalances:
        assert text.count(f'id="rebalance-{rebalance.number}"') == 1
        assert f'href="#rebalance-{rebalance.number}"' in text
        for move in rebalance.moves:
            had_left = " (had left)" if move.has_left else ""
            steps = "; ".join(step_text(step) for step in move.steps)
            assert f"{move.task} {move.source}{had_left} {move.target} {steps}" in shown
    assert page(report) == text


def test_each_rebalance_has_what_others_would_have_done() -> None:
    report = random_night(1)
    [other] = [what_if for what_if in report.what_ifs if what_if.by_rebalance]
    shown = plain(page(report))
    assert "Active moves with sticky_task_assignor" in shown
    for rebalance in report.later:
        moves = int(other.by_rebalance[rebalance.number]["active_moves"])
        tasks = f"{moves} active task{'' if moves == 1 else 's'}"
        assert f"sticky_task_assignor would have moved {tasks}, added 1 standby (recorded: " in shown
    assert "application.configs.session.timeout.ms=6s: the scenario is invalid" in shown


def test_moves_of_a_differing_assignment_are_said_to_be_unknown() -> None:
    report = random_night(2, num_tasks=40)
    position = next(at for at, rebalance in enumerate(report.rebalances) if len(rebalance.moves) > 1)
    shown = plain(page(with_difference(report, position, "its lag is estimated")))
    number = len(report.rebalances[position].moves)
    assert f"The steps of {number} moves are unknown, because the recomputed assignment differs." in shown
    assert "1 copy recomputed elsewhere: its lag is estimated." in shown


def test_many_moves_are_data_for_a_script() -> None:
    small, large = random_night(3), random_night(3, num_rebalances=60, num_tasks=200)
    assert small.num_moves() <= MAX_FOLDED_ROWS < large.num_moves()
    assert 'id="rebalances-folded"' not in page(small)
    text = page(large)
    assert 'id="rebalances-folded"' in text
    assert 'data-csv="moves-' not in text


def test_hostile_names_stay_text() -> None:
    text = page(random_night(4, group=HOSTILE[0]))
    body = text[text.index("<body>") :].partition("<script")[0]
    assert "<script>alert" not in text
    ElementTree.fromstring(body + "</body>")


def test_night_with_one_rebalance_has_a_page() -> None:
    report = random_night(5, num_rebalances=1)
    assert "No active task moved." in page(report)


def test_lanes_hold_every_cause_once() -> None:
    report = random_night(6, num_rebalances=200, num_clients=MAX_CLIENTS + 5)
    lanes = cause_lanes(report)
    assert sum(lane.is_client for lane in lanes) == MAX_CLIENTS
    assert {lane.title for lane in lanes if not lane.is_client} == {
        "other clients",
        "other causes",
        "follow-ups",
        "probing",
    }
    assert sum(len(lane.marks) for lane in lanes) == sum(len(rebalance.causes) for rebalance in report.later)
    kinds = {lane.title: {mark.kind for mark in lane.marks} for lane in lanes}
    assert (kinds["follow-ups"], kinds["probing"], kinds["other causes"]) == ({"follow-up"}, {"probing"}, {"other"})
    clients = [len(lane.marks) for lane in lanes if lane.is_client]
    assert clients == sorted(clients, reverse=True)


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("num_rebalances", [1, 2, 30, 400, 9_000])
def test_timeline_has_few_labels_that_do_not_overlap(num_rebalances: int, narrow: bool) -> None:
    with figure_style():
        figure = incident_timeline.draw(random_night(7, num_rebalances, num_tasks=2), narrow=narrow)
    figure_bytes(figure, "png")
    _, causes = figure.axes
    boxes = [label.get_window_extent() for label in causes.get_xticklabels()]
    assert 1 <= len(boxes) <= 10
    assert all(first.x1 < second.x0 for first, second in itertools.pairwise(boxes))
    legend = figure.legends[0].get_window_extent()
    assert legend.x1 <= figure.bbox.x1
    assert legend.y0 >= figure.bbox.y0
