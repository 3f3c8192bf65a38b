"""Investigation of a recorded night."""

from __future__ import annotations

import pytest

from assignor_sim.api.incident import IncidentOptions, InvestigatedIncident, investigate
from reports.analysis.incident import night_findings
from reports.render.incident import incident_report, task_report
from reports.render.report_formats import report_page, report_text
from scenarios.kafka.observation.observation import ObservationError
from scenarios.load import loads
from tests.scenarios.kafka.incident.recorded_segments import CLASSIC, DATA, EXAMPLE, STREAMS

STATIC = "clients[shop-three].static_membership=true"


@pytest.fixture(scope="module")
def night() -> InvestigatedIncident:
    options = IncidentOptions(
        assignors=("sticky_task_assignor",),
        changes=(("clients[shop-three].static_membership", "true"), ("application.configs.num.standby.replicas", "2")),
    )
    return investigate(EXAMPLE, CLASSIC, options)


def test_all_assignments_are_recomputed_and_every_move_is_explained(night: InvestigatedIncident) -> None:
    report = night.report
    assert (report.matching, len(report.compared), report.num_tasks) == (16, 16, 26)
    assert {rebalance.lags for rebalance in report.rebalances} == {"logged"}
    moves = [move for rebalance in report.later for move in rebalance.moves]
    assert len(moves) == report.num_moves() == 100
    for move in moves:
        assert move.steps
        assert move.steps[-1]["step_to"] == move.target


def test_owners_follow_from_the_moves(night: InvestigatedIncident) -> None:
    owners = dict(night.report.rebalances[0].owners)
    for rebalance in night.report.later:
        owners |= {move.task: move.target for move in rebalance.moves}
        assert owners == rebalance.owners


def test_simulation_of_the_recorded_events_has_the_recorded_figures(night: InvestigatedIncident) -> None:
    by_label = {what_if.label: what_if.metrics for what_if in night.report.what_ifs if what_if.basis == "night"}
    recorded, simulated = by_label["recorded"], by_label["simulated, unchanged"]
    assert recorded["rebalances"] == simulated["rebalances"] == 15
    assert recorded["active_moves"] == simulated["active_moves"] == 100
    fixed = by_label[STATIC]
    assert fixed["rebalances"] == 12
    assert (fixed["worst_downtime_ms"] or 0) < (simulated["worst_downtime_ms"] or 0)
    assert recorded["restored_bytes"] is None


def test_other_assignor_and_setting_are_compared_on_the_same_states(night: InvestigatedIncident) -> None:
    by_label = {what_if.label: what_if.metrics for what_if in night.report.what_ifs if what_if.basis == "states"}
    assert list(by_label) == ["recorded", "sticky_task_assignor", "application.configs.num.standby.replicas=2"]
    assert by_label["recorded"]["active_moves"] == 100
    more = by_label["application.configs.num.standby.replicas=2"]["new_standbys"] or 0
    assert more > (by_label["recorded"]["new_standbys"] or 0)


def test_findings_name_the_client_and_its_pace(night: InvestigatedIncident) -> None:
    findings = night_findings(night.report)
    assert any(
        "shop-three" in text and "restarted within its session 3 times, about every 25.7 s" in text for text in findings
    )
    assert any("shop-two came back with a new process id" in text for text in findings)


def test_scenario_of_the_night_starts_with_its_first_assignment(night: InvestigatedIncident) -> None:
    scenario = loads(night.scenario, "night.yaml")
    clients = scenario.world(1).clients
    assert {client.name for client in clients if client.tasks.active} == {"shop-one"}
    assert "crash: {clients: [shop-three], down: 5s}" in night.scenario


@pytest.mark.parametrize("width", [80, 60])
def test_report_and_history_fit_the_terminal(night: InvestigatedIncident, width: int) -> None:
    for report in (incident_report(night.report), task_report(night.report, "1_3")):
        assert max(map(len, report_text(report, width).splitlines())) <= width


def test_static_membership_is_tried_for_clients_that_restarted() -> None:
    report = investigate(EXAMPLE, CLASSIC).report
    assert [what_if.label for what_if in report.what_ifs] == ["recorded", "simulated, unchanged", STATIC]


def test_window_starts_from_the_rebalance_before_it(night: InvestigatedIncident) -> None:
    fifth = night.report.rebalances[5]
    options = IncidentOptions(since_ms=fifth.at_ms, until_ms=night.report.rebalances[8].at_ms)
    report = investigate(EXAMPLE, CLASSIC, options).report
    assert [rebalance.number for rebalance in report.rebalances] == [
        rebalance.number for rebalance in night.report.rebalances[4:9]
    ]
    assert report.matching == 5


def test_window_without_rebalances_names_the_recorded_time() -> None:
    with pytest.raises(ObservationError, match=r"the recorded ones are from 2026-11-25 21:18:47 to .* 21:20:59 UTC"):
        investigate(EXAMPLE, CLASSIC, IncidentOptions(until_ms=0))
    with pytest.raises(ObservationError, match="no rebalance of 'shop' in the given time"):
        investigate(EXAMPLE, CLASSIC, IncidentOptions(since_ms=2**42))


def test_streams_group_is_recomputed_with_the_release_of_its_brokers() -> None:
    report = investigate(EXAMPLE, STREAMS).report
    assert (report.protocol, report.assignor) == ("streams", "streams_group_sticky")
    assert report.matching == len(report.compared) == 22


def test_records_without_descriptions_of_the_cluster_suffice() -> None:
    report = investigate(DATA / "4.2.2", STREAMS, IncidentOptions(kafka="4.2")).report
    assert report.matching == len(report.compared)
    assert any(remark.startswith("No output of kafka-topics.sh") for remark in report.remarks)
    night = [what_if for what_if in report.what_ifs if what_if.basis == "night"]
    assert [what_if.metrics["restored_bytes"] for what_if in night] == [None, None]
    assert report.longest_unstable() is not None


def test_differences_say_what_is_unknown() -> None:
    report = investigate(DATA / "4.4.0", STREAMS, IncidentOptions(kafka="4.4")).report
    reasons = {difference.reason for rebalance in report.rebalances for difference in rebalance.differences}
    assert reasons == {"the answer depends on task offsets that clients of Kafka 4.4 report and records do not have"}
    depending = [rebalance for rebalance in report.rebalances if rebalance.unrecorded_offsets != "none"]
    assert report.explained_by_offsets == len(depending) - 1 == 5
    text = report_text(incident_report(report), 80)
    assert text.count("equal*") == 5
    assert "returns 19 of 20 recorded assignments (5 of them with task offsets that the records allow)" in " ".join(
        text.split()
    )
    assert "*: the answer depends on task offsets" in text
    assert "equal with some that the records allow" in report_page(incident_report(report))
    assert "equal*" not in report_text(incident_report(investigate(EXAMPLE, STREAMS).report), 80)


def test_unsupported_release_is_rejected() -> None:
    with pytest.raises(ObservationError, match=r"--kafka: Kafka 2\.0 is not supported"):
        investigate(EXAMPLE, CLASSIC, IncidentOptions(kafka="2.0"))
