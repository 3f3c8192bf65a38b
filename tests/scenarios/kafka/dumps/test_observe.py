"""Observation from a folder with the output of Kafka's tools and a leader's log."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from assignors.model.ids import TaskId
from scenarios.kafka.dumps.files import detect_kind, read_dumps
from scenarios.kafka.dumps.observe import DumpOptions, ObservedDumps, observe_dumps
from scenarios.kafka.observation.observation import (
    MembershipChange,
    ObservationError,
    ObservedBroker,
    ObservedSubtopology,
    ObservedThread,
)
from scenarios.kafka.observation.scenario_writer import list_assumptions, list_warnings, scenario_text
from scenarios.load import loads
from simulator.world.disturbances import Leave

DIALECTS = Path(__file__).parents[1] / "formats" / "dialects"
CAPTURED = Path(__file__).parents[4] / "scenarios" / "library" / "captured"

ONE, TWO, THREE = (f"{digit * 8}-{digit * 4}-{digit * 4}-{digit * 4}-{digit * 12}" for digit in "123")
REPARTITION, TOTALS = "shop-by-customer-repartition", "shop-totals-changelog"

BROKERS = "a:9092 (id: 1 rack: az1) -> (\n)\nb:9092 (id: 2 rack: az2) -> (\n)\n"
TOPOLOGY = """\
Topologies:
   Sub-topology: 0
    Source: S0 (topics: [orders])
      --> R
    Sink: R (topic: by-customer-repartition)
      <-- S0

  Sub-topology: 1
    Source: S1 (topics: [by-customer-repartition])
      --> A
    Processor: A (stores: [totals, cache])
      --> W
      <-- S1
    Sink: W (topic: elsewhere)
      <-- A
"""
GROUP = f"""\
GROUP CONSUMER-ID HOST CLIENT-ID #PARTITIONS CURRENT-EPOCH CURRENT-ASSIGNMENT TARGET-EPOCH TARGET-ASSIGNMENT
shop c-1 /10.0.0.1 shop-{ONE}-StreamThread-1-consumer 1 0 orders:0 0 orders:0
shop c-2 /10.0.0.1 shop-{ONE}-StreamThread-2-consumer 1 0 {REPARTITION}:0 0 {REPARTITION}:0
shop c-3 /10.0.0.2 shop-{TWO}-StreamThread-1-consumer 2 0 orders:1;{REPARTITION}:1 0 -
other c-9 /10.0.0.3 other 1 0 orders:1 0 -
"""
RACKS = (("*1111", "az1"), ("*", "az2"))
TAKEN = {"num.standby.replicas": "0"}


def _topic(name: str) -> str:
    rows = [f"\tTopic: {name}\tPartition: {i}\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\n" for i in range(2)]
    return f"Topic: {name}\tPartitionCount: 2\tReplicationFactor: 2\tConfigs: \n{''.join(rows)}"


TOPICS = "".join(map(_topic, ["orders", "unrelated", REPARTITION, TOTALS]))
SIZES = '{"brokers":[{"broker":1,"logDirs":[{"partitions":[{"partition":"orders-1","size":700}]}]}]}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that lacks only the group; file names are arbitrary."""
    for name, text in (("a", TOPICS), ("b", BROKERS), ("c", SIZES), ("d", TOPOLOGY)):
        (tmp_path / f"{name}.txt").write_text(text)
    return tmp_path


def _observe(folder: Path, text: str, options: DumpOptions | None = None) -> ObservedDumps:
    (folder / "group").write_text(text)
    return observe_dumps(folder, "shop", options or DumpOptions(TAKEN, RACKS))


def test_files_are_identified_by_their_content(folder: Path) -> None:
    (folder / "notes.md").write_text("# How I took these\n\nTopic: dumps\n")
    (folder / "picture.png").write_bytes(b"\x89PNG\xff\xfe")
    (folder / ".hidden").write_text("x")
    (folder / "sub").mkdir()
    observed = _observe(folder, GROUP)
    assert observed.kinds == {
        "a.txt": "topics",
        "b.txt": "brokers",
        "c.txt": "log dirs",
        "d.txt": "topology",
        "group": "consumer group members",
    }
    assert observed.ignored == ("notes.md", "picture.png")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("brokers_3_9.txt", "brokers"),
        ("brokers_4.txt", "brokers"),
        ("groups_3_7.txt", "consumer group members"),
        ("groups_3_9.txt", "consumer group members"),
        ("groups_4.txt", "consumer group members"),
        ("groups_offsets.txt", "consumer group offsets"),
        ("leader_2_6.log", "leader log"),
        ("leader_3_3.log", "leader log"),
        ("leader_4_3.log", "leader log"),
        ("log_dirs.txt", "log dirs"),
        ("member_bytes.txt", None),
        ("reassignment.txt", None),
        ("streams_members.txt", "streams group members"),
        ("streams_members_verbose.txt", "streams group members"),
        ("streams_offsets.txt", None),
        ("streams_state.txt", None),
        ("topics_2_3_old_colons.txt", "topics"),
        ("topics_2_8.txt", "topics"),
        ("topics_pasted.txt", "topics"),
        ("topology_1_0.txt", "topology"),
        ("topology_named.txt", "topology"),
    ],
)
def test_kind_of_every_dialect_is_detected(name: str, kind: str | None) -> None:
    assert detect_kind((DIALECTS / name).read_text()) == kind


