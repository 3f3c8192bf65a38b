"""A checkup of a consumer group: its figures are those of direct runs, and it recommends what the group lacks."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import assignor_sim as sim
from assignor_sim.api.checkup import Checkup
from pipeline.advise.checkup import FIRST_SEEDS, SEARCH_SEEDS, CheckupRequest, run_checkup
from reports.analysis.checkup.report import ReportCard, report_record
from reports.render.checkup import checkup_report
from reports.render.report_formats import report_csv, report_markdown, report_page, report_text
from scenarios.load import loads
from scenarios.run import run
from simulator.results.tabulation import tabulate
from simulator.world.group_configs import GroupProtocol
from tests.assignor_sim.conftest import InProcessShell, Shell
from tests.contract.test_checkup import run_here

pytestmark = pytest.mark.answers

DUMPS = Path(__file__).parents[1] / "scenarios" / "kafka" / "dumps" / "consumer_groups"
SEEDS = 4
NEAREST = "replica.selector.class: org.apache.kafka.common.replica.RackAwareReplicaSelector"
GROUP = """
name: billing
cluster:
  kafka: "4.3"
  brokers: {count: 3, racks: [az1, az2, az3]}
  configs: {replica.selector.class: org.apache.kafka.common.replica.RackAwareReplicaSelector}
  topics: [{name: orders, partitions: 12, replication_factor: 3, bytes_per_s: 1 MB/s}]
consumers:
  - group: billing
    topics: [orders]
    poll_interval: 8s
    clients: [{name: app, count: 6, racks: [az1, az2, az3]}]
