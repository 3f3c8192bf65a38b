"""Observation of a cluster from recorded responses of a real one.

`recorded/` contains responses of Kafka 4.3.1 with three brokers in three racks, and of an application of four
subtopologies: 0 joins users to the repartitioned clicks and counts them, 1 repartitions clicks, 2 counts views, 3
passes on pings. `classic.jsonl` was recorded with three processes of two threads and one standby; `warming_up.jsonl`
while a third process, a static member with no state, joined two (acceptable.recovery.lag=100); `streams.jsonl` with
two processes of the streams protocol and streams.num.standby.replicas=1. `classic_3_9.jsonl` is of Kafka 3.9.1, brokers
and application, with two processes. Configs of topics are from later clusters of Kafka 4.3.1 and 3.9.1, of a source
topic, a changelog and a repartition topic that were created in the same way.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest

from assignors.replicas.state import TopicRetention
from scenarios.kafka.live.observe import observe
from scenarios.kafka.live.running_group import STABLE_TIMEOUT_S
from scenarios.kafka.observation.observation import Observation, ObservationError, ObservedSubtopology
from scenarios.kafka.observation.scenario_writer import list_assumptions, list_warnings, scenario_text
from scenarios.load import loads
from tests.scenarios.kafka.live.recorded_cluster import Recorded

TOPOLOGY = """\
Topologies:
   Sub-topology: 0
    Source: clicks-by-user-repartition-source (topics: [clicks-by-user-repartition])
      --> KSTREAM-JOIN-0000000007, KSTREAM-AGGREGATE-0000000009
    Processor: KSTREAM-JOIN-0000000007 (stores: [users-store])
      --> KSTREAM-SINK-0000000008
      <-- clicks-by-user-repartition-source
    Source: KSTREAM-SOURCE-0000000000 (topics: [users])
      --> KTABLE-SOURCE-0000000001
    Processor: KSTREAM-AGGREGATE-0000000009 (stores: [click-counts])
      --> none
      <-- clicks-by-user-repartition-source
    Sink: KSTREAM-SINK-0000000008 (topic: joined)
      <-- KSTREAM-JOIN-0000000007
    Processor: KTABLE-SOURCE-0000000001 (stores: [users-store])
      --> none
      <-- KSTREAM-SOURCE-0000000000

  Sub-topology: 1
    Source: KSTREAM-SOURCE-0000000002 (topics: [clicks])
      --> clicks-by-user-repartition-sink
    Sink: clicks-by-user-repartition-sink (topic: clicks-by-user-repartition)
      <-- KSTREAM-SOURCE-0000000002

  Sub-topology: 2
    Source: KSTREAM-SOURCE-0000000010 (topics: [views])
      --> KSTREAM-AGGREGATE-0000000011
    Processor: KSTREAM-AGGREGATE-0000000011 (stores: [view-counts])
      --> none
      <-- KSTREAM-SOURCE-0000000010

  Sub-topology: 3
    Source: KSTREAM-SOURCE-0000000012 (topics: [pings])
      --> KSTREAM-SINK-0000000014
    Sink: KSTREAM-SINK-0000000014 (topic: pongs)
      <-- KSTREAM-SOURCE-0000000012