def test_log_of_a_non_leader_is_ignored(folder: Path) -> None:
    log = "2026-02-01 10:00:00.123 [main] INFO StreamsConfig - StreamsConfig values: \n\tapplication.id = other\n"
    (folder / "host.log").write_text(log)
    assert _observe(folder, GROUP).ignored == ("host.log",)


def test_imported_scenario_is_not_detected_as_properties(folder: Path) -> None:
    (folder / "now.yaml").write_text(scenario_text(_observe(folder, GROUP).observation))
    assert _observe(folder, GROUP).ignored == ("now.yaml",)


@pytest.mark.parametrize(
    ("text", "known"),
    [
        (GROUP, "group has no member of 'shopp' (groups: other, shop)"),
        ((DIALECTS / "streams_members.txt").read_text(), "group has no member of 'shopp' (groups: order-processing)"),
        (
            (DIALECTS / "leader_3_9.log").read_text(),
            "the leader's log has no rebalance of 'shopp' (applications: shop)",
        ),
        (
            (DIALECTS / "leader_3_9.log").read_text().replace(f"shop-{ONE}", "worker").replace(f"shop-{TWO}", "worker"),
            "'shopp' has no internal topics in a.txt: those of d.txt belong to other groups (groups: shop)",
        ),
    ],
)
def test_wrong_group_is_an_error_that_names_the_groups(folder: Path, text: str, known: str) -> None:
    (folder / "group").write_text(text)
    with pytest.raises(ObservationError, match=f"^{re.escape(known)}$"):
        observe_dumps(folder, "shopp", DumpOptions(TAKEN, RACKS))


def test_application_without_internal_topics_is_no_wrong_group(folder: Path) -> None:
    (folder / "d.txt").write_text(
        "Topologies:\n   Sub-topology: 0\n    Source: S0 (topics: [orders])\n      --> none\n"
    )
    text = (DIALECTS / "leader_3_3.log").read_text().replace(f"shop-{ONE}", "worker")
    (folder / "group").write_text(text)
    options = DumpOptions({**TAKEN, "num.stream.threads": "1"}, RACKS)
    assert observe_dumps(folder, "any", options).observation.application_id == "any"


def test_tasks_follow_from_the_partitions_of_consumers(folder: Path) -> None:
    observed = _observe(folder, GROUP).observation
    assert [process.process_id for process in observed.processes] == [ONE, TWO]
    assert [process.rack for process in observed.processes] == ["az1", "az2"]
    assert observed.processes[0].threads == (ObservedThread("c-1", ("0_0",), ()), ObservedThread("c-2", ("1_0",), ()))
    assert observed.processes[1].threads == (ObservedThread("c-3", ("0_1", "1_1"), ()),)
    assert (observed.protocol, observed.application_id) == ("classic", "shop")


def test_cluster_and_topology_are_read_from_the_other_files(folder: Path) -> None:
    observed = _observe(folder, GROUP).observation
    assert observed.brokers == (ObservedBroker(1, "az1"), ObservedBroker(2, "az2"))
    assert {topic.name: topic.size_bytes for topic in observed.topics} == {
        "orders": (0, 700),
        REPARTITION: None,
        TOTALS: None,
    }
    assert observed.subtopologies == (
        ObservedSubtopology(0, ("orders",), {}, (), (REPARTITION,)),
        ObservedSubtopology(1, (REPARTITION,), {"totals": TOTALS}, ("cache",), ()),
    )


@pytest.mark.parametrize("pattern", ["or.*", "[a-z]+s", r"\Qorders\E|\d+", "(orders|payments)-?[0-9]*"])
def test_pattern_subscribes_to_the_matching_topics_of_the_cluster(folder: Path, pattern: str) -> None:
    (folder / "d.txt").write_text(TOPOLOGY.replace("[orders]", pattern))
    observed = _observe(folder, GROUP).observation
    assert observed.subtopologies[0].sources == ("orders",)
    assert f"The pattern '{pattern}' is assumed to subscribe to orders." in observed.assumptions
    world = loads(scenario_text(observed)).world(1)
    assert world.application.subtopologies[0].source_topics == ("orders",)


