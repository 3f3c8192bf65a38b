"""Scenarios are loaded and built into the world of a run."""

from __future__ import annotations

import re
import uuid
from dataclasses import replace

import pytest

from assignors.model.configs import AssignmentConfigs, RackAwareStrategy
from assignors.model.ids import ProcessId
from scenarios.load import ScenarioError, loads
from simulator.world.changes import Disk
from simulator.world.disturbances import (
    BrokerLoss,
    ConfigChange,
    Crash,
    Join,
    Leave,
    RackOutage,
    ReplicaMove,
    RollingBounce,
)
from simulator.world.group_configs import EndedThreads, GroupConfigs, GroupProtocol
from simulator.world.world import Broker, OffsetReports, Price, Store
from tests.scenarios.scenario_texts import SMALL, load_text, mistakes_in, replace_in_small


def test_brokers_are_assigned_to_racks_round_robin() -> None:
    text = replace_in_small("{count: 3, racks: [az1, az2, az3]}\n", "{count: 4, racks: [az1, az2, az3], first_id: 7}\n")
    brokers = load_text(text).world(1).cluster.brokers
    assert brokers == (Broker(7, "az1"), Broker(8, "az2"), Broker(9, "az3"), Broker(10, "az1"))


def test_overrides_are_pairs_or_a_mapping() -> None:
    assert loads(SMALL, overrides={"duration": "2h", "cluster.brokers.count": 6}).overrides == (
        ("duration", "2h"),
        ("cluster.brokers.count", "6"),
    )
    for malformed, mistake in (
        ([(3, 3)], "overrides[0]: (3, 3) is not a pair of a path and a value, such as ('duration', '30m')"),
        ([("duration", "20m"), ("seeds",)], "overrides[1]: ('seeds',) is not a pair of a path and a value, such as "),
        ([None], "overrides[0]: None is not a pair of a path and a value, such as "),
        ({3: 3}, "overrides[0]: (3, 3) is not a pair of a path and a value, such as "),
        ("duration=20m", "overrides[0]: 'duration=20m' is not a pair of a path and a value, such as "),
        (3, "overrides[0]: 3 is not a pair of a path and a value, such as "),
    ):
        with pytest.raises(ScenarioError, match=f"^{re.escape(mistake)}"):
            loads(SMALL, overrides=malformed)  # type: ignore[arg-type]


def test_brokers_have_the_given_restore_rates() -> None:
    pool = load_text(SMALL, ("cluster.brokers.restore", "200 MB/s")).world(1).cluster.brokers
    assert [broker.restore_bytes_per_s for broker in pool] == [200_000_000] * 3
    listed = "[{id: 0, rack: az1, restore: 1 MB/s}, {id: 1, rack: az2}, {id: 2, rack: az3}]"
    brokers = load_text(SMALL, ("cluster.brokers", listed)).world(1).cluster.brokers
    assert [broker.restore_bytes_per_s for broker in brokers] == [1_000_000, None, None]


def test_rack_named_no_stays_text() -> None:
    text = SMALL.replace("az1", "no").replace("az2", "yes").replace("az3", "10:00")
    world = load_text(text).world(1)
    assert world.cluster.racks == ("10:00", "no", "yes")
    assert [client.rack for client in world.clients] == ["no", "yes", "10:00", "no"]


def test_brokers_may_be_listed_without_racks() -> None:
    text = replace_in_small("{count: 3, racks: [az1, az2, az3]}\n", "[{id: 4}, {id: 2}, {id: 9, rack: null}]\n")
    text = text.replace(", racks: [az1, az2, az3]", "").replace("rack: az1, ", "")
    world = load_text(text).world(1)
    assert world.cluster.brokers == (Broker(4), Broker(2), Broker(9))
    assert world.clients[0].rack is None


def test_rate_of_a_topic_is_split_over_its_partitions() -> None:
    text = replace_in_small(
        "{name: payments, partitions: 4}", "{name: payments, partitions: 3, bytes_per_s: 10, size: [1, 2 kB, 3]}"
    )
    payments = load_text(text).world(1).cluster.topics["payments"]
    assert payments.bytes_per_s == (4, 3, 3)
    assert payments.size_bytes == (1, 2_000, 3)
    assert payments.record_bytes == 1_000


