"""Consumer groups in scenarios: references, configs, releases, and which events concern them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scenarios.load import Scenario, loads
from simulator.world.disturbances import Crash, RackOutage, TrafficChange
from simulator.world.group_configs import GroupConfigs, GroupProtocol
from simulator.world.world import Start, World
from tests.scenarios.scenario_texts import CONSUMERS, mistakes_in

GROUP = """\
consumers:
  - group: billing
    topics: [orders]
    clients: [{name: billing, count: 2, rack: az1}]
"""
CLUSTER = """\
cluster:
  brokers: {count: 3, racks: [az1, az2, az3]}
  topics: [{name: orders, partitions: 6, bytes_per_s: 1 MB/s}]
"""
ALONE = CLUSTER + GROUP
TWO = ALONE.replace("topics: [{", "topics: [{name: payments, partitions: 2}, {").replace(
    "[orders]", "[orders, payments]"
)
RUNNING = (
    CLUSTER
    + """\
consumers:
  - group: billing
    topics: [orders]
    starts: running
    clients:
      - {name: a, partitions: [orders-0, orders-1]}
      - {name: b, consumers: 2, partitions: [[orders-2], [orders-5, orders-4]]}
      - {name: c}
"""
)
BESIDE = (
    CLUSTER
    + """\
application: {id: app, subtopologies: [{sources: [orders]}]}
clients: [{name: app, count: 2}]
"""
    + GROUP
)


def with_configs(configs: str) -> str:
    return ALONE.replace("    clients:", f"    configs: {{{configs}}}\n    clients:")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            ALONE.replace("topics: [orders]", "topics: [orders, order]"),
            ["s.yaml:6: consumers[0].topics[1]: unknown topic 'order' (did you mean 'orders'?)"],
        ),
        (
            ALONE.replace("topics: [orders]", "topics: [orders, orders]"),
            ["s.yaml:6: consumers[0].topics[1]: duplicate topic 'orders'"],
        ),
        (
            ALONE.replace("rack: az1", "rack: az1, topics: [orders, order]"),
            ["s.yaml:7: consumers[0].clients[0].topics[1]: unknown topic 'order' (did you mean 'orders'?)"],
        ),
        (
            ALONE.replace("rack: az1", "rack: az1, topics: [orders, orders]"),
            ["s.yaml:7: consumers[0].clients[0].topics[1]: duplicate topic 'orders'"],
        ),
        (
            TWO.replace("rack: az1", "rack: az1, topics: [orders]"),
            [
                "s.yaml:6: consumers[0].topics[1]: no client subscribes to 'payments', as all have topics of their "
                "own; remove it"
            ],
        ),
        (
            ALONE.replace("rack: az1", "assignors: [range], partition.assignment.strategy: range"),
            [
                f"s.yaml:7: consumers[0].clients[0].{key}: unknown key (it belongs to the group and applies to all "
                "members; only partition.assignment.strategy may differ, in configs of the client)"
                for key in ("assignors", "partition.assignment.strategy")
            ],
        ),
        (
            ALONE.replace("rack: az1", "configs: {session.timeout.ms: 10s}"),
            [
                "s.yaml:7: consumers[0].clients[0].configs.session.timeout.ms: unknown or misplaced config (it belongs "
                "in configs of the group)"
            ],
        ),
        (
            ALONE.replace("    topics: [orders]\n", ""),
            ["s.yaml:5: consumers[0].topics: missing: client 'billing' has no topics of its own"],
        ),
        (
            ALONE.replace("count: 2, rack: az1", "rack: az1, partitions: [orders-0]"),
            ["s.yaml:7: consumers[0].clients[0].partitions: applies only if the group starts: running"],
        ),
        (
            ALONE.replace("    clients", "    starts: running\n    clients", 1),
            ["s.yaml:7: consumers[0].starts: running, but no client has partitions; set clients[].partitions"],
        ),
        (
            RUNNING.replace("orders-0", "orders-6").replace("orders-2", "orders-1"),
            [
                "s.yaml:9: consumers[0].clients[0].partitions[0]: orders-6 is not an existing partition (orders has "
                "orders-0 to orders-5)",
                "s.yaml:10: consumers[0].clients[1].partitions[0][0]: orders-1 already belongs to 'a'",
            ],
        ),
        (
            RUNNING.replace("orders-0", "payments-0"),
            [
                "s.yaml:9: consumers[0].clients[0].partitions[0]: 'a' does not subscribe to 'payments' (its topics: "
                "orders)"
            ],
        ),
        (
            RUNNING.replace("orders-0", "orders"),
            [
                "s.yaml:9: consumers[0].clients[0].partitions[0]: 'orders' is not a partition (TOPIC-PARTITION, as in "
                "orders-3)"
            ],
        ),
        (
            RUNNING.replace("consumers: 2", "consumers: 1"),
            ["s.yaml:10: consumers[0].clients[1].partitions: 2 lists, but the client has 1 consumer"],
        ),
        (
            RUNNING.replace("name: a", "name: a, count: 2"),
            [
                "s.yaml:9: consumers[0].clients[0].partitions: several clients cannot have the same partitions; "
                "define one entry per client"
            ],
        ),
        (
            RUNNING.replace("name: b", "name: b, instance_id: i"),
            [
                "s.yaml:10: consumers[0].clients[1].instance_id: several consumers cannot share a group.instance.id; "
                "set static_membership: true instead"
            ],
        ),
        (
            RUNNING.replace("name: a", "name: a, instance_id: i").replace("name: c", "name: c, instance_id: i"),
            ["s.yaml:11: consumers[0].clients[2].instance_id: 'i' is also that of 'a'"],
        ),
        (
            ALONE.replace("name: orders,", "name: orders, id: x,"),
            ["s.yaml:3: cluster.topics[0].id: 'x' is not a topic id (22 characters, as kafka-topics.sh prints)"],
        ),
        (
            with_configs("partition.assignment.strategy: RangeAssigner"),
            [
                "s.yaml:7: consumers[0].configs.partition.assignment.strategy: 'RangeAssigner' is not an assignor of "
                "Kafka's consumer (did you mean 'RangeAssignor'?)"
            ],
        ),
        (
            with_configs("partition.assignment.strategy: 'range, range'"),
            [
                "s.yaml:7: consumers[0].configs.partition.assignment.strategy: duplicate assignor 'range'; consumers "
                "refuse to start"
            ],
        ),
        (
            with_configs("group.protocol: streams"),
            ["s.yaml:7: consumers[0].configs.group.protocol: 'streams' is not one of: 'classic' or 'consumer'"],
        ),
        (
            with_configs("group.remote.assignor: uniform"),
            [
                "s.yaml:7: consumers[0].configs.group.remote.assignor: consumers refuse to start with it if "
                "group.protocol is classic; remove it"
            ],
        ),
        (
            with_configs("group.protocol: consumer, session.timeout.ms: 30s"),
            [
                "s.yaml:7: consumers[0].configs.session.timeout.ms: consumers refuse to start with it if "
                "group.protocol is consumer; remove it"
            ],
        ),
        (
            with_configs("client.rack: az1"),
            ["s.yaml:7: consumers[0].configs.client.rack: unknown or misplaced config (set rack or racks of clients)"],
        ),
        (
            with_configs("session.timeout.ms: 2s"),
            [
                "s.yaml:7: consumers[0].configs.session.timeout.ms: 2000 ms is not between "
                "group.min.session.timeout.ms and group.max.session.timeout.ms (6000 and 1800000 ms); the group "
                "coordinator rejects it"
            ],
        ),
        (
            ALONE.replace("    clients:", "    poll_interval: 5m\n    clients:"),
            [
                "s.yaml:7: consumers[0].poll_interval: 300000 ms is not less than max.poll.interval.ms (300000 ms); "
                "the group would lose every member"
            ],
        ),
        (
            with_configs("group.protocol: consumer").replace("  brokers:", "  kafka: '3.9'\n  brokers:"),
            [
                "s.yaml:8: consumers[0].configs.group.protocol: Kafka has group.protocol: consumer from 4.0 on "
                "(kafka of the group: 4.4, cluster.kafka: 3.9)"
            ],
        ),
        (
            ALONE + "    assignors: [rnge]\n",
            [
                "s.yaml:8: consumers[0].assignors[0].assignor: 'rnge' is not an assignor of consumer groups (did you "
                "mean 'range'?)"
            ],
        ),
        (
            ALONE + "    assignors: [range, RangeAssignor]\n",
            [
                "s.yaml:8: consumers[0].assignors[1].label: 'range' is also the label of another assignor; set a "
                "unique label"
            ],
        ),
        (
            ALONE + "  - {group: billing, topics: [orders], clients: [{name: billing-0}]}\n",
            [
                "s.yaml:8: consumers[1].group: 'billing' is also the id of consumers[0]; groups on a cluster need "
                "different ids",
                "s.yaml:8: consumers[1].clients[0].name: 'billing-0' is also the name of a client of group 'billing'",
            ],
        ),
        (
            ALONE + "clients: [{name: a}]\nassignors: [range]\n",
            [
                "s.yaml:8: clients: there is no application; list the clients of a group in consumers[].clients",
                "s.yaml:9: assignors: there is no application; list the assignors of a group in consumers[].assignors",
            ],
        ),
        (
            ALONE + "subject: biling\n",
            ["s.yaml:8: subject: unknown application.id or group.id 'biling' (did you mean 'billing'?)"],
        ),
        (
            ALONE + "events: [{at: 1m, config_change: {configs: {num.standby.replicas: 1}}}]\n",
            [
                "s.yaml:8: events[0].config_change: applies to applications of Kafka Streams only, not to consumer "
                "groups"
            ],
        ),
        (
            BESIDE + "events: [{at: 1m, crash: {clients: [billing-0, app]}}]\n",
            [
                "s.yaml:10: events[0].crash.clients: clients: billing-0, app are of several groups; use one event for "
                "each group"
            ],
        ),
        (
            BESIDE + "events: [{at: 1m, crash: {clients: biling}}]\n",
            ["s.yaml:10: events[0].crash.clients: unknown client 'biling' (did you mean 'billing'?)"],
        ),
    ],
)
def test_mistakes_have_the_place_in_the_file(text: str, expected: list[str]) -> None:
    assert mistakes_in(text) == expected


def test_clients_may_list_topics() -> None:
    world = _world(
        TWO.replace("topics: [orders, payments]\n", "topics: [orders]\n").replace(
            "clients: [", "clients: [{name: both, topics: [payments, orders]}, "
        )
    )
    assert [part.source_topics for part in world.application.subtopologies] == [("orders",), ("payments",)]
    topics = {client.name: client.consumer.topics for client in world.clients}
    assert topics == {"both": None, "billing-0": frozenset(["orders"]), "billing-1": frozenset(["orders"])}


def test_group_may_leave_topics_to_its_clients() -> None:
    text = ALONE.replace("    topics: [orders]\n", "").replace("rack: az1", "topics: [orders]")
    assert _world(text) == _world(ALONE.replace("rack: az1", "topics: [orders]"))


def _world(text: str) -> World:
    scenario = loads(text)
    return scenario.world(1, scenario.assignors[0])


def test_running_group_starts_with_the_partitions_of_its_clients() -> None:
    scenario = loads(RUNNING.replace("name: c", "name: c, instance_id: i, client_id: x"))
    world = scenario.world(1, scenario.assignors[0])
    assert world.start is Start.RUNNING
    held = {client.name: [list(map(str, tasks)) for tasks in client.tasks.active] for client in world.clients}
    assert held == {"a": [["orders-0", "orders-1"]], "b": [["orders-2"], ["orders-5", "orders-4"]], "c": []}
    assert [client.is_static for client in world.clients] == [False, False, True]
    assert (world.clients[2].consumer.instance_id, world.clients[2].consumer.client_id) == ("i", "x")
    assert scenario.notes == ("partitions without an owner until the first rebalance: orders-3",)


def test_topic_id_of_the_scenario() -> None:
    text = ALONE.replace("name: orders,", "name: orders, id: KrngRFv9Qm-FUBoyqQTyrA,")
    topic = _world(text).cluster.topics["orders"]
    assert str(topic.topic_id) == "KrngRFv9Qm-FUBoyqQTyrA"


def test_default_assignor_follows_from_the_configs() -> None:
    def chosen(configs: str) -> tuple[str, GroupProtocol | None]:
        [spec] = loads(with_configs(configs)).assignors
        return spec.label, spec.protocol

    assert chosen("") == ("range", GroupProtocol.CLASSIC)
    strategy = "partition.assignment.strategy: org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
    assert chosen(strategy) == ("cooperative-sticky", GroupProtocol.CLASSIC)
    assert chosen("group.protocol: CONSUMER") == ("uniform", GroupProtocol.CONSUMER)
    assert chosen("group.protocol: consumer, group.remote.assignor: range") == ("broker-range", GroupProtocol.CONSUMER)


def test_list_with_an_eager_assignor_is_eager() -> None:
    scenario = loads(with_configs("partition.assignment.strategy: 'cooperative-sticky, range'"))
    [spec] = scenario.assignors
    assert spec.label == "cooperative-sticky (eager)"
    assert spec.make().is_eager  # type: ignore[attr-defined]
    assert "the group rebalances eagerly: range does not support the cooperative protocol" in scenario.warnings[0]


def test_unmodeled_consumer_config_causes_a_warning() -> None:
    assert loads(with_configs("max.poll.records: 10")).warnings == ()
    [warning] = loads(with_configs("internal.leave.group.on.close: false")).warnings
    assert warning == (
        "scenario:7: consumers[0].configs.internal.leave.group.on.close: valid, but not modeled (no effect): set "
        "leaves_group of the events that close clients"
    )


def test_events_concern_the_group_of_their_clients() -> None:
    own, other = _worlds(loads(CONSUMERS))
    assert [type(event) for event in own] == [Crash, *[type(event) for event in own[1:]]]
    assert sum(isinstance(event, RackOutage) for event in own) == sum(isinstance(event, RackOutage) for event in other)
    assert not any(isinstance(event, Crash) for event in other)
    both = _worlds(loads(CONSUMERS.replace("events:\n", "events:\n  - {at: 5m, traffic: {factor: 2}}\n")))
    assert all(any(isinstance(event, TrafficChange) for event in events) for events in both)


def _worlds(scenario: Scenario) -> list[tuple[object, ...]]:
    world = scenario.world(1, scenario.assignors[0])
    return [
        world.disturbances,
        *(other.disturbances for _, other in scenario.neighbor_worlds(world, scenario.assignors[0], 1)),
    ]


def test_subject_is_the_application_or_the_first_group_by_default() -> None:
    assert loads(CONSUMERS.replace("subject: billing\n", "")).blueprint.application.id == "billing"
    assert loads(CONSUMERS, overrides=[("subject", "audit")]).blueprint.application.id == "audit"
    assert loads(BESIDE).blueprint.application.id == "app"
    swapped = loads(BESIDE, overrides=[("subject", "billing")])
    assert swapped.blueprint.application.id == "billing"
    assert [neighbor.blueprint.application.id for neighbor in swapped.neighbors] == ["app"]


def _of_consumer_protocol(text: str) -> GroupConfigs:
    scenario = loads(text)
    spec = replace(scenario.assignors[0], protocol=GroupProtocol.CONSUMER)
    return scenario.world(1, spec).application.group_configs


def test_configs_of_the_coordinator_apply_to_the_consumer_protocol() -> None:
    text = ALONE.replace("  brokers:", "  configs: {group.consumer.heartbeat.interval.ms: 10s}\n  brokers:")
    group = _of_consumer_protocol(text)
    assert (group.streams_heartbeat_interval_ms, group.initial_rebalance_delay_ms) == (10_000, 0)
    assert group.streams_assignment_interval_ms == 1_000
    older = _of_consumer_protocol(ALONE.replace("  brokers:", "  kafka: '4.2'\n  brokers:"))
    assert older.streams_assignment_interval_ms == 0
    assert mistakes_in(ALONE.replace("  brokers:", "  configs: {group.consumer.heartbeat.interval.ms: 1s}\n  brokers:"))