def test_assumptions_are_listed(folder: Path) -> None:
    observed = _observe(folder, GROUP, DumpOptions({"num.standby.replicas": "1"}, RACKS)).observation
    assert observed.assumptions == (
        "Dumps contain no rates: nothing is produced until you set bytes_per_s of topics, as in "
        "--set 'cluster.topics[NAME].bytes_per_s=10 MB/s'.",
        "Store cache has no changelog topic in the cluster; assumed not logged.",
        "kafka-consumer-groups.sh does not print standbys: the scenario starts without any; the first rebalance places "
        "them.",
        "c.txt lacks sizes of partitions, which are assumed empty (topics: orders, shop-by-customer-repartition, "
        "shop-totals-changelog).",
    )


def test_scenario_starts_with_the_observed_assignment(folder: Path) -> None:
    world = loads(scenario_text(_observe(folder, GROUP).observation)).world(1)
    assert [client.tasks.active for client in world.clients] == [
        ((TaskId(0, 0),), (TaskId(1, 0),)),
        ((TaskId(0, 1), TaskId(1, 1)),),
    ]


def test_all_missing_information_is_reported_together(tmp_path: Path) -> None:
    (tmp_path / "b").write_text(BROKERS)
    with pytest.raises(ObservationError) as raised:
        observe_dumps(tmp_path, "shop")
    assert str(raised.value) == (
        "missing information on 'shop':\n"
        "- replicas: output of kafka-topics.sh --describe\n"
        "- subtopologies and stores: output of Topology.describe(), unless this is a consumer group\n"
        "- assignment: output of kafka-consumer-groups.sh --describe --members --verbose or "
        "kafka-streams-groups.sh --describe --members --verbose, or the log of the group leader at INFO"
    )


def test_unknown_racks_and_standbys_are_reported_as_missing(folder: Path) -> None:
    with pytest.raises(ObservationError) as raised:
        _observe(folder, GROUP, DumpOptions())
    assert str(raised.value) == (
        "missing information on 'shop':\n"
        "- number of standbys: --config num.standby.replicas=N\n"
        f"- racks of shop-{ONE}, shop-{TWO}: --rack 'PATTERN=RACK', or --rack '*=' for no rack"
    )


def test_racks_of_clients_are_optional_if_brokers_have_none(folder: Path) -> None:
    (folder / "b.txt").unlink()
    observed = _observe(folder, GROUP, DumpOptions(TAKEN)).observation
    assert observed.brokers == (ObservedBroker(1, None), ObservedBroker(2, None))
    assert "No output of kafka-broker-api-versions.sh: brokers are assumed to have no racks." in observed.assumptions


@pytest.mark.parametrize("has_broker_racks", [True, False])
@pytest.mark.parametrize("text", ["group", "streams", "log"])
def test_racks_without_brokers_are_accepted(folder: Path, text: str, has_broker_racks: bool) -> None:
    if not has_broker_racks:
        (folder / "b.txt").unlink()
    configs = TAKEN if text == "group" else {}
    options = DumpOptions(configs, (("*1111", "az1"), ("*2222", "az8"), ("*", "az9")))
    observed = _observe(folder, {"group": GROUP, "streams": STREAMS, "log": LOG}[text], options)
    scenario = loads(scenario_text(observed.observation, observed.history))
    clients = scenario.world(1).clients
    assert [client.rack for client in clients] == ["az1", "az8", "az9"][: len(clients)]
    assert len([warning for warning in scenario.warnings if ".rack: no broker" in warning]) == (
        len(clients) - 1 if has_broker_racks else 1
    )


def test_options_override_properties_of_the_application(folder: Path) -> None:
    (folder / "app.properties").write_text(
        "application.id=shop\nnum.standby.replicas=1\nmax.warmup.replicas=4\nssl.key.password=hunter2\n"
    )
    observed = _observe(folder, GROUP, DumpOptions(TAKEN, RACKS)).observation
    text = scenario_text(observed)
    configs = loads(text).assignment_configs
    assert (configs.num_standby_replicas, configs.max_warmup_replicas) == (0, 4)
    assert "hunter2" not in text


def test_client_tags_are_missing_if_the_configs_require_them(folder: Path) -> None:
    with pytest.raises(ObservationError, match=r"which rack\.aware\.assignment\.tags requires and dumps lack"):
        _observe(folder, GROUP, DumpOptions({**TAKEN, "rack.aware.assignment.tags": "zone"}, RACKS))


