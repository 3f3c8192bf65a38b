"""Investigation of a recorded night of a consumer group."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assignor_sim.api.incident import IncidentOptions, InvestigatedIncident, investigate
from reports.analysis.incident import night_findings, report_record
from reports.render.incident import incident_report, task_report
from reports.render.report_formats import report_csv, report_page, report_text
from scenarios.load import loads
from tests.scenarios.kafka.incident.consumer_dump import DESCRIBED, GROUP, ClassicConsumers, CoordinatedGroup

BOTH = ("orders", "payments")


def coordinated() -> CoordinatedGroup:
    """Return a group of the consumer protocol with joins, departures and returns."""
    recorded = CoordinatedGroup()
    recorded.join("a", BOTH)
    for name, seconds in (("b", 20), ("c", 30)):
        recorded.wait(seconds)
        recorded.join(name, BOTH)
    recorded.wait(60)
    recorded.leave("b")
    recorded.wait(70)
    recorded.join("b-again", BOTH, client="b")
    recorded.wait(100)
    recorded.leave("c")
    return recorded


def classic() -> ClassicConsumers:
    """Return a classic group with joins, a departure, and a restart within one rebalance."""
    recorded = ClassicConsumers(assignor="cooperative-sticky")
    recorded.add("a")
    recorded.rebalance()
    for name, seconds in (("b", 20), ("c", 50)):
        recorded.wait(seconds)
        recorded.add(name)
        recorded.rebalance()
        recorded.wait(1)
        recorded.rebalance()
    recorded.wait(60)
    recorded.remove("b")
    recorded.rebalance()
    recorded.wait(9)
    recorded.remove("a")
    recorded.add("a-again", client="a")
    recorded.rebalance()
    return recorded


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> InvestigatedIncident:
    folder = tmp_path_factory.mktemp("coordinated")
    (folder / "dump.txt").write_text(coordinated().text)
    (folder / "topics.txt").write_text(DESCRIBED)
    return investigate(folder, GROUP, IncidentOptions(assignors=("broker-range",)))


@pytest.fixture(scope="module")
def classic_night(tmp_path_factory: pytest.TempPathFactory) -> InvestigatedIncident:
    folder = tmp_path_factory.mktemp("classic")
    (folder / "dump.txt").write_text(classic().text)
    return investigate(folder, GROUP, IncidentOptions(default_assignors=("any",)))


def test_all_assignments_are_recomputed(night: InvestigatedIncident, classic_night: InvestigatedIncident) -> None:
    for investigated, assignor in ((night, "uniform"), (classic_night, "cooperative-sticky")):
        report = investigated.report
        assert (report.is_consumer_group, report.assignor) == (True, assignor)
        assert report.matching == len(report.compared) == len(report.rebalances) >= 6


def test_simulation_of_the_recorded_events_has_the_recorded_figures(
    night: InvestigatedIncident, classic_night: InvestigatedIncident
) -> None:
    for investigated in (night, classic_night):
        by_label = {
            what_if.label: what_if.metrics for what_if in investigated.report.what_ifs if what_if.basis == "night"
        }
        recorded, simulated = by_label["recorded"], by_label["simulated, unchanged"]
        for key in ("rebalances", "active_moves"):
            assert simulated[key] == recorded[key]
        assert simulated["restored_bytes"] is None


def test_others_are_compared_on_the_recorded_states(
    night: InvestigatedIncident, classic_night: InvestigatedIncident
) -> None:
    for investigated, other in ((night, "broker-range"), (classic_night, "range")):
        states = {
            what_if.label: what_if.metrics for what_if in investigated.report.what_ifs if what_if.basis == "states"
        }
        assert list(states) == ["recorded", other]
        assert (states[other]["active_moves"] or 0) > (states["recorded"]["active_moves"] or 0)


def test_static_membership_is_tried_for_consumers_that_restarted(classic_night: InvestigatedIncident) -> None:
    [static] = [what_if for what_if in classic_night.report.what_ifs if what_if.label.startswith("consumers")]
    assert static.label == "consumers[0].clients[a].static_membership=true"
    assert (static.metrics["rebalances"] or 99) < len(classic_night.report.later)


def test_scenario_of_the_night_starts_with_its_first_assignment(night: InvestigatedIncident) -> None:
    clients = loads(night.scenario, "night.yaml").world(1).clients
    assert {client.name for client in clients if any(client.tasks.active)} == {"a"}
    assert "leave: {clients: [b]}" in night.scenario


def test_report_has_partitions_and_no_tasks(night: InvestigatedIncident, classic_night: InvestigatedIncident) -> None:
    for investigated in (night, classic_night):
        report = investigated.report
        shown = (
            report_text(incident_report(report), 80),
            report_text(task_report(report, "orders-3"), 80),
            report_page(incident_report(report)).partition("<main")[2].partition("<script")[0],
            *night_findings(report),
        )
        for text in shown[:2]:
            assert max(map(len, text.splitlines())) <= 80
        for text in filter(None, shown):
            for word in ("standby", "threads", " tasks", "active move"):
                assert word not in text
        assert {"threads", "new_standbys"}.isdisjoint(report_csv(incident_report(report)).partition("\n")[0].split(","))
        record = json.loads(json.dumps(report_record(report, night_findings(report))))
        assert {rebalance["new_standbys"] for rebalance in record["rebalances"]} == {None}


def test_assignor_that_is_not_of_kafka_is_not_recomputed(tmp_path: Path) -> None:
    text = coordinated().text.replace('"serverAssignor": null', '"serverAssignor": "mine"')
    (tmp_path / "dump.txt").write_text(text)
    (tmp_path / "topics.txt").write_text(DESCRIBED)
    report = investigate(tmp_path, GROUP).report
    assert (report.compared, report.assignor) == ((), "mine")
    assert any(remark.startswith("Assignments of mine are not recomputed: ") for remark in report.remarks)
    assert any("the group is simulated with uniform" in remark for remark in report.remarks)