def test_partitions_without_values_have_the_defaults() -> None:
    text = replace_in_small(
        "  topics:\n", "  partition_defaults: {bytes_per_s: 5, size: 6, record_size: 7}\n  topics:\n"
    )
    topics = load_text(text).world(1).cluster.topics
    assert topics["payments"].bytes_per_s == (5, 5, 5, 5)
    assert topics["payments"].size_bytes == (6, 6, 6, 6)
    assert topics["orders"].size_bytes == (2_000_000_000,) * 4
    assert topics["shop-totals-changelog"].bytes_per_s == (5, 5, 5, 5)
    assert {topic.record_bytes for topic in topics.values()} == {7}


def test_topics_have_kafkas_default_counts() -> None:
    text = replace_in_small("{name: payments, partitions: 4}", "{name: payments}").replace(
        "factor: 2}", "factor: 3, num.partitions: 6}"
    )
    payments = load_text(text).world(1).cluster.topics["payments"]
    assert payments.num_partitions == 6
    assert {len(brokers) for brokers in payments.replicas} == {3}


def test_given_replicas_are_kept_and_the_first_leads() -> None:
    text = replace_in_small("{name: payments, partitions: 4}", "{name: payments, replicas: [[2, 0], [1]]}")
    for seed in (1, 2):
        payments = load_text(text).world(seed).cluster.topics["payments"]
        assert payments.replicas == ((2, 0), (1,))
        assert payments.leaders == (2, 1)


def test_seed_decides_only_placements_and_process_ids() -> None:
    scenario = load_text(SMALL)
    first, repeated, second = scenario.world(1), scenario.world(1), scenario.world(2)
    assert first == repeated
    assert [client.process_id for client in first.clients] != [client.process_id for client in second.clients]
    placements = {tuple(topic.replicas for topic in scenario.world(seed).cluster.topics.values()) for seed in range(9)}
    assert len(placements) > 1
    assert [replace(client, process_id=ProcessId(0, 0)) for client in first.clients] == [
        replace(client, process_id=ProcessId(0, 0)) for client in second.clients
    ]


def test_process_ids_do_not_depend_on_other_clients() -> None:
    few = load_text(SMALL).world(1).clients
    many = load_text(SMALL, ("clients[0].count", "9")).world(1).clients
    assert [client.process_id for client in many[:3]] == [client.process_id for client in few[:3]]
    assert len({client.process_id for client in many}) == len(many)
    assert {uuid.UUID(str(client.process_id)).version for client in many} == {4}


def test_given_process_id_is_kept() -> None:
    text = replace_in_small("rack: az1, starts", "process_id: 80000000-0000-0000-0000-000000000001, starts")
    assert load_text(text).world(5).clients[3].process_id == ProcessId.parse("80000000-0000-0000-0000-000000000001")


def test_repartition_topic_has_partitions_of_the_largest_source() -> None:
    text = replace_in_small("sources: [orders]", "sources: [orders, extra]").replace(
        "  topics:\n", "  topics:\n    - {name: extra, partitions: 11}\n"
    )
    world = load_text(text).world(1)
    assert world.cluster.topics["shop-by-customer-repartition"].num_partitions == 11
    assert world.cluster.topics["shop-totals-changelog"].num_partitions == 11


def test_copartitioning_sets_partitions_of_a_repartition_topic() -> None:
    text = replace_in_small("payments, partitions: 4", "payments, partitions: 9").replace(
        "sources: [by-customer, payments]\n",
        "sources: [by-customer, payments]\n      copartitioned: [[by-customer, payments]]\n",
    )
    assert load_text(text).world(1).cluster.topics["shop-by-customer-repartition"].num_partitions == 9


def test_partitions_of_chained_repartition_topics_are_derived() -> None:
    text = replace_in_small(
        "    - sources: [by-customer, payments]\n",
        "    - sources: [by-shop]\n    - sources: [by-customer, payments]\n      repartition: [{name: by-shop}]\n",
    )
    assert load_text(text).world(1).cluster.topics["shop-by-shop-repartition"].num_partitions == 4