def test_process_without_a_uuid_in_its_client_id_gets_a_reproducible_one(folder: Path) -> None:
    text = GROUP.replace(f"shop-{TWO}", "worker")
    first, repeated = (_observe(folder, text).observation for _ in range(2))
    assert first == repeated
    assert "worker" in {process.client_id for process in first.processes}
    assert any(assumption.startswith("The process ids of worker are unknown") for assumption in first.assumptions)


def test_processes_of_one_client_id_are_distinguished_by_host(folder: Path) -> None:
    text = GROUP.replace(f"shop-{ONE}", "worker").replace(f"shop-{TWO}", "worker")
    options = DumpOptions(TAKEN, (("*", "az2"),))
    assert len(_observe(folder, text, options).observation.processes) == 2


STREAMS = f"""\
GROUP MEMBER PROCESS CLIENT-ID ASSIGNMENTS
shop m-1 {ONE} shop-{ONE}-StreamThread-1 ACTIVE: 0:[0]; 1:[0]; STANDBY: 1:[1];
shop m-2 {TWO} shop-{TWO}-StreamThread-1 ACTIVE: 0:[1]; 1:[1]; WARMUP: 1:[0];
other m-3 {TWO} other ACTIVE: 0:[7];
"""


def test_streams_group_prints_active_standby_and_warmup_tasks(folder: Path) -> None:
    observed = _observe(folder, STREAMS, DumpOptions({}, RACKS)).observation
    assert observed.protocol == "streams"
    assert [process.threads for process in observed.processes] == [
        (ObservedThread("m-1", ("0_0", "1_0"), ("1_1",)),),
        (ObservedThread("m-2", ("0_1", "1_1"), ("1_0",)),),
    ]
    assert observed.configs == {"num.standby.replicas": "1"}
    scenario = loads(scenario_text(observed))
    assert [spec.info.name for spec in scenario.assignors] == ["streams_group_sticky"]


def test_streams_group_of_brokers_without_api_versions_has_an_unknown_release(folder: Path) -> None:
    observed = _observe(folder, STREAMS, DumpOptions({}, RACKS)).observation
    assert observed.broker_release is None
    [warning] = list_warnings(observed)
    assert warning.startswith("The release of the brokers is unknown: they assign the tasks of a streams group")


@pytest.mark.parametrize(
    ("versions", "release"), [(("4.3", "4.3"), "4.3"), (("4.4", "4.4"), "4.4 or later"), (("4.3", "4.4"), None)]
)
def test_release_of_the_brokers_follows_from_their_api_versions(
    folder: Path, versions: tuple[str, str], release: str | None
) -> None:
    captured = (CAPTURED / "brokers.txt").read_text()
    apis = captured[captured.index("(\n") : captured.index("\n)") + 3]
    of_release = {"4.3": apis, "4.4": apis.replace("ApiVersions(18): 0 to 4", "ApiVersions(18): 0 to 5")}
    lines = [line for line in BROKERS.splitlines() if line.endswith("(")]
    texts = [line.removesuffix("(") + of_release[version] for line, version in zip(lines, versions, strict=True)]
    (folder / "b.txt").write_text("".join(texts))
    observed = _observe(folder, STREAMS, DumpOptions({}, RACKS)).observation
    assert observed.broker_release == release
    assert len(list_warnings(observed)) == (release is None)
    assert list_warnings(_observe(folder, GROUP).observation) == ()


LOG = (DIALECTS / "leader_4_3.log").read_text()


def test_leader_log_gives_initial_assignment_by_thread(folder: Path) -> None:
    observed = _observe(folder, LOG, DumpOptions({}, RACKS)).observation
    assert [process.process_id for process in observed.processes] == [ONE, TWO]
    assert [(thread.active, thread.standby) for thread in observed.processes[0].threads] == [
        (("0_0",), ("1_1",)),
        (("1_0",), ()),
    ]
    assert observed.configs == {"num.standby.replicas": "1"}
    assert observed.next_rebalance_ms is None


def test_leader_log_gives_membership_changes_and_assignments(folder: Path) -> None:
    trace = _observe(folder, LOG, DumpOptions({}, RACKS)).history
    assert trace is not None
    assert [(process.process_id, process.rack) for process in trace.newcomers] == [(THREE, "az2")]
    assert trace.changes == (
        MembershipChange(300_000, "join", (THREE,)),
        MembershipChange(1_200_000 - 45_000, "leave", (TWO,)),
    )
    assert [(rebalance.number, rebalance.at_ms, rebalance.is_stable) for rebalance in trace.rebalances] == [
        (0, 0, True),
        (1, 300_000, False),
        (2, 1_200_000, True),
    ]
    assert trace.rebalances[2].active == {"0_0": ONE, "0_1": THREE, "1_0": ONE, "1_1": ONE}
    assert trace.rebalances[2].standby == {"1_0": (THREE,), "1_1": (THREE,)}


