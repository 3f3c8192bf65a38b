"""An observation is written as a scenario and loaded again."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from assignors.model.ids import ProcessId, TaskId
from scenarios.kafka.live.observe import observe
from scenarios.kafka.observation.errors import ObservationError
from scenarios.kafka.observation.history import MembershipChange, ObservedRebalance, RebalanceHistory
from scenarios.kafka.observation.observation import (
    Observation,
    ObservedProcess,
    ObservedSubtopology,
    ObservedThread,
    ObservedTopic,
)
from scenarios.kafka.observation.scenario_writer import list_assumptions, scenario_text
from scenarios.load import Scenario, loads
from simulator.world.disturbances import Join
from simulator.world.world import GroupProtocol, Start, Store
from tests.scenarios.kafka.live.recorded_cluster import Recorded
from tests.scenarios.kafka.observation.observations import FIRST, REPARTITION, SECOND, SEEN, TOTALS


def _again(seen: Observation) -> Scenario:
    return loads(scenario_text(seen))


def _tasks(*names: str) -> tuple[TaskId, ...]:
    return tuple(map(TaskId.parse, names))


def test_clients_have_the_observed_tasks_by_thread() -> None:
    first, second = _again(SEEN).world(1).clients
    assert [str(first.process_id), str(second.process_id)] == [FIRST, SECOND]
    assert [first.name, second.name] == ["shop-8f3b2c1d", "shop-f1111111"]
    assert first.tasks.active == (_tasks("0_0"), _tasks("1_0"))
    assert first.tasks.standby == ((), _tasks("1_1"))
    assert second.tasks.active == (_tasks("0_1", "1_1"),)
    assert (first.threads, first.rack, first.tags, first.is_static) == (2, "az1", {"zone": "az1"}, False)
    assert (second.threads, second.rack, second.tags, second.is_static) == (1, "az2", {"zone": "az2"}, True)


def test_a_lag_is_the_sum_of_end_offsets_minus_the_offset_sum() -> None:
    first, second = _again(SEEN).world(1).clients
    assert first.tasks.lags == {TaskId(1, 1): 6 + 500 - 400}
    assert second.tasks.lags == {TaskId(1, 0): 10 + 1_000 - 900}


def test_a_standby_without_a_reported_offset_lags_by_all_records() -> None:
    processes = tuple(replace(process, offset_sums={}) for process in SEEN.processes)
    first, second = _again(replace(SEEN, processes=processes)).world(1).clients
    assert first.tasks.lags == {TaskId(1, 1): 506}
    assert second.tasks.lags == {}


def test_unknown_lags_are_omitted() -> None:
    processes = tuple(replace(process, offset_sums=None) for process in SEEN.processes)
    text = scenario_text(replace(SEEN, processes=processes))
    assert "lags:" not in text
    assert "Lags are those" not in text


def test_a_dormant_copy_without_lag_is_kept() -> None:
    second = replace(SEEN.processes[1], offset_sums={"1_0": -2})
    assert _again(replace(SEEN, processes=(SEEN.processes[0], second))).world(1).clients[1].tasks.lags == {
        TaskId(1, 0): 0
    }


def test_the_group_continues_from_the_observed_state() -> None:
    world = _again(SEEN).world(1)
    assert world.start is Start.RUNNING
    assert world.next_rebalance_ms == 480_000
    assert world.application.group_configs.protocol is GroupProtocol.CLASSIC
    assert world.application.assignment_configs.num_standby_replicas == 1
    assert world.cluster.reads_from_nearest_replica


def test_replicas_leaders_and_racks_are_those_observed() -> None:
    cluster = _again(SEEN).world(1).cluster
    assert [(broker.id, broker.rack) for broker in cluster.brokers] == [(1, "az1"), (2, "az2"), (3, "az2")]
    seen = {topic.name: (topic.replicas, topic.leaders) for topic in SEEN.topics}
    assert {name: (topic.replicas, topic.leaders) for name, topic in cluster.topics.items()} == seen


def test_rates_and_sizes_follow_from_offsets_and_bytes() -> None:
    orders = _again(SEEN).world(1).cluster.topics["orders"]
    assert (orders.record_bytes, orders.bytes_per_s, orders.size_bytes) == (40, (80, 160), (1_000, 3_000))


def test_the_records_of_a_changelog_are_its_end_offset_whatever_compaction_left() -> None:
    totals = _again(SEEN).world(1).cluster.topics[TOTALS]
    assert [size // totals.record_bytes for size in totals.size_bytes] == [1_000, 500]


@pytest.mark.parametrize(
    ("size", "start", "end", "record"),
    [
        (4_000, 0, 100, 40),  # It was seen which records take room: the bytes tell.
        (10, 98, 100, 5),
        (4_000, None, 100, 40),  # It was not: like the orders that it is made of,
        (4_000, None, 10_000, 40),
        (40_000, None, 100, 400),  # but no less than what the bytes come to if none are gone.
    ],
)
def test_record_size_of_a_repartition_topic_is_that_of_its_inputs_if_start_offsets_are_unknown(
    size: int, start: int | None, end: int, record: int
) -> None:
    starts = None if start is None else (start, start)
    purged = ObservedTopic(REPARTITION, ((1, 2),) * 2, (1, 1), (size, size), starts, (end, end), (3.0, 3.0))
    topics = tuple(purged if topic.name == REPARTITION else topic for topic in SEEN.topics)
    seen = replace(SEEN, topics=topics)
    topic = _again(seen).world(1).cluster.topics[REPARTITION]
    assert (topic.record_bytes, topic.bytes_per_s, topic.size_bytes) == (record, (3 * record,) * 2, (size, size))
    said = any(f"The number of records on disk of {REPARTITION} is unknown" in each for each in list_assumptions(seen))
    assert said == (start is None)


@pytest.mark.parametrize(("answers", "group"), [("classic", "shop"), ("warming_up", "shop"), ("streams", "kiosk")])
def test_the_observation_of_a_real_cluster_survives_the_round_trip(answers: str, group: str) -> None:
    cluster = Recorded(f"{answers}.jsonl")
    seen = observe(cluster, group, seconds=5, topology=None, configs={}, all_topics=False)
    world = _again(seen).world(1)
    assert [str(client.process_id) for client in world.clients] == [process.process_id for process in seen.processes]
    for client, process in zip(world.clients, seen.processes, strict=True):
        assert (client.rack, client.tags, client.is_static) == (process.rack, process.tags, process.is_static)
        for role in ("active", "standby"):
            held = [tuple(map(str, tasks)) for tasks in getattr(client.tasks, role)]
            assert held == [getattr(thread, role) for thread in process.threads]
    assert {topic.name: (topic.replicas, topic.leaders) for topic in seen.topics} == {
        topic.name: (topic.replicas, topic.leaders) for topic in world.cluster.topics.values()
    }


def test_a_changelog_of_unknown_size_has_records_of_the_usual_size() -> None:
    topics = tuple(replace(topic, size_bytes=None) if topic.name == TOTALS else topic for topic in SEEN.topics)
    totals = _again(replace(SEEN, topics=topics)).world(1).cluster.topics[TOTALS]
    assert (totals.record_bytes, totals.size_bytes) == (1_000, (1_000_000, 500_000))


def test_subtopologies_keep_their_topics_and_stores() -> None:
    first, second = _again(SEEN).world(1).application.subtopologies
    assert (first.source_topics, first.written_topics, first.stores) == (("orders",), (REPARTITION,), ())
    assert (second.source_topics, second.written_topics) == (("customers", REPARTITION), ("results",))
    assert second.stores == (Store("customers-store", "customers"), Store("totals", TOTALS), Store("cache", None))


def test_a_topic_that_two_subtopologies_write_comes_from_the_first() -> None:
    first, second = SEEN.subtopologies
    seen = replace(SEEN, subtopologies=(replace(first, writes=(REPARTITION, "results")), second))
    written = [part.written_topics for part in _again(seen).world(1).application.subtopologies]
    assert written == [(REPARTITION, "results"), ()]


def test_a_streams_group_has_its_protocol_and_its_assignor_which_knows_the_members_as_they_are_listed() -> None:
    dynamic = tuple(replace(process, is_static=False) for process in SEEN.processes)
    listed = {"processes": dynamic, "listed_members": ("c-3", "c-1", "c-2"), "next_rebalance_ms": None}
    scenario = _again(replace(SEEN, protocol="streams", configs={"num.standby.replicas": "1"}, **listed))
    assert scenario.world(1).application.group_configs.protocol is GroupProtocol.STREAMS
    [choice] = scenario.assignors
    assert (choice.label, choice.assignor) == ("streams_group_sticky", "streams_group_sticky")
    assert list(choice.parameters["members"].items()) == [("c-3", SECOND), ("c-1", FIRST), ("c-2", FIRST)]


@pytest.mark.parametrize(
    ("configs", "assignor"),
    [
        ({}, "high_availability"),
        (
            {"task.assignor.class": "org.apache.kafka.streams.processor.assignment.assignors.StickyTaskAssignor"},
            "sticky_task_assignor",
        ),
        (
            {
                "internal.task.assignor.class": "org.apache.kafka.streams.processor.internals.assignment."
                "StickyTaskAssignor"
            },
            "legacy_sticky",
        ),
        ({"task.assignor.class": "com.example.Mine"}, "high_availability"),
    ],
)
def test_the_assignor_is_that_of_the_configs(configs: dict[str, str], assignor: str) -> None:
    text = scenario_text(replace(SEEN, configs=configs))
    assert [choice.assignor for choice in loads(text).assignors] == [assignor]
    assert ("com.example.Mine is a custom class" in text) == ("com.example.Mine" in configs.values())


def test_unsupported_configs_are_named_without_their_values() -> None:
    text = scenario_text(SEEN)
    assert "sasl.jaas.config" in text
    assert "hunter2" not in text
    assert "do not know are left out: application.id" not in text


def test_the_header_contains_source_and_assumptions() -> None:
    head = scenario_text(SEEN).split("\ncluster:")[0]
    assert head.startswith("# shop, imported: kafka.example:9092\n# Kafka 4.3.1\n")
    assert "# - Rates are assumed constant.\n" in head


@pytest.mark.parametrize("hostile", ["a\ncluster: {}", "x\x85y: 1", "z\u2028q"])
def test_nothing_that_was_seen_can_end_a_comment_or_a_text(hostile: str) -> None:
    process = replace(SEEN.processes[0], client_id=hostile, tags={"zone": "on"})
    seen = replace(SEEN, source=hostile, assumptions=(hostile,), processes=(process, SEEN.processes[1]))
    client = _again(seen).world(1).clients[0]
    assert client.tags == {"zone": "on"}
    assert client.process_id == ProcessId.parse(FIRST)


def test_clients_with_equal_names_are_numbered() -> None:
    processes = tuple(replace(process, client_id="app") for process in SEEN.processes)
    names = [client.name for client in _again(replace(SEEN, processes=processes)).world(1).clients]
    assert names == ["app-1", "app-2"]


def test_a_large_topic_stays_within_lines_that_people_can_read() -> None:
    many = ObservedTopic(
        "many",
        tuple((1 + i % 3, 1 + (i + 1) % 3) for i in range(1_000)),
        tuple(1 + i % 3 for i in range(1_000)),
        tuple(range(1_000, 2_000)),
        (0,) * 1_000,
        (100,) * 1_000,
        (1.0,) * 1_000,
    )
    processes = (replace(SEEN.processes[0], threads=(ObservedThread("c", tuple(f"0_{i}" for i in range(1_000)), ()),)),)
    seen = replace(
        SEEN,
        topics=(many,),
        subtopologies=(ObservedSubtopology(0, ("many",)),),
        processes=processes,
    )
    text = scenario_text(seen)
    assert max(map(len, text.splitlines())) <= 120
    assert len(text.splitlines()) < 300
    world = loads(text).world(1)
    assert world.cluster.topics["many"].size_bytes == many.size_bytes
    assert world.clients[0].tasks.active == (tuple(TaskId(0, i) for i in range(1_000)),)


def test_racks_of_clients_are_left_out_where_no_broker_has_one() -> None:
    brokers = tuple(replace(broker, rack=None) for broker in SEEN.brokers)
    text = scenario_text(replace(SEEN, brokers=brokers))
    assert "client.rack of the clients is omitted" in text
    assert [client.rack for client in loads(text).world(1).clients] == [None, None]


def test_a_history_has_newcomers_and_changes() -> None:
    newcomer = ObservedProcess("22222222-2222-2222-2222-222222222222", "late", "az2", {"zone": "az2"}, (), None)
    rounds = (ObservedRebalance(0, 0, {"0_0": FIRST}, {}, True), ObservedRebalance(1, 90_000, {"0_0": FIRST}, {}, True))
    trace = RebalanceHistory((newcomer,), (MembershipChange(60_000, "join", (newcomer.process_id,)),), rounds)
    world = loads(scenario_text(SEEN, trace)).world(1)
    assert [(client.name, client.starts) for client in world.clients[2:]] == [("late", False)]
    assert [type(event) for event in world.disturbances] == [Join]
    assert world.disturbances[0].at_ms == 60_000
    assert world.duration_ms == 90_000 + 1_800_000


@pytest.mark.parametrize(
    ("seen", "message"),
    [
        (replace(SEEN, processes=()), "group 'shop' has no members, so there is no state to start from"),
        (
            replace(
                SEEN, processes=(replace(SEEN.processes[0], threads=(ObservedThread("c", ("billing__0_0",), ()),)),)
            ),
            "'billing__0_0' is not a task id (expected SUBTOPOLOGY_PARTITION, as in 0_3); tasks of named topologies",
        ),
    ],
)
def test_states_that_a_scenario_cannot_express_are_rejected(seen: Observation, message: str) -> None:
    with pytest.raises(ObservationError, match="^" + re.escape(message)):
        scenario_text(seen)


def test_a_client_in_a_rack_without_brokers_is_written_and_warned_of() -> None:
    seen = replace(SEEN, processes=(replace(SEEN.processes[0], rack="az9"), *SEEN.processes[1:]))
    scenario = loads(scenario_text(seen))
    assert scenario.world(1).clients[0].rack == "az9"
    assert any(
        "clients[0].rack: no broker is in rack 'az9' (racks of brokers: az1, az2)" in n for n in scenario.warnings
    )