def test_existing_internal_topic_is_used_unchanged() -> None:
    existing_topic = "    - {name: shop-by-customer-repartition, replicas: [[0], [1], [2], [0], [1], [2]], size: 12}\n"
    world = load_text(replace_in_small("application:\n", existing_topic + "application:\n")).world(1)
    topic = world.cluster.topics["shop-by-customer-repartition"]
    assert topic.num_partitions == 6
    assert topic.replicas[1] == (1,)
    assert sum(topic.size_bytes) == 12
    assert sum(topic.bytes_per_s) == 2_000_000


def test_repartition_topic_has_a_short_and_a_full_name() -> None:
    full = replace_in_small("[by-customer, payments]", "[shop-by-customer-repartition, payments]")
    assert load_text(full).world(1) == load_text(SMALL).world(1)


def test_internal_topics_have_replication_factor_of_application_or_brokers() -> None:
    def replicas(*overrides: tuple[str, str]) -> int:
        return len(load_text(SMALL, *overrides).world(1).cluster.topics["shop-totals-changelog"].replicas[0])

    assert replicas() == 2
    assert replicas(("application.configs.replication.factor", "1")) == 1
    assert replicas(("application.configs.replication.factor", "-1")) == 2


def test_stores_may_be_logged_unlogged_or_restored_from_their_source() -> None:
    text = replace_in_small(
        "stores: [{name: totals, size: 1 GB}]",
        "stores: [{name: a}, {name: b, logged: false, persistent: false}, {name: c, changelog: payments}]",
    )
    world = load_text(text).world(1)
    assert world.application.subtopologies[1].stores == (
        Store("a", "shop-a-changelog"),
        Store("b", None, persistent=False),
        Store("c", "payments"),
    )
    assert [name for name in world.cluster.topics if name.endswith("-changelog")] == ["shop-a-changelog"]


def test_default_configs_are_kafkas() -> None:
    application = load_text(replace_in_small("  configs: {num.standby.replicas: 1}\n", "")).world(1).application
    assert application.assignment_configs == AssignmentConfigs()
    assert application.group_configs == GroupConfigs()


def test_configs_are_applied() -> None:
    text = (
        replace_in_small(
            "  configs: {num.standby.replicas: 1}\n",
            """\
  kafka: "4.1"
  configs:
    acceptable.recovery.lag: 5
    max.warmup.replicas: 6
    num.standby.replicas: 7
    probing.rebalance.interval.ms: 8m
    rack.aware.assignment.tags: "zone, cluster"
    rack.aware.assignment.strategy: balanced_min_cost
    rack.aware.assignment.traffic_cost: 9
    rack.aware.assignment.non_overlap_cost: 10
    session.timeout.ms: 11000
    heartbeat.interval.ms: 4s
    max.poll.interval.ms: 1m
    state.cleanup.delay.ms: 12s
    internal.leave.group.on.close: true
    num.stream.threads: 13
  rejoins_when_brokers_bounce: true
  leader_speed: 0.5
""",
        )
        .replace("threads: 2}", "tags: {zone: a, cluster: b}}")
        .replace("starts: false", "threads: 1, tags: {zone: a, cluster: b}, starts: false")
    )
    text = text.replace(
        "factor: 2}",
        "factor: 2, group.initial.rebalance.delay.ms: 0, group.streams.heartbeat.interval.ms: 6s, "
        "group.streams.assignment.interval.ms: 2s}",
    )
    world = load_text(text).world(1)
    assert world.application.assignment_configs == AssignmentConfigs(
        acceptable_recovery_lag=5,
        max_warmup_replicas=6,
        num_standby_replicas=7,
        probing_rebalance_interval_ms=480_000,
        rack_aware_assignment_tags=("zone", "cluster"),
        rack_aware_traffic_cost=9,
        rack_aware_non_overlap_cost=10,
        rack_aware_assignment_strategy=RackAwareStrategy.BALANCE_SUBTOPOLOGY,
    )
    assert world.application.group_configs == GroupConfigs(
        session_timeout_ms=11_000,
        heartbeat_interval_ms=4_000,
        streams_heartbeat_interval_ms=6_000,
        streams_assignment_interval_ms=2_000,
        max_poll_interval_ms=60_000,
        initial_rebalance_delay_ms=0,
        leave_group_on_close=True,
        ended_threads=EndedThreads.UNSUBSCRIBE_IF_CLOSE_LEAVES,
        state_cleanup_delay_ms=12_000,
        rejoins_when_brokers_bounce=True,
        leader_speed=0.5,
    )
    assert [client.threads for client in world.clients] == [13, 13, 13, 1]


