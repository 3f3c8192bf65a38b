"""Rolling changes of the assignors that members of a consumer group list."""

from __future__ import annotations

import pytest

from scenarios.load import loads
from scenarios.run import run
from tests.scenarios.scenario_texts import mistakes_in

STRATEGY = "partition.assignment.strategy"
GROUP = """
cluster:
  brokers: {count: 1, racks: [az1]}
  topics: [{name: orders, partitions: 12, bytes_per_s: 1 MB/s}]
consumers:
  - group: billing
    topics: [orders]
    configs: {partition.assignment.strategy: range}
    clients: [{name: billing, count: 3}]
duration: 1h
events:
"""
BOTH = "cooperative-sticky, range"


def restart(at: str, lists: str, clients: str = "billing", more: str = "") -> str:
    configs = f"{{{STRATEGY}: [{lists}]{more}}}"
    return f"  - {{at: {at}, rolling_bounce: {{clients: {clients}, down: 10s, configs: {configs}}}}}\n"


def reasons(text: str) -> list[tuple[str, str]]:
    """Return the label of the only assignor, and each change of the selected one."""
    scenario = loads(text)
    [spec] = scenario.assignors
    trace = run(scenario, spec)
    assert trace.failure is None, trace.failure
    return [(spec.label, round.reason) for round in trace.rounds if "assignor" in round.reason]


def test_two_restarts_to_the_cooperative_assignor() -> None:
    text = GROUP + restart("10m", BOTH) + restart("30m", "cooperative-sticky")
    assert reasons(text) == [
        ("range then cooperative-sticky", "billing-2 left, the assignor is now cooperative-sticky")
    ]


def test_one_restart_suffices_if_all_members_list_the_assignor_already() -> None:
    text = GROUP.replace("configs: {partition.assignment.strategy: range}", "kafka: '4.3'")
    # Two votes are a majority.
    assert reasons(text + restart("10m", "cooperative-sticky")) == [
        ("range then cooperative-sticky", "billing-0 joined, the assignor is now cooperative-sticky")
    ]


def test_static_member_that_is_back_with_other_assignors_rebalances_only_if_they_count() -> None:
    text = GROUP.replace("count: 3", "count: 3, static_membership: true")
    scenario = loads(text + restart("10m", BOTH))
    trace = run(scenario, scenario.assignors[0])
    assert [round.reason for round in trace.rounds[1:]] == ["billing-2 is back, the assignor is now cooperative-sticky"]


def test_members_without_a_common_assignor_fail_the_run() -> None:
    text = GROUP.replace("count: 3}", "count: 3}, {name: spare, starts: false, configs: {" + STRATEGY + ": sticky}}")
    scenario = loads(text + "  - {at: 10m, join: {clients: spare}}\n")
    failure = run(scenario, scenario.assignors[0]).failure
    assert failure is not None
    assert "members list no assignor in common (range; sticky)" in failure


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            GROUP + restart("10m", "cooperative-sticky"),
            "s.yaml:12: events[0].rolling_bounce.configs.partition.assignment.strategy: 'billing-0' lists "
            "cooperative-sticky and 'billing-1' range: without an assignor in common, the coordinator rejects the "
            "member (InconsistentGroupProtocolException); restart twice, with both assignors after the first time",
        ),
        (
            GROUP.replace("    configs: {", "    assignors: [uniform]\n    configs: {") + restart("10m", BOTH),
            "s.yaml:13: events[0].rolling_bounce.configs.partition.assignment.strategy: members of the consumer "
            "protocol list no assignors, but uniform has that protocol",
        ),
        (
            GROUP + restart("10m", BOTH, more=", num.standby.replicas: 1"),
            "s.yaml:12: events[0].rolling_bounce.configs.num.standby.replicas: belongs to Kafka Streams; consumers "
            "have no such config",
        ),
        (
            GROUP.replace("count: 3}", "count: 3}, {name: other, configs: {" + STRATEGY + ": sticky}}") + "  []\n",
            "s.yaml:9: consumers[0].clients[1].configs.partition.assignment.strategy: 'other' lists sticky and "
            "'billing-0' range: without an assignor in common, the coordinator rejects the member "
            "(InconsistentGroupProtocolException); restart twice, with both assignors after the first time",
        ),
    ],
)
def test_mistakes_say_what_would_be_right(text: str, expected: str) -> None:
    assert mistakes_in(text) == [expected]