def test_process_missing_before_its_session_timeout_left_the_group(folder: Path) -> None:
    options = DumpOptions({"session.timeout.ms": "20m"}, RACKS)
    observed = _observe(folder, LOG, options)
    assert observed.history is not None
    assert observed.history.changes[1] == MembershipChange(1_200_000, "leave", (TWO,), leaves_group=True)
    [_, left] = loads(scenario_text(observed.observation, observed.history)).world(1).disturbances
    assert isinstance(left, Leave)
    assert left.closing.leaves_group


def test_rebalances_of_other_applications_are_skipped(folder: Path) -> None:
    two_applications = LOG.replace("stream-thread [shop-", "stream-thread [kiosk-") + LOG
    single = _observe(folder, LOG, DumpOptions({}, RACKS))
    assert _observe(folder, two_applications, DumpOptions({}, RACKS)) == single
    named = LOG.replace(f"stream-thread [shop-{ONE}", "stream-thread [a-client-id-of-its-own")
    assert _observe(folder, named, DumpOptions({}, RACKS)).history == single.history


def test_log_of_other_applications_is_rejected(folder: Path) -> None:
    with pytest.raises(ObservationError, match=r"no rebalance of 'shop' \(applications: kiosk\)"):
        _observe(folder, LOG.replace("stream-thread [shop-", "stream-thread [kiosk-"), DumpOptions({}, RACKS))


def test_scenario_replays_the_history(folder: Path) -> None:
    observed = _observe(folder, LOG, DumpOptions({}, RACKS))
    world = loads(scenario_text(observed.observation, observed.history)).world(1)
    assert [client.starts for client in world.clients] == [True, True, False]
    assert [event.at_ms for event in world.disturbances] == [300_000, 1_155_000]
    assert world.duration_ms == 1_200_000 + 1_800_000


def test_late_threads_are_present_from_the_start(folder: Path) -> None:
    second = f", shop-{ONE}-StreamThread-2-consumer-b]"
    tasks = "StreamThread-1-consumer-a=[0_0], shop-{ONE}-StreamThread-2-consumer-b=[1_0]".replace("{ONE}", ONE)
    first_round, later = LOG.split("[2026-02-01 10:05:00,100]")
    single = first_round.replace(second, "]").replace(tasks, "StreamThread-1-consumer-a=[0_0, 1_0]")
    observed = _observe(folder, f"{single}[2026-02-01 10:05:00,100]{later}", DumpOptions({}, RACKS)).observation
    assert [thread.active for thread in observed.processes[0].threads] == [("0_0", "1_0"), ()]
    assert any(
        assumption.startswith(f"Threads of shop-{ONE} joined after the first logged rebalance")
        for assumption in observed.assumptions
    )


def test_log_without_times_cannot_be_replayed(folder: Path) -> None:
    text = re.sub(r"\[2026-.*?\] ", "", LOG)
    with pytest.raises(ObservationError, match="has no times, so it cannot be replayed; use --last to import"):
        _observe(folder, text, DumpOptions({}, RACKS))
    assert len(_observe(folder, text, DumpOptions({}, RACKS, replays=False)).observation.processes) == 2


def test_scenario_can_start_from_the_last_rebalance_of_a_log(folder: Path) -> None:
    observed = _observe(folder, LOG, DumpOptions({}, RACKS, replays=False))
    assert observed.history is None
    assert [process.process_id for process in observed.observation.processes] == [ONE, THREE]
    assert any(
        assumption.startswith("The log does not assign tasks to threads")
        for assumption in observed.observation.assumptions
    )


def test_follow_up_of_the_first_rebalance_is_scheduled(folder: Path) -> None:
    text = LOG.replace("Finished stable assignment", "Finished unstable assignment", 1)
    assert _observe(folder, text, DumpOptions({}, RACKS)).observation.next_rebalance_ms == 600_000
    rounds = text.split("[2026-02-01 10:05:00,100]")
    repeated = rounds[0] + rounds[0].replace("10:00:00", "10:02:00")
    assert _observe(folder, repeated, DumpOptions({}, RACKS)).observation.next_rebalance_ms == 120_000