STREAMS = {
    "group.streams.session.timeout.ms": "50s",
    "group.streams.heartbeat.interval.ms": "7s",
    "group.streams.initial.rebalance.delay.ms": "9s",
}


def test_group_timeouts_depend_on_the_protocol() -> None:
    brokers = [(f"cluster.configs.{key}", value) for key, value in STREAMS.items()]
    scenario = load_text(SMALL, *brokers, ("application.configs.session.timeout.ms", "20s"))
    classic = scenario.world(1).application.group_configs
    assert (classic.protocol, classic.session_timeout_ms) == (GroupProtocol.CLASSIC, 20_000)
    assert classic.initial_rebalance_delay_ms == 3_000
    streams = scenario.world(
        1, replace(scenario.assignors[0], protocol=GroupProtocol.STREAMS)
    ).application.group_configs
    of_streams = {"session_timeout_ms": 50_000, "initial_rebalance_delay_ms": 9_000}
    of_newest = {"reports_task_offsets": True, "can_remain_in_streams_group": True}
    assert streams == replace(classic, protocol=GroupProtocol.STREAMS, **of_newest, **of_streams)
    assert streams.streams_heartbeat_interval_ms == 7_000


@pytest.mark.parametrize("protocol", ["streams", "STREAMS"])
def test_application_may_be_a_streams_group(protocol: str) -> None:
    scenario = load_text(SMALL, ("application.configs.group.protocol", protocol))
    own_configs = scenario.world(1).application.group_configs
    assert (own_configs.protocol, own_configs.session_timeout_ms) == (GroupProtocol.STREAMS, 45_000)
    assert (
        scenario.world(1, replace(scenario.assignors[0], protocol=GroupProtocol.CLASSIC)).application.group_configs
        == GroupConfigs()
    )


@pytest.mark.parametrize(
    ("clients", "brokers", "is_supported"),
    [("4.4", None, True), ("4.4", "4.4.0", True), ("4.4", "4.3", False), (None, None, True), ("4.3", "4.4", False)],
)
def test_streams_groups_have_static_members_from_4_4_on(
    clients: str | None, brokers: str | None, is_supported: bool
) -> None:
    text = replace_in_small("threads: 2}", "threads: 2, static_membership: true}")
    stated = {"application.kafka": clients, "cluster.kafka": brokers}
    releases = [(path, f"'{release}'") for path, release in stated.items() if release is not None]
    scenario = loads(text, overrides=releases)
    assert [client.is_static for client in scenario.world(1).clients] == [True, True, True, False]
    in_streams_group = [
        client.is_static
        for client in scenario.world(1, replace(scenario.assignors[0], protocol=GroupProtocol.STREAMS)).clients
    ]
    assert in_streams_group == [is_supported] * 3 + [False]
    streams = [*releases, ("application.configs.group.protocol", "streams")]
    if is_supported:
        assert loads(text, overrides=streams).world(1).clients[0].is_static
        return
    with pytest.raises(ScenarioError) as caught:
        loads(text, overrides=streams)
    assert "clients[0].static_membership: Kafka rejects group.instance.id with group.protocol: streams before 4.4 " in (
        str(caught.value)
    )
    assert f"(application.kafka: {clients or '4.3'}, cluster.kafka: {brokers or '4.4'})" in str(caught.value)


def test_broker_configs_change_limits_of_streams_groups() -> None:
    quick = {"session.timeout.ms": "1s", "heartbeat.interval.ms": "500"}
    keys = [(f"group.streams.{limit}{key}", value) for key, value in quick.items() for limit in ("", "min.")]
    text = replace_in_small("factor: 2}", "".join(["factor: 2", *(f", {key}: {value}" for key, value in keys), "}"]))
    scenario = load_text(text)
    world = scenario.world(1, replace(scenario.assignors[0], protocol=GroupProtocol.STREAMS))
    streams = world.application.group_configs
    assert (streams.session_timeout_ms, streams.streams_heartbeat_interval_ms) == (1_000, 500)