def test_application_has_no_such_list() -> None:
    text = (
        "cluster: {brokers: 1, topics: [{name: a, partitions: 2}]}\n"
        "application: {id: app, topology: {subtopologies: [{sources: [a]}]}}\n"
        "clients: [{name: app, count: 2}]\nevents:\n"
    )
    assert any(
        "only members of consumer groups list assignors" in line
        for line in mistakes_in(text + restart("1m", BOTH, "app"))
    )


def restart_with(at: str, configs: str, clients: str = "billing") -> str:
    return f"  - {{at: {at}, rolling_bounce: {{clients: {clients}, down: 10s, configs: {{{configs}}}}}}}\n"


CONSUMER = "group.protocol: consumer"
AT = "s.yaml:12: events[0].rolling_bounce.configs"


def test_restart_with_the_consumer_protocol_converts_the_group() -> None:
    assert reasons(GROUP + restart_with("10m", CONSUMER)) == [
        ("range then uniform", "billing-0 joined, the assignor is now uniform")
    ]
    text = GROUP + restart_with("10m", f"{CONSUMER}, group.remote.assignor: range")
    assert reasons(text) == [("range then broker-range", "billing-0 joined, the assignor is now broker-range")]


def test_restart_with_the_classic_protocol_converts_the_group_back() -> None:
    text = GROUP + restart_with("10m", CONSUMER) + restart_with("30m", "group.protocol: classic")
    assert reasons(text) == [
        ("range", "billing-0 joined, the assignor is now uniform"),
        ("range", "billing-2 left, the assignor is now range"),
    ]


def test_brokers_convert_a_group_after_their_upgrade() -> None:
    text = GROUP.replace("brokers: {", "kafka: '3.9'\n  brokers: {").replace("count: 1,", "count: 1,")
    upgrade = "  - {at: 5m, upgrade: {brokers: '4.3'}}\n"
    assert reasons(text + upgrade + restart_with("20m", CONSUMER))[0][0] == "range then uniform"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            GROUP + restart_with("10m", f"{CONSUMER}, {STRATEGY}: range"),
            f"{AT}.{STRATEGY}: consumers refuse to start with it if group.protocol is consumer; remove it",
        ),
        (
            GROUP + restart_with("10m", "group.remote.assignor: range"),
            f"{AT}.group.remote.assignor: applies to members of the consumer protocol only; set group.protocol: "
            "consumer beside it",
        ),
        (
            GROUP.replace("cluster:", "cluster:\n  kafka: '3.9'") + restart_with("10m", CONSUMER),
            f"{AT.replace('12', '13')}.group.protocol: Kafka has group.protocol: consumer from 4.0 on (at this time, "
            "brokers have 3.9 and consumers 4.4); upgrade them before",
        ),
        (
            GROUP.replace("- group: billing", "- group: billing\n    kafka: '3.9'") + restart_with("10m", CONSUMER),
            f"{AT.replace('12', '13')}.group.protocol: Kafka has group.protocol: consumer from 4.0 on (at this time, "
            "brokers have 4.4 and consumers 3.9); upgrade them before",
        ),
        (
            GROUP.replace("    configs: {", "    assignors: [uniform]\n    configs: {")
            + restart_with("10m", "group.protocol: classic"),
            f"{AT.replace('12', '13')}.group.protocol: uniform has the consumer protocol from the start; members can "
            "differ only in a group with group.protocol: classic, in which clients[].configs may have group.protocol: "
            "consumer",
        ),
        (
            GROUP.replace("count: 3}", "count: 3, configs: {group.remote.assignor: range}}") + "  []\n",
            "s.yaml:9: consumers[0].clients[0].configs.group.remote.assignor: applies to members of the consumer "
            "protocol only; set group.protocol: consumer beside it",
        ),
    ],
)
def test_mistakes_in_group_protocols(text: str, expected: str) -> None:
    assert mistakes_in(text) == [expected]


def test_application_is_not_converted() -> None:
    text = (
        "cluster: {brokers: 1, topics: [{name: a, partitions: 2}]}\n"
        "application: {id: app, topology: {subtopologies: [{sources: [a]}]}}\n"
        "clients: [{name: app, count: 2}]\nevents:\n"
    )
    [message] = [line for line in mistakes_in(text + restart_with("1m", CONSUMER, "app")) if "group.protocol" in line]
    assert "Kafka does not convert the group of a Kafka Streams application while it runs" in message


def test_members_differ_from_the_start() -> None:
    text = GROUP.replace("count: 3}", "count: 3}, {name: new, configs: {group.protocol: consumer}}") + "  []\n"
    scenario = loads(text)
    trace = run(scenario, scenario.assignors[0])
    assert trace.failure is None
    assert len(trace.rounds) == 1
    assert not trace.downtime_ms.any()