def test_captured_dumps_yield_a_scenario_with_all_tasks(tmp_path: Path) -> None:
    for name in ("topics.txt", "brokers.txt", "log_dirs.json.txt", "topology.txt"):
        (tmp_path / name).write_text((CAPTURED / name).read_text())
    (tmp_path / "group.txt").write_text(
        "GROUP CONSUMER-ID HOST CLIENT-ID #PARTITIONS ASSIGNMENT\n"
        f"order-processing c /h order-processing-{ONE}-StreamThread-1-consumer 1 orders(0,1,2)\n"
    )
    observed = observe_dumps(tmp_path, "order-processing", DumpOptions(TAKEN, (("*", "az1"),)))
    scenario = loads(scenario_text(observed.observation))
    assert scenario.blueprint.clients[0].tasks.active == (tuple(TaskId(1, i) for i in range(3)),)
    stateful = [part.id for part in scenario.blueprint.application.subtopologies if part.is_stateful]
    assert stateful == [part.id for part in observed.observation.subtopologies if part.changelogs]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("group", (DIALECTS / "groups_3_9.txt").read_text(), "group:3: ASSIGNMENT: '(0), (0,1)' lacks topic names"),
        ("group", GROUP.replace("shop ", "sho "), "group has no member of 'shop' (groups: other, sho)"),
        ("group", GROUP.replace("orders:0", "order:0"), f"group:2: shop-{ONE}-StreamThread-1-consumer reads 'order',"),
        ("topics", TOPICS, "a.txt and topics are both topics; keep one of them in the folder"),
        ("app", "application.id=shop2\n", "app belongs to application 'shop2', not 'shop'"),
        ("c.txt", '{"brokers": [{"logDirs": 7}]}', "c.txt:1: not the JSON of kafka-log-dirs.sh --describe"),
        ("d.txt", TOPOLOGY.replace("[orders]", "[order]"), "d.txt:3: 'order' is not a topic of the cluster (did you"),
        ("d.txt", TOPOLOGY.replace("[orders]", "no.*"), "d.txt:3: the pattern 'no.*' matches no topic of the cluster"),
        ("d.txt", TOPOLOGY.replace("[orders]", "(o+)+"), "d.txt:3: the pattern '(o+)+' is too complex to match"),
    ],
)
def test_errors_name_the_file(folder: Path, name: str, text: str, message: str) -> None:
    (folder / "group").write_text(GROUP)
    (folder / name).write_text(text)
    with pytest.raises(ObservationError, match="^" + re.escape(message)):
        observe_dumps(folder, "shop", DumpOptions(TAKEN, RACKS))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "log_dirs.json.txt",
            '{"version":1,"brokers":[{"broker":1,',
            "log_dirs.json.txt:1: invalid JSON: Expecting property name enclosed in double quotes (character 37); "
            "expected the complete output of kafka-log-dirs.sh --describe",
        ),
        ("sizes", '{"version":1,"brokers":[{"broker":1,', "sizes:1: invalid JSON: "),
        (
            "kafka-log-dirs.txt",
            "broker 1 /d orders-0 10\n",
            "kafka-log-dirs.txt: no line starts with a brace; expected the output of kafka-log-dirs.sh --describe",
        ),
        ("x", "Querying brokers for log directories information\n", "x: no line starts with a brace; expected the "),
        ("log-dirs.json", "", "log-dirs.json: no line starts with a brace; expected the output of kafka-log-dirs.sh "),
        ("topics.txt", "", "topics.txt: no topics; expected the output of kafka-topics.sh --describe"),
        ("y", "Topic: orders\tTopicId: tn7Df", "y:1: PartitionCount: '' is not a number of partitions"),
        (
            "out.txt",
            "Error while executing topic command : Timed out waiting for a node assignment. Call: listTopics\n",
            "out.txt:1: 'Error while executing topic command : Timed out waiting for ' is not a line of kafka-",
        ),
        ("brokers.txt", "hello world\n", "brokers.txt:1: 'hello world' is not a broker id"),
        ("b", "localhost:9092 (id: 1 rack: az1 isF", "b:1: 'localhost:9092 (id: 1 rack: az1 isF' is not a broker "),
        ("t", "Topologies:\n   Sub", "t:2: 'Sub' before the first 'Sub-topology: 0'"),
        ("shop_topology.txt", "", "shop_topology.txt: no sub-topologies; expected the output of Topology.describe()"),
        (
            "members.txt",
            "",
            "members.txt: no header line (GROUP CONSUMER-ID …); expected the output of kafka-consumer-",
        ),
        ("m", "Consumer group 'shop' has no active members.\n", "m: no header line (GROUP CONSUMER-ID …); expected "),
        ("g", "Error: Consumer group 'shop' does not exist.\n", "g: no header line (GROUP CONSUMER-ID …); expected "),
        ("streams-groups.txt", "hello\n", "streams-groups.txt:1: 'hello' before the header line (GROUP …)"),
    ],
)
def test_file_that_says_what_it_is_and_is_not_understood_is_an_error(
    folder: Path, name: str, text: str, message: str
) -> None:
    (folder / "group").write_text(GROUP)
    (folder / "c.txt").unlink()
    (folder / name).write_text(text)
    with pytest.raises(ObservationError, match="^" + re.escape(message)):
        read_dumps(folder)