def test_protocols_may_be_compared() -> None:
    text = replace_in_small(
        "[high_availability]",
        "[ha, {assignor: streams_group_sticky, configs: {group.protocol: Streams, num.standby.replicas: 2}}]",
    )
    scenario = load_text(text)
    default, broker = scenario.assignors
    assert (default.protocol, broker.protocol) == (None, GroupProtocol.STREAMS)
    assert broker.changed == ("num.standby.replicas", "group.protocol")
    assert broker.label == "streams_group_sticky (num.standby.replicas=2, group.protocol=streams)"
    worlds = [scenario.world(1, choice) for choice in scenario.assignors]
    assert [world.application.group_configs.protocol for world in worlds] == ["classic", "streams"]
    assert worlds[0].clients == worlds[1].clients


def test_subtopologies_write_their_repartition_and_result_topics() -> None:
    text = replace_in_small("repartition: [{name", "writes: [payments]\n      repartition: [{name")
    first, second = load_text(text).world(1).application.subtopologies
    assert first.written_topics == ("shop-by-customer-repartition", "payments")
    assert second.written_topics == ()


def test_client_properties_are_applied() -> None:
    plain = load_text(SMALL).world(1).clients[0]
    assert (plain.announces_rack, plain.records_per_s, plain.is_static, plain.reports) == (True, None, False, "current")
    text = replace_in_small(
        "threads: 2}", "client_rack: false, records_per_s: 20000, static_membership: true, reports: never}"
    )
    scenario = load_text(text)
    client = scenario.world(1).clients[0]
    assert (client.rack, client.announces_rack) == ("az1", False)
    assert (client.records_per_s, client.is_static, client.reports) == (20_000, True, OffsetReports.NEVER)
    assert scenario.stated == ("num.standby.replicas", "client.rack", "group.instance.id")
    assert load_text(text.replace("{name: late, rack: az1,", "{name: late,")).stated == (
        "num.standby.replicas",
        "group.instance.id",
    )


@pytest.mark.parametrize(
    ("text", "provider", "usd_per_gb"), [("aws", "aws", 0.02), ("GCP", "gcp", 0.01), ("{provider: azure}", "azure", 0)]
)
def test_built_in_prices_have_a_source(text: str, provider: str, usd_per_gb: float) -> None:
    price = load_text(SMALL, ("price", text)).world(1).price
    assert price is not None
    assert (price.provider, price.usd_per_gb) == (provider, usd_per_gb)
    assert re.fullmatch(r"\d{4}-\d\d, \S+\.\S+/\S+", price.as_of)


@pytest.mark.parametrize("provider", ["mine", "aws"])
def test_price_may_be_custom(provider: str) -> None:
    price = load_text(SMALL, ("price", f"{{provider: {provider}, usd_per_gb: 0.03}}")).world(1).price
    assert price == Price(provider, 0.03, "the scenario", 0.015 if provider == "aws" else 0.0)


def test_default_is_no_price() -> None:
    assert load_text(SMALL).world(1).price is None


@pytest.mark.parametrize(("selector", "nearest"), [("RackAwareReplicaSelector", True), ("LeaderSelector", False)])
def test_replica_selector_decides_where_consumers_read(selector: str, nearest: bool) -> None:
    text = replace_in_small(
        "factor: 2}", f"factor: 2, replica.selector.class: org.apache.kafka.common.replica.{selector}}}"
    )
    assert load_text(text).world(1).cluster.reads_from_nearest_replica is nearest
    assert load_text(SMALL).world(1).cluster.reads_from_nearest_replica is False


@pytest.mark.parametrize(("starts", "start"), [("  starts: cold\n", "cold"), ("", "warm")])
def test_application_starts_warm_by_default(starts: str, start: str) -> None:
    assert load_text(replace_in_small("  id: shop\n", f"  id: shop\n{starts}")).world(1).start == start


EVENTS = """\
events:
  - {at: 30m, scale_out: {clients: late}}
  - {at: 1h, rolling_bounce: {clients: app}}
  - {at: 2h, rolling_bounce: {clients: [app-1, app], down: 1m, pause: 2m, disk: lost}}
  - {at: 3h, crash: {clients: [app-2], down: 10m, disk: lost}}
  - {at: 4h, rack_outage: {rack: az2, down: 30m}}
  - {at: 5h, rack_outage: {rack: az2}}
  - {at: 6h, broker_loss: {brokers: [2, 0], down: 20m}}
  - {at: 7h, replica_move: {topic: shop-totals-changelog, partition: 3, replicas: [2, 1]}}
  - {at: 8h, config_change: {configs: {num.standby.replicas: 2}}}
  - {at: 9h, leave: {clients: late}}
  - {at: 10h, join: {clients: [late, late]}}
  - {at: 11h, scale_in: {clients: [late]}}
  - {at: 11h, crash: {clients: app-0}}
  - {at: 8h30m, config_change: {configs: {max.warmup.replicas: 9}}}
"""