"""
OLD = GROUP.replace('kafka: "4.3"', 'kafka: "3.9"').replace("topics: [orders]", 'topics: [orders]\n    kafka: "3.9"')
FIRST = 1 + FIRST_SEEDS + SEARCH_SEEDS
"""The first seed of the comparison."""


def configured(text: str, configs: str) -> str:
    return text.replace("    poll_interval:", f"    configs: {{{configs}}}\n    poll_interval:")


@pytest.fixture(scope="module")
def checked() -> tuple[Checkup, list[ReportCard]]:
    first: list[ReportCard] = []
    return sim.checkup(loads(configured(GROUP, MIXED)), seeds=SEEDS, workers=2, on_first=first.append), first


MIXED = "partition.assignment.strategy: roundrobin, session.timeout.ms: 45000"
"""An assignor that moves much, so that there is something to recommend."""


@pytest.mark.slow
def test_answer_is_the_same_in_this_process(checked: tuple[Checkup, list[ReportCard]]) -> None:
    here = run_checkup(CheckupRequest(loads(configured(GROUP, MIXED)), None, 1, SEEDS), run_here)
    assert report_record(here) == report_record(checked[0].report)
    assert report_text(checkup_report(here), 80) == report_text(checkup_report(checked[0].report), 80)
    assert report_page(checkup_report(here)) == report_page(checkup_report(checked[0].report))


def test_figures_are_those_of_direct_runs(checked: tuple[Checkup, list[ReportCard]]) -> None:
    report = checked[0].report

    def direct(event: str, seed: int) -> dict[str, object]:
        text = configured(GROUP, MIXED) + (f"events:\n  - {event}\n" if event else "") + "duration: 12h\n"
        scenario = loads(text)
        return dict(tabulate(run(scenario, scenario.assignors[0], seed), "a", seed)["runs"].to_pylist()[0])

    seeds = range(FIRST, FIRST + SEEDS)
    deploys = [direct("{at: 10m, rolling_bounce: {clients: app, down: 30s, pause: 1m}}", seed) for seed in seeds]
    assert report.today.graded("deploy").value == np.mean([row["mean_downtime_ms"] for row in deploys])
    assert report.today.graded("lag").value == np.mean([row["max_processing_delay_ms"] for row in deploys])
    assert report.today.graded("moves").value == pytest.approx(np.mean([row["active_moves"] for row in deploys]) / 12)
    failures = {
        "crash": "{at: 10m, crash: {clients: [app-0, app-1, app-2, app-3, app-4, app-5], pick: 1, down: 5m}}",
        "leader": "{at: 10m, crash: {clients: app-0, down: 5m}}",
        "zone": "{at: 10m, rack_outage: {rack: az1, down: 30m}}",
        "broker": "{at: 10m, broker_loss: {brokers: [0], down: 20m}}",
    }
    rows = {key: [direct(event, seed) for seed in seeds] for key, event in failures.items()}
    downtimes = {key: [row["worst_downtime_ms"] for row in of_seeds] for key, of_seeds in rows.items()}
    for situation in report.situations:
        for figure in situation.figures:
            if figure.name == "worst_downtime_ms" and situation.key in downtimes:
                assert figure.before == np.mean(downtimes[situation.key]), situation.key
    worst = np.max([downtimes[key] for key in failures], axis=0)
    assert report.today.graded("availability").value == np.mean(worst)


def test_areas_that_a_group_does_not_have_are_absent(checked: tuple[Checkup, list[ReportCard]]) -> None:
    record = checked[0].record()
    assert record["subject"] == "consumer group"
    areas = [graded["area"] for graded in record["today"]["areas"]]
    assert areas == ["availability", "deploy", "lag", "moves", "bill", "cost", "balance", "convergence", "headroom"]
    assert [situation["key"] for situation in record["situations"]] == [
        *("steady", "deploy", "crash", "leader", "zone", "broker", "scale", "double")
    ]
    [headroom] = [graded for graded in record["today"]["areas"] if graded["area"] == "headroom"]
    assert headroom["grade"] is None


def test_recommended_properties_are_those_of_the_setting(checked: tuple[Checkup, list[ReportCard]]) -> None:
    report = checked[0].report
    assert report.recommended is not None
    assert not report.recommended.is_worse_than(report.today)
    properties = {change.key: change.after for change in report.changes if change.is_property}
    assert properties["group.protocol"] == "consumer"
    # Consumers refuse to start with these under the consumer protocol.
    assert properties["partition.assignment.strategy"] is None
    assert properties["session.timeout.ms"] is None
    stated = ", ".join(f"{key}: {value}" for key, value in properties.items() if value is not None)
    then = loads(configured(GROUP, stated))
    assert then.assignors[0].protocol is GroupProtocol.CONSUMER
    again = sim.checkup(then, seeds=SEEDS, workers=2)
    assert [graded.grade for graded in again.report.today.areas] == [
        graded.grade for graded in report.recommended.areas
    ]
    assert again.report.verdict == "already_best"  # Nothing is left to change.


def test_rollout_starts_from_the_current_assignment(checked: tuple[Checkup, list[ReportCard]]) -> None:
    rollout = checked[0].report.rollout
    assert rollout is not None
    assert any("converts the group online" in step for step in rollout.steps)
    assert "a rolling restart that converts the group to the consumer protocol" in rollout.note
    assert rollout.ranges["rebalances"] == (12, 12)  # A departure and a return of each instance.
    assert rollout.ranges["active_moves"][0] > 0
    assert "shows ASSIGNMENT-STRATEGY uniform" in rollout.checks[0]


def test_texts_fit_a_terminal(checked: tuple[Checkup, list[ReportCard]]) -> None:
    report = checked[0].report
    long = [
        line for line in report_text(checkup_report(report), 80).splitlines() if len(line) > 80 and line[0] not in "+-#"
    ]
    assert not long
    assert "+group.protocol=consumer\n" in report_markdown(checkup_report(report))
    assert report_csv(checkup_report(report)).count("\n") == 19
    assert [first.setting for first in checked[1]] == ["current"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "keys", "step"),
    [
        pytest.param(
            configured(OLD, "partition.assignment.strategy: range"),
            {"partition.assignment.strategy"},
            "Two rolling restarts (KIP-429). First: partition.assignment.strategy lists CooperativeStickyAss",
            id="cooperative",
        ),
        pytest.param(
            configured(OLD, "partition.assignment.strategy: range").replace("poll_interval: 8s", "poll_interval: 60s"),
            {"group.instance.id"},
            "Give each consumer a group.instance.id that no other has",
            id="static",
        ),
        pytest.param(
            configured(OLD, "partition.assignment.strategy: cooperative-sticky").replace(
                "az3]}]", "az3], client_rack: false}]"
            ),
            {"client.rack"},
            "Set client.rack on each instance",
            id="rack",
        ),
        pytest.param(
            configured(OLD, "partition.assignment.strategy: cooperative-sticky").replace(f"{NEAREST}", ""),
            {"replica.selector.class"},
            "Set replica.selector.class on all brokers",
            id="nearest replica",
        ),
    ],
)
def test_recommendation_adds_the_missing_setting(text: str, keys: set[str], step: str) -> None:
    report = sim.checkup(loads(text), seeds=SEEDS, workers=2).report
    assert keys <= {change.key for change in report.changes}
    assert report.rollout is not None
    assert any(text.startswith(step) for text in report.rollout.steps)
    assert report.rollout.ranges["rebalances"][0] >= 6


def test_a_good_group_is_kept() -> None:
    report = sim.checkup(loads(configured(GROUP, "group.protocol: consumer")), seeds=SEEDS, workers=2).report
    assert (report.verdict, report.recommended, report.changes, report.rollout) == ("already_best", None, (), None)
    left_out = dict(report.left_out)
    assert left_out["The group leader crashes"].startswith("the group coordinator assigns")
    going_back = [card for card in report.cards if card.setting == "cooperative-sticky"]
    assert [card.is_migration for card in going_back] == [True]


@pytest.mark.slow
def test_one_consumer_has_no_balance() -> None:
    report = sim.checkup(loads(GROUP.replace("count: 6, racks: [az1, az2, az3]}]", "rack: az1}]")), seeds=2).report
    assert report.today.graded("balance").grade is None
    assert report.today.graded("moves").grade == "A"
    assert "Balance is not graded: the group has one consumer." in report_text(checkup_report(report), 100)


@pytest.mark.slow
def test_balance_counts_only_what_subscriptions_can_avoid() -> None:
    """One consumer reads 2 partitions alone, the others 12; range gives one of them an avoidable partition more."""
    topics = "[{name: orders, partitions: 12}, {name: audit, partitions: 2}, {name: spare, partitions: 1}]"
    text = GROUP.replace("[{name: orders, partitions: 12, replication_factor: 3, bytes_per_s: 1 MB/s}]", topics)
    clients = "[{name: app, count: 2, topics: [orders, spare]}, {name: audit, topics: [audit]}]"
    text = text.replace("[{name: app, count: 6, racks: [az1, az2, az3]}]", clients)
    report = sim.checkup(loads(configured(text, "partition.assignment.strategy: sticky")), seeds=2).report
    assert (report.today.graded("balance").value, report.today.graded("balance").grade) == (0, "A")
    report = sim.checkup(loads(configured(text.replace("12}", "13}"), "partition.assignment.strategy: range")), seeds=2)
    assert (report.report.today.graded("balance").value, report.report.today.graded("balance").grade) == (1, "B")


@pytest.mark.slow
def test_settings_replace_the_lists_of_single_clients() -> None:
    both = "{partition.assignment.strategy: [cooperative-sticky, range]}"
    clients = f"[{{name: old, count: 4, racks: [az1, az2]}}, {{name: new, count: 2, rack: az3, configs: {both}}}]"
    text = GROUP.replace("[{name: app, count: 6, racks: [az1, az2, az3]}]", clients)
    report = sim.checkup(loads(configured(text, "partition.assignment.strategy: range")), seeds=2, workers=2).report
    assert {"cooperative-sticky", "sticky"} <= {card.setting for card in report.cards}
    assert report.recommended is not None


@pytest.mark.slow
def test_more_consumers_than_partitions_are_named() -> None:
    text = GROUP.replace("partitions: 12", "partitions: 2").replace("replication_factor: 3", "replication_factor: 1")
    checkup = sim.checkup(loads(text), seeds=2, workers=2)
    assert "4 consumers of 6 have no partition: the topics have 2." in str(checkup)
    # A partition on the broker that fails has no leader, whatever the setting is.
    [finding] = [finding for finding in checkup.report.findings if finding.area == "availability"]
    assert "check their replication factors" in finding.evidence


@pytest.mark.slow
def test_other_groups_and_applications_have_no_influence(checked: tuple[Checkup, list[ReportCard]]) -> None:
    text = configured(GROUP, MIXED) + (
        "  - {group: audit, topics: [orders], clients: [{name: audit, count: 2}]}\n"
        "application: {id: shop, subtopologies: [{sources: [orders]}]}\n"
        "clients: [{name: shop, count: 2}]\n"
        "events: [{at: 1h, rolling_bounce: {clients: audit, down: 5m}}]\n"
        "subject: billing\n"
    )
    report = run_checkup(CheckupRequest(loads(text), None, 1, SEEDS), run_here)
    assert report_record(report) == report_record(checked[0].report)


def test_dumps_of_a_group_are_checked(tmp_path: Path) -> None:
    result = InProcessShell(tmp_path)(
        "checkup", "--from", str(DUMPS), "--group", "audit", "--rack", "*=", "--seeds", "2", "--format", "json"
    )
    assert result.code == 0
    record = json.loads(result.out)
    assert (record["subject"], record["application"]) == ("consumer group", "audit")
    assert record["facts"]["topics"] == {"orders": 12, "payments": 5}
    assert record["facts"]["configs"]["group.protocol"] == "consumer"
    assert (record["facts"]["consumers"], record["facts"]["static members"]) == (4, 1)
    assert "note: kafka-consumer-groups.sh does not print subscriptions" in result.err
    graded = {area["area"]: area["grade"] for area in record["today"]["areas"]}
    assert graded["balance"] == "A"
    assert graded["bill"] is None


def test_group_without_members_in_dumps_is_one_error(tmp_path: Path) -> None:
    result = InProcessShell(tmp_path)("checkup", "--from", str(DUMPS), "--group", "shop", "--rack", "*=")
    assert result.code == 2
    assert result.err == "error: members.txt has no member of 'shop' (groups: audit, billing, default)\n"


@pytest.mark.slow
def test_lock_finds_a_worse_grade_and_what_changed(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    shell.write("group.yaml", configured(GROUP, "group.protocol: consumer"))
    options = ("group.yaml", "--seeds", "2", "--workers", "2")
    before = shell("checkup", *options, "--save", "group.lock", "--quiet")
    assert (before.code, before.err) == (0, "")
    same = shell("checkup", *options, "--compare", "group.lock", "--quiet")
    assert (same.code, same.err) == (0, "no change since group.lock\n")
    rack = ("--set", "consumers[0].clients[0].client_rack=false")
    worse = shell("checkup", *options, *rack, "--compare", "group.lock", "--format", "json")
    assert worse.code == 1
    assert "changed: clients with client.rack: 6 → 0\n" in worse.err
    assert "worse: Cross-zone reads: A → F" in worse.err
    assert json.loads(worse.out)["today"]["setting"] == "current"


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        (GROUP.replace("count: 6", "starts: false, count: 6"), (), "no client of 'billing' is up"),
        (GROUP, ("--today", "other"), "--today other: no assignor of the scenario has this label (labels: range)"),
    ],
)
def test_mistakes_are_named(text: str, arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    shell = InProcessShell(tmp_path)
    shell.write("group.yaml", text)
    result = shell("checkup", "group.yaml", *arguments)
    assert result.code == 2
    assert message in result.err
    assert result.err.count("\n") == 1