def test_json_line_of_kafka_streams_without_a_known_message_is_an_error(folder: Path) -> None:
    lines = (DIALECTS / "leader_3_9.log").read_text().splitlines()
    (folder / "shop.log").write_text("".join(json.dumps({"text": line}) + "\n" for line in lines))
    message = (
        r"^shop\.log:\d+: no message of this JSON line is known \(expected one of: message, msg, log, textPayload, "
    )
    with pytest.raises(ObservationError, match=message):
        read_dumps(folder)


@pytest.mark.parametrize("name", ["kafka-log-dirs.txt", "listing"])
def test_text_in_utf_16_is_an_error(folder: Path, name: str) -> None:
    (folder / name).write_text(SIZES, encoding="utf-16")
    with pytest.raises(ObservationError, match=rf"^{name}:1: not UTF-8 text; save it as UTF-8$"):
        read_dumps(folder)


def test_damaged_compressed_log_is_an_error(folder: Path) -> None:
    packed = gzip.compress((DIALECTS / "leader_3_9.log").read_bytes())
    (folder / "shop.log.1.gz").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(
        ObservationError, match=r"^shop\.log\.1\.gz: damaged gzip file: .*; copy it again or remove it$"
    ):
        read_dumps(folder)


@pytest.mark.parametrize("name", ["streams_offsets.txt", "streams_state.txt", "reassignment.txt", "member_bytes.txt"])
def test_complete_output_of_other_tools_is_ignored(folder: Path, name: str) -> None:
    for file in (name, "streams-groups.txt") if name.startswith("streams") else (name,):
        (folder / file).write_text((DIALECTS / name).read_text())
        assert file in read_dumps(folder).ignored


def test_damaged_members_are_an_error_also_beside_offsets(folder: Path) -> None:
    (folder / "members.txt").write_text("GROUP CONSUMER-ID HOST CLIENT-ID #PARTITIONS ASSIGNMENT\nshop c-1 /h\n")
    (folder / "offsets").write_text((DIALECTS / "groups_offsets.txt").read_text())
    with pytest.raises(ObservationError, match=r"^members\.txt:2: 'shop c-1 /h' does not match the 6 columns"):
        read_dumps(folder)


def test_offsets_replace_members_without_topic_names(folder: Path) -> None:
    nameless = (DIALECTS / "groups_3_9.txt").read_text()
    offsets = f"GROUP TOPIC PARTITION CONSUMER-ID HOST CLIENT-ID\nshop orders 0 c-1 /h shop-{ONE}-StreamThread-1\n"
    (folder / "offsets").write_text(offsets)
    assert _observe(folder, nameless).observation.processes[0].threads == (ObservedThread("c-1", ("0_0",), ()),)


def test_missing_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ObservationError, match=r"nowhere' is not a folder$"):
        observe_dumps(tmp_path / "nowhere", "shop")


def test_tasks_without_a_thread_are_distributed_round_robin(folder: Path) -> None:
    tasks = "[activeTasks: ([0_0, 0_1, 1_0]) standbyTasks: ([1_1])]"
    consumers = f"participating in this rebalance: \n{ONE}: [a, b]\n"
    text = (
        f"[2026-02-01 10:00:00,000] {consumers}[2026-02-01 10:00:00,001] Assignment of tasks to nodes: {ONE}={tasks}\n"
    )
    observed = _observe(folder, text, DumpOptions({}, RACKS)).observation
    assert [(thread.active, thread.standby) for thread in observed.processes[0].threads] == [
        (("0_0", "1_0"), ()),
        (("0_1",), ("1_1",)),
    ]


def _log_of(version: str, topology: str = "", group: str = "shop", at: str = "09:00:00") -> str:
    return (
        f"2026-02-01 {at},000 [main] INFO Main - Topology: {topology}\n"
        f"2026-02-01 {at},000 [main] INFO AppInfoParser - Kafka version: {version}\n"
        f"2026-02-01 {at},000 [main] INFO C - [Consumer clientId=a, groupId={group}] joined\n"
    )