def test_events_become_disturbances() -> None:
    text = replace_in_small("events:\n  - {at: 30m, scale_out: {clients: late}}\n", EVENTS).replace(
        "duration: 2h", "duration: 1d"
    )
    hour = 3_600_000
    now = AssignmentConfigs(num_standby_replicas=2)
    assert load_text(text).world(1).disturbances == (
        Join(hour // 2, ("late",)),
        RollingBounce(hour, ("app-0", "app-1", "app-2"), 30_000, 60_000),
        RollingBounce(2 * hour, ("app-1", "app-0", "app-2"), 60_000, 120_000, disk=Disk.LOST),
        Crash(3 * hour, ("app-2",), 600_000, disk=Disk.LOST),
        RackOutage(4 * hour, "az2", 1_800_000),
        RackOutage(5 * hour, "az2", None),
        BrokerLoss(6 * hour, (2, 0), 1_200_000),
        ReplicaMove(7 * hour, "shop-totals-changelog", 3, (2, 1)),
        ConfigChange(8 * hour, now),
        Leave(9 * hour, ("late",)),
        Join(10 * hour, ("late",)),
        Leave(11 * hour, ("late",)),
        Crash(11 * hour, ("app-0",), None),
        ConfigChange(17 * hour // 2, replace(now, max_warmup_replicas=9)),
    )


def test_config_changes_build_on_the_configs_of_the_run() -> None:
    change = "{at: 30m, config_change: {configs: {num.standby.replicas: 2}}}"
    scenario = load_text(replace_in_small("{at: 30m, scale_out: {clients: late}}", change))
    own_configs = AssignmentConfigs(max_warmup_replicas=5)
    world = scenario.world(1, replace(scenario.assignors[0], configs=own_configs))
    assert world.application.assignment_configs == own_configs
    assert world.disturbances == (ConfigChange(1_800_000, replace(own_configs, num_standby_replicas=2)),)


def test_permanently_removed_clients_are_absent() -> None:
    text = replace_in_small(
        "{at: 30m, scale_out: {clients: late}}",
        "{at: 1h, leave: {clients: app-1}}\n  - {at: 30m, crash: {clients: app-1}}",
    )
    assert mistakes_in(text) == ["s.yaml:20: events[0].leave.clients: absent at 1h: app-1"]
    text = replace_in_small(
        "{at: 30m, scale_out: {clients: late}}",
        "{at: 1h, leave: {clients: app-1}}\n  - {at: 30m, rack_outage: {rack: az2}}",
    )
    assert mistakes_in(text) == ["s.yaml:20: events[0].leave.clients: absent at 1h: app-1"]


def test_assignors_have_configs_and_labels() -> None:
    text = replace_in_small(
        "[high_availability]",
        "[ha, {assignor: ha, configs: {max.warmup.replicas: 3}}, {label: old, assignor: sticky, parameters: {}}]",
    )
    first, second, third = load_text(text).assignors
    configs = AssignmentConfigs(num_standby_replicas=1)
    assert (first.label, first.info.name, first.configs) == ("high_availability", "high_availability", configs)
    assert second.label == "high_availability (max.warmup.replicas=3)"
    assert second.configs == replace(configs, max_warmup_replicas=3)
    assert (third.label, third.info.name) == ("old", "legacy_sticky")


def test_default_assignor_is_kafkas() -> None:
    assert [
        spec.info.name for spec in load_text(replace_in_small("assignors: [high_availability]\n", "")).assignors
    ] == ["high_availability"]


def test_optional_sections_have_defaults() -> None:
    text = replace_in_small("name: small\n", "").replace("duration: 2h\n", "")
    scenario = load_text(text)
    assert (scenario.name, scenario.description, scenario.seeds, scenario.path) == ("s", "", (1,), None)
    assert scenario.world(1).duration_ms == 86_400_000