"""


def observe_recorded(cluster: Recorded, group: str = "shop", **options: Any) -> Observation:
    defaults: dict[str, Any] = {"seconds": 5, "topology": None, "configs": {}, "all_topics": False}
    return observe(cluster, group, **{**defaults, **options})


@pytest.fixture(scope="module")
def classic() -> Observation:
    return observe_recorded(Recorded("classic.jsonl"))


@pytest.fixture(scope="module")
def streams() -> Observation:
    return observe_recorded(Recorded("streams.jsonl"), "kiosk")


def with_group(**changes: Any) -> Recorded:
    response = copy.deepcopy(Recorded("classic.jsonl").responses("classic_group")[0])
    return Recorded("classic.jsonl", classic_group=[{**response, **changes}])


def test_classic_group_has_processes_threads_and_tasks(classic: Observation) -> None:
    assert [(process.rack, dict(process.tags)) for process in classic.processes] == [
        ("az1", {"zone": "az1"}),
        ("az3", {"zone": "az3"}),
        ("az2", {"zone": "az2"}),
    ]
    first = classic.processes[0]
    assert first.process_id == "35748818-3d6d-4a0e-9c4b-c2b6480d4b60"
    assert first.client_id == f"shop-{first.process_id}"
    assert [(thread.active, thread.standby) for thread in first.threads] == [
        (("0_2", "1_1", "3_1"), ("0_1",)),
        (("1_4", "2_1"), ("2_0",)),
    ]
    assert not first.is_static


def test_every_task_of_a_stable_group_is_active_once(classic: Observation, streams: Observation) -> None:
    all_tasks = sorted(
        [f"0_{n}" for n in range(4)] + [f"1_{n}" for n in range(6)] + [f"{s}_{n}" for s in "23" for n in range(3)]
    )
    for observation in (classic, streams):
        active = [task for process in observation.processes for thread in process.threads for task in thread.active]
        assert sorted(active) == all_tasks


def test_subtopologies_and_stores_are_inferred_from_the_assignment(classic: Observation) -> None:
    assert classic.subtopologies == (
        ObservedSubtopology(
            0,
            ("shop-clicks-by-user-repartition", "users"),
            {"click-counts": "shop-click-counts-changelog", "users-store": "shop-users-store-changelog"},
        ),
        ObservedSubtopology(1, ("clicks",)),
        ObservedSubtopology(2, ("views",), {"view-counts": "shop-view-counts-changelog"}),
        ObservedSubtopology(3, ("pings",)),
    )
    assert any("view-counts to 2" in sentence for sentence in classic.assumptions)


def test_described_topology_adds_written_topics_without_assumptions() -> None:
    observation = observe_recorded(Recorded("classic.jsonl"), topology=TOPOLOGY, configs={"num.standby.replicas": "1"})
    assert [subtopology.writes for subtopology in observation.subtopologies] == [
        ("joined",),
        ("shop-clicks-by-user-repartition",),
        (),
        ("pongs",),
    ]
    assert observation.subtopologies[2].changelogs == {"view-counts": "shop-view-counts-changelog"}
    assert {"joined", "pongs"} <= {topic.name for topic in observation.topics}
    assert observation.assumptions == ("No probing rebalance is scheduled: all standbys are assumed to be caught up.",)


def test_topics_have_replicas_leaders_sizes_offsets_and_rates(classic: Observation) -> None:
    [pings] = [topic for topic in classic.topics if topic.name == "pings"]
    assert pings.replicas == ((2,), (3,), (1,))
    assert pings.leaders == (2, 3, 1)
    recorded = Recorded("classic.jsonl")
    before, after = (
        {partition: offset for topic, partition, offset in response if topic == "pings"}
        for response in recorded.responses("end_offsets")
    )
    took_s = (recorded.responses("now_ms")[2] - recorded.responses("now_ms")[1]) / 1000
    assert pings.end_offsets == tuple(before.values())
    assert pings.records_per_s == pytest.approx([(after[number] - before[number]) / took_s for number in range(3)])
    assert pings.size_bytes is not None
    assert all(100 < size / end < 200 for size, end in zip(pings.size_bytes, pings.end_offsets, strict=True))


def test_other_topics_are_observed_only_on_request(classic: Observation) -> None:
    assert "unrelated" not in {topic.name for topic in classic.topics}
    names = {topic.name for topic in observe_recorded(Recorded("classic.jsonl"), all_topics=True).topics}
    assert "unrelated" in names
    assert "__consumer_offsets" not in names


def test_rates_are_unknown_without_a_measurement_period() -> None:
    cluster = Recorded("classic.jsonl")
    assert {topic.records_per_s for topic in observe_recorded(cluster, seconds=0).topics} == {None}
    assert cluster.waited_s == 0


def test_partition_without_leader_is_assumed_empty() -> None:
    topics = copy.deepcopy(Recorded("classic.jsonl").responses("topics")[0])
    [pings] = [topic for topic in topics if topic["name"] == "pings"]
    [leaderless] = [partition for partition in pings["partitions"] if partition["partition_index"] == 1]
    leaderless["leader_id"] = -1
    observation = observe_recorded(Recorded("classic.jsonl", topics=[topics]))
    [topic] = [topic for topic in observation.topics if topic.name == "pings"]
    assert topic.leaders == (2, -1, 1)
    assert topic.end_offsets is not None
    assert topic.end_offsets[1] == 0
    assert any("pings-1" in sentence for sentence in observation.assumptions)


def test_unknown_sizes_are_missing_with_an_assumption() -> None:
    observation = observe_recorded(Recorded("classic.jsonl", log_dirs=[[{"broker": 1, "log_dirs": []}]]))
    assert {topic.size_bytes for topic in observation.topics} == {None}
    assert any(sentence.startswith("Sizes of clicks, ") for sentence in observation.assumptions)


def test_standbys_of_a_stable_group_are_at_the_end_offsets(classic: Observation) -> None:
    ends = {topic.name: topic.end_offsets or () for topic in classic.topics}
    of_0_1 = ends["shop-click-counts-changelog"][1] + ends["shop-users-store-changelog"][1]
    assert classic.next_rebalance_ms is None
    assert classic.processes[0].offset_sums == {
        "0_1": of_0_1,
        "0_2": -2,
        "2_0": ends["shop-view-counts-changelog"][0],
        "2_1": -2,
    }


def test_warming_up_group_has_reported_offsets_and_a_next_probing_rebalance() -> None:
    cluster = Recorded("warming_up.jsonl")
    observation = observe_recorded(cluster)
    assert cluster.waited_s > 5
    assert observation.next_rebalance_ms == 599_320
    [joined] = [process for process in observation.processes if process.rack == "az3"]
    assert joined.is_static
    assert joined.offset_sums == {"0_0": 0, "0_2": 0}
    assert [thread.standby for thread in joined.threads] == [("0_0",), ("0_2",)]
    assert observation.configs == {"num.standby.replicas": "1"}


def test_coordinator_gives_topology_and_configs_of_a_streams_group(streams: Observation) -> None:
    assert streams.protocol == "streams"
    assert streams.broker_release == "4.3"
    assert streams.configs == {"num.standby.replicas": "1"}
    assert streams.broker_configs["group.streams.session.timeout.ms"] == "45000"
    assert streams.subtopologies[0] == ObservedSubtopology(
        0,
        ("kiosk-clicks-by-user-repartition", "users"),
        {"click-counts": "kiosk-click-counts-changelog", "users-store": "kiosk-users-store-changelog"},
    )
    assert streams.subtopologies[1].writes == ("kiosk-clicks-by-user-repartition",)


@pytest.mark.parametrize("release", ["3.8 or earlier", "4.1"])
def test_brokers_with_another_assignor_cause_a_warning(release: str) -> None:
    observation = observe_recorded(Recorded("streams.jsonl", coordinator_release=[release]), "kiosk")
    [warning] = list_warnings(observation)
    assert warning == (
        f"The brokers run Kafka {release}, which is not supported for streams groups: they assign the tasks of a "
        "streams group, and are simulated as Kafka 4.4; results may differ."
    )
    assert f"# Brokers: Kafka {release}\n#\n# Warning: The brokers run Kafka" in scenario_text(observation)


@pytest.mark.parametrize("release", ["4.2", "4.3"])
def test_brokers_with_the_simulated_assignor_cause_no_warning(release: str) -> None:
    observation = observe_recorded(Recorded("streams.jsonl", coordinator_release=[release]), "kiosk")
    assert list_warnings(observation) == ()
    text = scenario_text(observation)
    assert text.splitlines()[1] == f"# Brokers: Kafka {release}"
    [spec] = loads(text).assignors
    assert spec.info.name == f"streams_group_sticky@{release}"


def test_brokers_newer_than_inferable_are_simulated_as_the_newest_known_release() -> None:
    observation = observe_recorded(Recorded("streams.jsonl", coordinator_release=["4.4 or later"]), "kiosk")
    assert list_warnings(observation) == ()
    assumed = "The brokers run Kafka 4.4 or later, and are assumed to run 4.4 (cluster.kafka)"
    assert any(assumption.startswith(assumed) for assumption in list_assumptions(observation))
    [spec] = loads(scenario_text(observation)).assignors
    assert spec.info.name == "streams_group_sticky@4.4"


def test_brokers_of_an_unknown_release_have_no_label() -> None:
    observation = observe_recorded(Recorded("streams.jsonl", coordinator_release=[None]), "kiosk")
    assert [warning.split(":")[0] for warning in list_warnings(observation)] == [
        "The release of the brokers is unknown"
    ]
    assert "# Brokers:" not in scenario_text(observation)


def test_release_of_the_brokers_does_not_matter_to_classic_groups(classic: Observation) -> None:
    assert classic.broker_release is None
    assert list_warnings(classic) == ()


@pytest.mark.parametrize("broker_rack", ["az1", "elsewhere", None])
def test_client_racks_without_brokers_are_accepted(broker_rack: str | None) -> None:
    for recording, group in (("classic", "shop"), ("streams", "kiosk")):
        recorded = Recorded(f"{recording}.jsonl").responses("brokers")[0]
        brokers = [{**broker, "rack": broker_rack} for broker in recorded]
        observation = observe_recorded(Recorded(f"{recording}.jsonl", brokers=[brokers]), group)
        world = loads(scenario_text(observation)).world(1)
        racks = [process.rack for process in observation.processes]
        assert [client.rack for client in world.clients] == racks
        assert {"az1", "az2"} <= set(racks)


def test_stated_racks_apply_to_clients_that_report_none() -> None:
    response = copy.deepcopy(Recorded("streams.jsonl").responses("streams_group")[-1])
    for member in response["members"]:
        if member["rack_id"] == "az2":
            member["rack_id"] = None
    cluster = Recorded("streams.jsonl", streams_group=[response])
    observation = observe_recorded(cluster, "kiosk", racks=[("nothing*", "az1"), ("*", "az3"), ("*", "az2")])
    first, second = observation.processes
    assert (first.rack, first.announces_rack) == ("az1", True)
    assert (second.rack, second.announces_rack) == ("az3", False)
    assert observation.assumptions[-2:] == (
        "Clients without client.rack are in the racks given with --rack, which Kafka does not know (client_rack: "
        f"false): {second.client_id}.",
        f"--rack is ignored for clients that report client.rack: {first.client_id} (az1).",
    )
    world = loads(scenario_text(observation)).world(1)
    assert [(client.rack, client.announces_rack) for client in world.clients] == [("az1", True), ("az3", False)]


def test_stated_rack_is_known_by_process_id_and_may_be_none() -> None:
    response = copy.deepcopy(Recorded("streams.jsonl").responses("streams_group")[-1])
    for member in response["members"]:
        member["rack_id"] = None
    first, second = observe_recorded(Recorded("streams.jsonl", streams_group=[response]), "kiosk").processes
    racks = [(first.process_id, "az1"), (second.client_id, None), ("*", "az2")]
    cluster = Recorded("streams.jsonl", streams_group=[response])
    assert [process.rack for process in observe_recorded(cluster, "kiosk", racks=racks).processes] == ["az1", None]


def test_streams_members_have_racks_tags_and_tasks_but_no_offsets(streams: Observation) -> None:
    assert [process.rack for process in streams.processes] == ["az1", "az2"]
    assert dict(streams.processes[0].tags) == {"zone": "az1"}
    assert [(thread.active, thread.standby) for thread in streams.processes[0].threads] == [
        (("0_0", "1_0", "1_4", "2_2"), ("0_1", "2_1")),
        (("0_2", "1_2", "2_0", "3_1"), ("0_3",)),
    ]
    assert {process.offset_sums for process in streams.processes} == {None}
    assert any("does not report task offsets" in sentence for sentence in streams.assumptions)


def test_offsets_reported_by_streams_members_are_used() -> None:
    response = copy.deepcopy(Recorded("streams.jsonl").responses("streams_group")[-1])
    response["members"][0]["task_offsets"] = [{"subtopology_id": "0", "partition": 3, "offset": 71}]
    observation = observe_recorded(Recorded("streams.jsonl", streams_group=[response]), "kiosk")
    assert [process.offset_sums for process in observation.processes if process.offset_sums is not None] == [
        {"0_3": 71}
    ]
    assert any("members reported last, by default once a minute" in sentence for sentence in observation.assumptions)
    assert not any("does not report task offsets" in sentence for sentence in observation.assumptions)


def test_topology_names_stores_whose_changelogs_are_source_topics() -> None:
    response = copy.deepcopy(Recorded("streams.jsonl").responses("streams_group")[-1])
    first = response["topology"]["subtopologies"][0]
    [table] = [topic for topic in first["state_changelog_topics"] if "users" in topic["name"]]
    table["name"] = "users"
    topics = [
        topic
        for topic in Recorded("streams.jsonl").responses("topics")[0]
        if topic["name"] != "kiosk-users-store-changelog"
    ]
    observation = observe_recorded(
        Recorded("streams.jsonl", streams_group=[response], topics=[topics]), "kiosk", topology=TOPOLOGY
    )
    assert observation.subtopologies[0].changelogs == {
        "click-counts": "kiosk-click-counts-changelog",
        "users-store": "users",
    }
    assert not any("users-store" in sentence for sentence in observation.assumptions)


def test_group_of_3_9_is_observed() -> None:
    observation = observe_recorded(Recorded("classic_3_9.jsonl"))
    assert [(process.rack, len(process.threads)) for process in observation.processes] == [("az2", 2), ("az1", 2)]
    assert [thread.standby for thread in observation.processes[0].threads] == [("0_0", "2_2"), ("0_2", "2_0")]
    assert [sorted(subtopology.changelogs) for subtopology in observation.subtopologies] == [
        ["click-counts", "users-store"],
        [],
        ["view-counts"],
        [],
    ]
    assert not any(key.startswith("group.streams") for key in observation.broker_configs)


def test_purged_records_still_on_disk_are_counted() -> None:
    cluster = Recorded("classic_3_9.jsonl")
    start_offsets = {
        number: offset for topic, number, offset in cluster.responses("start_offsets")[0] if "repartition" in topic
    }
    [topic] = [topic for topic in observe_recorded(cluster).topics if topic.name.endswith("-repartition")]
    assert topic.size_bytes is not None
    assert topic.start_offsets is not None
    assert topic.end_offsets is not None
    assert start_offsets == {0: 3971, 1: 2607, 2: 2337, 3: 3559}
    assert topic.start_offsets == (192, 60, 37, 141)
    # A record has a user's name with 108 letters as its key and its value; the sizes alone would make it 1,700 bytes.
    assert sum(topic.size_bytes) / (sum(topic.end_offsets) - sum(topic.start_offsets)) == pytest.approx(260, abs=1)


@pytest.mark.parametrize("seconds", [0.0, 5.0])
def test_idle_repartition_topic_has_unknown_start_offsets(seconds: float) -> None:
    first = Recorded("classic_3_9.jsonl").responses("end_offsets")[0]
    cluster = Recorded("classic_3_9.jsonl", end_offsets=[first])
    observation = observe(cluster, "shop", seconds=seconds, topology=None, configs={}, all_topics=False)
    starts = {topic.name: topic.start_offsets for topic in observation.topics}
    assert starts["shop-clicks-by-user-repartition"] is None
    assert [name for name, offsets in starts.items() if offsets is None] == ["shop-clicks-by-user-repartition"]


def test_broker_that_is_down_is_included_without_rack() -> None:
    brokers = [broker for broker in Recorded("classic.jsonl").responses("brokers")[0] if broker["broker_id"] != 2]
    observation = observe_recorded(Recorded("classic.jsonl", brokers=[brokers]))
    assert [(broker.id, broker.rack) for broker in observation.brokers] == [(1, "az1"), (2, None), (3, "az3")]
    assert any("Brokers 2 have replicas but are down" in sentence for sentence in observation.assumptions)


def test_invisible_broker_configs_are_assumed_to_be_defaults() -> None:
    observation = observe_recorded(Recorded("classic.jsonl", broker_configs=[{}]))
    assert observation.broker_configs == {}
    assert any(sentence.startswith("Broker configs are not visible") for sentence in observation.assumptions)


BROKERS = {"min.insync.replicas": "2", "unclean.leader.election.enable": "true", "log.retention.hours": "24"}
OF_BROKERS = {"min.insync.replicas": "2", "unclean.leader.election.enable": "true", "retention.ms": "86400000"}
"""What Kafka then reports of topics without configs of their own."""


def with_topic_configs(**changed: dict[str, str]) -> Recorded:
    """Return a recording of a cluster with the configs `BROKERS`, and other configs of topics."""
    recorded = Recorded("classic.jsonl")
    [configs] = recorded.responses("topic_configs")
    of_topics = {topic: {**configs[topic], **OF_BROKERS, **changed.get(topic, {})} for topic in configs}
    of_brokers = [{**response, **BROKERS} for response in recorded.responses("broker_configs")]
    return Recorded("classic.jsonl", topic_configs=[of_topics], broker_configs=of_brokers)


def test_topics_have_their_own_configs_or_those_of_the_brokers() -> None:
    clicks = {"min.insync.replicas": "1", "unclean.leader.election.enable": "false", "retention.ms": "3600000"}
    views = {"min.insync.replicas": "3", "cleanup.policy": "compact,delete", "retention.bytes": "5000000"}
    text = scenario_text(observe_recorded(with_topic_configs(clicks=clicks, views=views)))
    scenario = loads(text)
    topics = scenario.world(1).cluster.topics
    assert {name: (topic.min_insync_replicas, topic.unclean_leader_election) for name, topic in topics.items()} == {
        **dict.fromkeys(topics, (2, True)),
        "clicks": (1, False),
        "views": (3, True),
    }
    assert topics["clicks"].retention == TopicRetention(3_600_000, None)
    assert topics["views"].retention == TopicRetention(86_400_000, 5_000_000, is_compacted=True)
    assert topics["pings"].retention == TopicRetention(86_400_000, None)
    assert text.count("\n        min.insync.replicas: ") == 2, "the brokers have that of the other topics"
    assert not [warning for warning in scenario.warnings if "log.retention" in warning]


def test_invisible_topic_configs_are_assumed_to_be_defaults() -> None:
    recorded = with_topic_configs()
    [configs] = recorded.responses("topic_configs")
    hidden = Recorded(
        "classic.jsonl",
        topic_configs=[{**configs, "clicks": {}, "views": {}}],
        broker_configs=recorded.responses("broker_configs"),
    )
    observation = observe_recorded(hidden)
    assert (
        "Configs of some topics are not visible (they require DescribeConfigs on topics): the defaults of the brokers "
        "and of Kafka are assumed (topics: clicks, views)."
    ) in observation.assumptions
    scenario = loads(scenario_text(observation))
    assert {topic.min_insync_replicas for topic in scenario.world(1).cluster.topics.values()} == {2}
    assert [warning for warning in scenario.warnings if "log.retention.hours" in warning]


def test_invisible_topic_of_the_application_is_rejected() -> None:
    topics = [topic for topic in Recorded("classic.jsonl").responses("topics")[0] if topic["name"] != "views"]
    with pytest.raises(ObservationError, match="not visible: views; they require the operation Describe"):
        observe_recorded(Recorded("classic.jsonl", topics=[topics]))


def test_given_configs_take_precedence() -> None:
    observation = observe_recorded(
        Recorded("classic.jsonl"), configs={"num.standby.replicas": "2", "acceptable.recovery.lag": "7"}
    )
    assert observation.configs == {"num.standby.replicas": "2", "acceptable.recovery.lag": "7"}
    assert not any("num.standby.replicas" in sentence for sentence in observation.assumptions)


def test_brokers_have_racks_and_relevant_configs(classic: Observation) -> None:
    assert [(broker.id, broker.rack) for broker in classic.brokers] == [(1, "az1"), (2, "az2"), (3, "az3")]
    assert classic.broker_configs["group.initial.rebalance.delay.ms"] == "0"
    assert "replica.selector.class" not in classic.broker_configs


def test_brokers_with_different_configs_are_listed() -> None:
    first, *others = Recorded("classic.jsonl").responses("broker_configs")
    different = {**first, "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"}
    observation = observe_recorded(Recorded("classic.jsonl", broker_configs=[first, different, *others[1:]]))
    assert "Configs of brokers 2 differ from those of broker 1, which are used." in observation.assumptions


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"group_state": "Empty", "members": []}, "group 'shop' has no members"),
        ({"protocol_data": "range"}, "its partition assignor is 'range'"),
        ({"protocol_type": "connect"}, "has type connect"),
        ({"error_code": 30, "error_message": None}, "cannot be described: error 30"),
        ({"error_code": 69, "error_message": "Group shop not found."}, "cannot be described: Group shop not found."),
    ],
)
def test_unsupported_group_is_rejected_with_the_reason(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ObservationError, match=message):
        observe_recorded(with_group(**changes))


def test_missing_group_is_rejected_with_the_existing_ones() -> None:
    with pytest.raises(
        ObservationError, match=r"group 'shoop' does not exist or is not visible \(groups: (kiosk, )?shop\)"
    ):
        observe_recorded(Recorded("classic.jsonl"), "shoop")


def test_share_group_is_rejected() -> None:
    groups = [{"group_id": "shop", "protocol_type": "share", "group_type": "share"}]
    with pytest.raises(ObservationError, match="has type share"):
        observe_recorded(Recorded("classic.jsonl", groups=[groups]))


@pytest.mark.parametrize("changes", [{"group_state": "PreparingRebalance"}, {"error_code": 14}])
def test_unstable_group_is_rejected_after_the_timeout(changes: dict[str, Any]) -> None:
    cluster = with_group(**changes)
    with pytest.raises(ObservationError, match=f"did not become stable within {STABLE_TIMEOUT_S} s"):
        observe_recorded(cluster)
    assert cluster.waited_s == STABLE_TIMEOUT_S


def test_member_with_malformed_bytes_is_rejected() -> None:
    response = copy.deepcopy(Recorded("classic.jsonl").responses("classic_group")[0])
    response["members"][0]["member_metadata"] = b"\x00\x03\x00"
    with pytest.raises(ObservationError, match=r"member shop-f9fe7802.*ConsumerProtocolSubscription"):
        observe_recorded(Recorded("classic.jsonl", classic_group=[response]))


def test_streams_group_without_topology_is_rejected() -> None:
    response = {**Recorded("streams.jsonl").responses("streams_group")[-1], "topology": None}
    with pytest.raises(ObservationError, match="has no topology yet"):
        observe_recorded(Recorded("streams.jsonl", streams_group=[response]), "kiosk")


@pytest.mark.parametrize(("recording", "group"), [("classic", "shop"), ("classic_3_9", "shop"), ("streams", "kiosk")])
def test_group_of_one_release_causes_no_warning(recording: str, group: str) -> None:
    assert observe_recorded(Recorded(f"{recording}.jsonl"), group).warnings == ()


def test_members_that_use_an_older_protocol_cause_a_warning() -> None:
    """A member reports the version of its subscription, then the latest one that it supports."""
    response = copy.deepcopy(Recorded("classic.jsonl").responses("classic_group")[-1])
    metadata = bytes(response["members"][0]["member_metadata"])
    assert metadata.count(bytes([0, 0, 0, 11, 0, 0, 0, 11])) == 1
    response["members"][0]["member_metadata"] = metadata.replace(
        bytes([0, 0, 0, 11, 0, 0, 0, 11]), bytes([0, 0, 0, 11, 0, 0, 0, 12])
    )
    [warning] = observe_recorded(Recorded("classic.jsonl", classic_group=[response])).warnings
    assert "members use version 11 of the Kafka Streams protocol, but support up to 12" in warning


def test_members_that_still_use_the_classic_protocol_cause_a_warning() -> None:
    response = copy.deepcopy(Recorded("streams.jsonl").responses("streams_group")[-1])
    response["members"][0]["is_classic"] = True
    observation = observe_recorded(Recorded("streams.jsonl", streams_group=[response]), "kiosk")
    [warning] = [text for text in list_warnings(observation) if "migrated" in text]
    assert f"1 of {len(response['members'])} members still use the classic protocol" in warning


def test_unmodeled_configs_of_brokers_cause_a_warning() -> None:
    recorded = Recorded("classic.jsonl").responses("broker_configs")
    configs = [{**response, "group.max.size": "5", "offsets.retention.minutes": "10080"} for response in recorded]
    observation = observe_recorded(Recorded("classic.jsonl", broker_configs=configs))
    assert [text.split(" ")[0] for text in list_warnings(observation)] == ["group.max.size=5"]