def test_clients_have_the_release_that_they_log_last(folder: Path) -> None:
    (folder / "one.log").write_text(_log_of("3.9.1"))
    (folder / "two.log").write_text(_log_of("4.0.0", at="09:30:00"))
    (folder / "other.log").write_text(_log_of("4.1.0", group="other", at="09:40:00"))
    observed = _observe(folder, GROUP)
    assert observed.kinds["one.log"] == "client log"
    assert observed.observation.client_release == "4.0.0"
    assert observed.observation.assumptions[-1] == (
        "Clients run Kafka 4.0.0 according to two.log; the logs also contain 3.9.1."
    )
    assert loads(scenario_text(observed.observation)).client_release == "4.0.0"


def test_an_unsupported_release_in_a_log_is_a_warning(folder: Path) -> None:
    (folder / "one.log").write_text(_log_of("3.6.1"))
    observed = _observe(folder, GROUP).observation
    assert observed.client_release == "3.8"
    assert any("Kafka 3.6.1" in warning for warning in list_warnings(observed))
    assert not any("assumed to run" in text for text in list_assumptions(observed))


def test_a_stated_release_overrides_that_of_logs(folder: Path) -> None:
    (folder / "one.log").write_text(_log_of("3.6.1"))
    observed = _observe(folder, GROUP, DumpOptions(TAKEN, RACKS, release="4.3")).observation
    assert (observed.client_release, observed.warnings) == (None, ())


@pytest.mark.parametrize("name", ["group", "app.log"])
def test_a_printed_topology_serves_as_well_as_a_file(folder: Path, name: str) -> None:
    log = (DIALECTS / "leader_3_9.log").read_text()
    with_file = _observe(folder, log).observation
    (folder / "d.txt").unlink()
    with pytest.raises(ObservationError, match="subtopologies and stores"):
        _observe(folder, log)
    printed = f"2026-02-01 09:00:00,000 [main] INFO Main - Topology: {TOPOLOGY}\n"
    (folder / name).write_text(printed + (log if name == "group" else ""))
    observed = observe_dumps(folder, "shop", DumpOptions(TAKEN, RACKS)).observation
    assert observed.subtopologies == with_file.subtopologies
    assert observed.processes == with_file.processes
    assert f"The topology is that which the application prints in {name}." in observed.assumptions


def test_a_topology_file_has_precedence_over_a_printed_topology(folder: Path) -> None:
    expected = _observe(folder, GROUP).observation.subtopologies
    (folder / "app.log").write_text(_log_of("3.9.1", TOPOLOGY.replace("totals", "sums")))
    assert _observe(folder, GROUP).observation.subtopologies == expected


def test_different_printed_topologies_are_an_error(folder: Path) -> None:
    (folder / "d.txt").unlink()
    (folder / "one.log").write_text(_log_of("3.9.1", TOPOLOGY))
    (folder / "two.log").write_text(_log_of("3.9.1", TOPOLOGY.replace("totals", "sums")))
    with pytest.raises(ObservationError, match=r"^one\.log and two\.log print different topologies"):
        _observe(folder, GROUP)


def test_configs_of_topics_are_those_of_the_scenario(folder: Path) -> None:
    own = (
        "min.insync.replicas=2,unclean.leader.election.enable=true,cleanup.policy=compact,delete,segment.bytes=50000000"
    )
    changelog = "min.insync.replicas=2,cleanup.policy=compact,compression.type=producer,retention.ms=-1"
    (folder / "a.txt").write_text(
        _topic("orders").replace("Configs: ", f"Configs: {own},retention.ms=3600000")
        + _topic("unrelated")
        + _topic(REPARTITION).replace(
            "Configs: ", "Configs: min.insync.replicas=1,cleanup.policy=delete,retention.ms=-1"
        )
        + _topic(TOTALS).replace("Configs: ", f"Configs: {changelog}")
    )
    observation = _observe(folder, GROUP).observation
    text = scenario_text(observation)
    configs = {
        match[1]: re.findall(r"^        (.+)$", match[2], re.MULTILINE)
        for match in re.finditer(r"- name: (\S+)\n(?:      .*\n)*?      configs:\n((?:        .+\n)+)", text)
    }
    assert configs == {
        "orders": [
            "min.insync.replicas: 2",
            "unclean.leader.election.enable: true",
            'cleanup.policy: "compact,delete"',
            "retention.ms: 3600000",
        ],
        TOTALS: ["min.insync.replicas: 2"],
    }
    topics = loads(text).world(1).cluster.topics
    assert (topics["orders"].min_insync_replicas, topics["orders"].unclean_leader_election) == (2, True)
    assert (topics[TOTALS].min_insync_replicas, topics[REPARTITION].min_insync_replicas) == (2, 1)
