"""An observation is written as a scenario and loaded again."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from assignors.model.ids import ProcessId, TaskId
from scenarios.kafka.live.observe import observe
from scenarios.kafka.observation.observation import (
    MembershipChange,
    Observation,
    ObservationError,
    ObservedProcess,
    ObservedRebalance,
    ObservedSubtopology,
    ObservedThread,
    ObservedTopic,
    RebalanceHistory,
)
from scenarios.kafka.observation.scenario_writer import list_assumptions, list_warnings, scenario_text
from scenarios.load import Scenario, loads
from simulator.world.disturbances import Join
from simulator.world.group_configs import GroupProtocol, OffsetStorage
from simulator.world.world import Start, Store
from tests.scenarios.kafka.live.recorded_cluster import Recorded
from tests.scenarios.kafka.observation.observations import FIRST, OBSERVATION, REPARTITION, SECOND, TOTALS


def _round_trip(observed: Observation) -> Scenario:
    return loads(scenario_text(observed))


def _tasks(*names: str) -> tuple[TaskId, ...]:
    return tuple(map(TaskId.parse, names))


def test_clients_have_the_observed_tasks_by_thread() -> None:
    first, second = _round_trip(OBSERVATION).world(1).clients
    assert [str(first.process_id), str(second.process_id)] == [FIRST, SECOND]
    assert [first.name, second.name] == ["shop-8f3b2c1d", "shop-f1111111"]
    assert first.tasks.active == (_tasks("0_0"), _tasks("1_0"))
    assert first.tasks.standby == ((), _tasks("1_1"))
    assert second.tasks.active == (_tasks("0_1", "1_1"),)
    assert (first.threads, first.rack, first.tags, first.is_static) == (2, "az1", {"zone": "az1"}, False)
    assert (second.threads, second.rack, second.tags, second.is_static) == (1, "az2", {"zone": "az2"}, True)


def test_lag_is_the_sum_of_end_offsets_minus_the_offset_sum() -> None:
    first, second = _round_trip(OBSERVATION).world(1).clients
    assert first.tasks.lags == {TaskId(1, 1): 6 + 500 - 400}
    assert second.tasks.lags == {TaskId(1, 0): 10 + 1_000 - 900}


def test_standby_without_a_reported_offset_lags_by_all_records() -> None:
    processes = tuple(replace(process, offset_sums={}) for process in OBSERVATION.processes)
    first, second = _round_trip(replace(OBSERVATION, processes=processes)).world(1).clients
    assert first.tasks.lags == {TaskId(1, 1): 506}
    assert second.tasks.lags == {}


def test_unknown_lags_are_omitted() -> None:
    processes = tuple(replace(process, offset_sums=None) for process in OBSERVATION.processes)
    text = scenario_text(replace(OBSERVATION, processes=processes))
    assert "lags:" not in text
    assert "Lags are those" not in text


def test_dormant_copy_without_lag_is_kept() -> None:
    second = replace(OBSERVATION.processes[1], offset_sums={"1_0": -2})
    assert _round_trip(replace(OBSERVATION, processes=(OBSERVATION.processes[0], second))).world(1).clients[
        1
    ].tasks.lags == {TaskId(1, 0): 0}


def test_group_continues_from_the_observed_state() -> None:
    world = _round_trip(OBSERVATION).world(1)
    assert world.start is Start.RUNNING
    assert world.next_rebalance_ms == 480_000
    assert world.application.group_configs.protocol is GroupProtocol.CLASSIC
    assert world.application.assignment_configs.num_standby_replicas == 1
    assert world.cluster.reads_from_nearest_replica


def test_replicas_leaders_and_racks_are_those_observed() -> None:
    cluster = _round_trip(OBSERVATION).world(1).cluster
    assert [(broker.id, broker.rack) for broker in cluster.brokers] == [(1, "az1"), (2, "az2"), (3, "az2")]
    observed = {topic.name: (topic.replicas, topic.leaders) for topic in OBSERVATION.topics}
    assert {name: (topic.replicas, topic.leaders) for name, topic in cluster.topics.items()} == observed


def test_rates_and_sizes_follow_from_offsets_and_bytes() -> None:
    orders = _round_trip(OBSERVATION).world(1).cluster.topics["orders"]
    assert (orders.record_bytes, orders.bytes_per_s, orders.size_bytes) == (40, (80, 160), (1_000, 3_000))


def test_changelog_has_as_many_records_as_its_end_offset() -> None:
    totals = _round_trip(OBSERVATION).world(1).cluster.topics[TOTALS]
    assert [size // totals.record_bytes for size in totals.size_bytes] == [1_000, 500]


@pytest.mark.parametrize(
    ("size", "start", "end", "record"),
    [
        (4_000, 0, 100, 40),  # Known record count: the size gives the record size.
        (10, 98, 100, 5),
        (4_000, None, 100, 40),  # Unknown record count: the record size of the inputs,
        (4_000, None, 10_000, 40),
        (40_000, None, 100, 400),  # or more if the size requires it.
    ],
)
def test_repartition_topic_has_record_size_of_its_inputs_without_start_offsets(
    size: int, start: int | None, end: int, record: int
) -> None:
    starts = None if start is None else (start, start)
    purged = ObservedTopic(REPARTITION, ((1, 2),) * 2, (1, 1), (size, size), starts, (end, end), (3.0, 3.0))
    topics = tuple(purged if topic.name == REPARTITION else topic for topic in OBSERVATION.topics)
    observed = replace(OBSERVATION, topics=topics)
    topic = _round_trip(observed).world(1).cluster.topics[REPARTITION]
    assert (topic.record_bytes, topic.bytes_per_s, topic.size_bytes) == (record, (3 * record,) * 2, (size, size))
    has_assumption = any(
        f"The number of records on disk of {REPARTITION} is unknown" in sentence
        for sentence in list_assumptions(observed)
    )
    assert has_assumption == (start is None)


@pytest.mark.parametrize(("recording", "group"), [("classic", "shop"), ("warming_up", "shop"), ("streams", "kiosk")])
def test_observation_of_a_real_cluster_survives_the_round_trip(recording: str, group: str) -> None:
    cluster = Recorded(f"{recording}.jsonl")
    observed = observe(cluster, group, seconds=5, topology=None, configs={}, all_topics=False)
    world = _round_trip(observed).world(1)
    assert [str(client.process_id) for client in world.clients] == [
        process.process_id for process in observed.processes
    ]
    for client, process in zip(world.clients, observed.processes, strict=True):
        assert (client.rack, client.tags, client.is_static) == (process.rack, process.tags, process.is_static)
        for role in ("active", "standby"):
            tasks_by_thread = [tuple(map(str, tasks)) for tasks in getattr(client.tasks, role)]
            assert tasks_by_thread == [getattr(thread, role) for thread in process.threads]
    assert {topic.name: (topic.replicas, topic.leaders) for topic in observed.topics} == {
        topic.name: (topic.replicas, topic.leaders) for topic in world.cluster.topics.values()
    }


def test_changelog_of_unknown_size_has_default_record_size() -> None:
    topics = tuple(replace(topic, size_bytes=None) if topic.name == TOTALS else topic for topic in OBSERVATION.topics)
    totals = _round_trip(replace(OBSERVATION, topics=topics)).world(1).cluster.topics[TOTALS]
    assert (totals.record_bytes, totals.size_bytes) == (1_000, (1_000_000, 500_000))


def test_subtopologies_keep_their_topics_and_stores() -> None:
    first, second = _round_trip(OBSERVATION).world(1).application.subtopologies
    assert (first.source_topics, first.written_topics, first.stores) == (("orders",), (REPARTITION,), ())
    assert (second.source_topics, second.written_topics) == (("customers", REPARTITION), ("results",))
    assert second.stores == (Store("customers-store", "customers"), Store("totals", TOTALS), Store("cache", None))


def test_topic_written_by_two_subtopologies_belongs_to_the_first() -> None:
    first, second = OBSERVATION.subtopologies
    observed = replace(OBSERVATION, subtopologies=(replace(first, writes=(REPARTITION, "results")), second))
    written = [part.written_topics for part in _round_trip(observed).world(1).application.subtopologies]
    assert written == [(REPARTITION, "results"), ()]


def test_streams_group_assignor_has_members_in_listed_order() -> None:
    dynamic = tuple(replace(process, is_static=False) for process in OBSERVATION.processes)
    listed = {"processes": dynamic, "listed_members": ("c-3", "c-1", "c-2"), "next_rebalance_ms": None}
    scenario = _round_trip(replace(OBSERVATION, protocol="streams", configs={"num.standby.replicas": "1"}, **listed))
    assert scenario.world(1).application.group_configs.protocol is GroupProtocol.STREAMS
    [spec] = scenario.assignors
    assert (spec.label, spec.info.name) == ("streams_group_sticky", "streams_group_sticky")
    assert list(spec.parameters["members"].items()) == [("c-3", SECOND), ("c-1", FIRST), ("c-2", FIRST)]


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
def test_assignor_follows_from_the_configs(configs: dict[str, str], assignor: str) -> None:
    text = scenario_text(replace(OBSERVATION, configs=configs, client_release=None))
    assert [spec.info.name for spec in loads(text).assignors] == [assignor]
    assert ("com.example.Mine is a custom class" in text) == ("com.example.Mine" in configs.values())


def test_unsupported_configs_are_listed_without_their_values() -> None:
    observed = replace(OBSERVATION, configs={**OBSERVATION.configs, "shop.own.config": "hunter3"})
    text = scenario_text(observed)
    assert "Configs of the application that scenarios do not support are omitted: shop.own.config." in text
    assert "hunter" not in text


def test_configs_without_effect_are_omitted_silently() -> None:
    assert "sasl.jaas.config" not in scenario_text(OBSERVATION)
    assert "log.dirs" not in scenario_text(OBSERVATION)


def test_unmodeled_configs_cause_warnings_at_import_and_in_the_scenario() -> None:
    observed = replace(
        OBSERVATION,
        configs={**OBSERVATION.configs, "max.task.idle.ms": "500", "task.timeout.ms": "300000"},
        broker_configs={**OBSERVATION.broker_configs, "group.max.size": "4"},
        warnings=("The group is being migrated.",),
    )
    first, second, third = list_warnings(observed)
    assert first.startswith("max.task.idle.ms=500 is not modeled: tasks never wait")
    assert second.startswith("group.max.size=4 is not modeled: every member may join")
    assert third == "The group is being migrated."
    text = scenario_text(observed)
    assert "# Warning: max.task.idle.ms=500 is not modeled" in text
    paths = [warning.split(": ")[1] for warning in loads(text).warnings if "not modeled" in warning]
    assert paths == ["cluster.configs.group.max.size", "application.configs.max.task.idle.ms"]


@pytest.mark.parametrize(
    ("protocol", "release", "configs", "interval_ms"),
    [
        ("streams", "4.2", {}, 0),
        ("streams", "4.1", {}, 0),
        ("streams", "4.3", {}, 1_000),
        ("streams", "4.3", {"group.streams.assignment.interval.ms": "1500"}, 1_500),
        ("streams", "4.4 or later", {}, 1_000),
        ("streams", None, {}, 1_000),
        ("classic", None, {}, 1_000),
    ],
)
def test_brokers_before_4_3_assign_without_an_interval(
    protocol: str, release: str | None, configs: dict[str, str], interval_ms: int
) -> None:
    dynamic = tuple(replace(process, is_static=False) for process in OBSERVATION.processes)
    observed = replace(
        OBSERVATION,
        processes=dynamic,
        listed_members=("c-3", "c-1", "c-2") if protocol == "streams" else (),
        protocol=protocol,
        configs={"num.standby.replicas": "1"},
        broker_configs=configs,
        broker_release=release,
        next_rebalance_ms=None,
    )
    groups = _round_trip(observed).blueprint.group_configs
    assert groups[GroupProtocol.STREAMS].streams_assignment_interval_ms == interval_ms


def test_header_contains_source_and_assumptions() -> None:
    head = scenario_text(OBSERVATION).split("\ncluster:")[0]
    assert head.startswith("# shop, imported: kafka.example:9092\n#\n# Assumptions:\n")
    assert "# - Rates are assumed constant.\n" in head


def test_release_of_the_clients_is_stated_or_assumed() -> None:
    stated = scenario_text(OBSERVATION)
    assert '\n  kafka: "4.3.1"\n' in stated
    assert "Clients are assumed to run" not in stated
    assert loads(stated).world(1).application.state_configs.offset_storage is OffsetStorage.STORES
    older = loads(scenario_text(replace(OBSERVATION, client_release="3.9.1")))
    assert older.world(1).application.state_configs.offset_storage is OffsetStorage.CHECKPOINT_FILE
    unknown = scenario_text(replace(OBSERVATION, client_release=None))
    assert "\n  kafka:" not in unknown
    assert (
        "# - Clients are assumed to run Kafka 4.4 (application.kafka); state another release with --kafka.\n" in unknown
    )


@pytest.mark.parametrize("text", ["a\ncluster: {}", "x\x85y: 1", "z\u2028q"])
def test_control_characters_cannot_end_a_comment_or_string(text: str) -> None:
    process = replace(OBSERVATION.processes[0], client_id=text, tags={"zone": "on"})
    observed = replace(OBSERVATION, source=text, assumptions=(text,), processes=(process, OBSERVATION.processes[1]))
    client = _round_trip(observed).world(1).clients[0]
    assert client.tags == {"zone": "on"}
    assert client.process_id == ProcessId.parse(FIRST)


def test_clients_with_equal_names_are_numbered() -> None:
    processes = tuple(replace(process, client_id="app") for process in OBSERVATION.processes)
    names = [client.name for client in _round_trip(replace(OBSERVATION, processes=processes)).world(1).clients]
    assert names == ["app-1", "app-2"]


def test_large_topic_is_wrapped_to_the_line_width() -> None:
    many = ObservedTopic(
        "many",
        tuple((1 + i % 3, 1 + (i + 1) % 3) for i in range(1_000)),
        tuple(1 + i % 3 for i in range(1_000)),
        tuple(range(1_000, 2_000)),
        (0,) * 1_000,
        (100,) * 1_000,
        (1.0,) * 1_000,
    )
    processes = (
        replace(OBSERVATION.processes[0], threads=(ObservedThread("c", tuple(f"0_{i}" for i in range(1_000)), ()),)),
    )
    observed = replace(
        OBSERVATION,
        topics=(many,),
        subtopologies=(ObservedSubtopology(0, ("many",)),),
        processes=processes,
    )
    text = scenario_text(observed)
    assert max(map(len, text.splitlines())) <= 120
    assert len(text.splitlines()) < 300
    world = loads(text).world(1)
    assert world.cluster.topics["many"].size_bytes == many.size_bytes
    assert world.clients[0].tasks.active == (tuple(TaskId(0, i) for i in range(1_000)),)


def test_client_racks_are_kept_if_no_broker_has_a_rack() -> None:
    brokers = tuple(replace(broker, rack=None) for broker in OBSERVATION.brokers)
    scenario = loads(scenario_text(replace(OBSERVATION, brokers=brokers)))
    assert [client.rack for client in scenario.world(1).clients] == ["az1", "az2"]
    assert any(
        "clients[0].rack: no broker has a rack, so rack-aware assignment is disabled" in n for n in scenario.warnings
    )


def test_history_adds_newcomers_and_events() -> None:
    newcomer = ObservedProcess("22222222-2222-2222-2222-222222222222", "late", "az2", {"zone": "az2"}, (), None)
    rounds = (ObservedRebalance(0, 0, {"0_0": FIRST}, {}, True), ObservedRebalance(1, 90_000, {"0_0": FIRST}, {}, True))
    trace = RebalanceHistory((newcomer,), (MembershipChange(60_000, "join", (newcomer.process_id,)),), rounds)
    world = loads(scenario_text(OBSERVATION, trace)).world(1)
    assert [(client.name, client.starts) for client in world.clients[2:]] == [("late", False)]
    assert [type(event) for event in world.disturbances] == [Join]
    assert world.disturbances[0].at_ms == 60_000
    assert world.duration_ms == 90_000 + 1_800_000


@pytest.mark.parametrize(
    ("observed", "message"),
    [
        (replace(OBSERVATION, processes=()), "group 'shop' has no members, so there is no state to start from"),
        (
            replace(
                OBSERVATION,
                processes=(replace(OBSERVATION.processes[0], threads=(ObservedThread("c", ("billing__0_0",), ()),)),),
            ),
            "'billing__0_0' is not a task id (expected SUBTOPOLOGY_PARTITION, as in 0_3); tasks of named topologies",
        ),
    ],
)
def test_states_that_a_scenario_cannot_express_are_rejected(observed: Observation, message: str) -> None:
    with pytest.raises(ObservationError, match="^" + re.escape(message)):
        scenario_text(observed)


def test_client_in_a_rack_without_brokers_causes_a_warning() -> None:
    observed = replace(
        OBSERVATION, processes=(replace(OBSERVATION.processes[0], rack="az9"), *OBSERVATION.processes[1:])
    )
    scenario = loads(scenario_text(observed))
    assert scenario.world(1).clients[0].rack == "az9"
    assert any(
        "clients[0].rack: no broker is in rack 'az9' (racks of brokers: az1, az2)" in n for n in scenario.warnings
    )
