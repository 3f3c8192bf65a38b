"""Scenarios that import the output of Kafka's tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from scenarios.load import Scenario, ScenarioError, load
from scenarios.schema import SCHEMA_FILE
from simulator.world.world import NO_LEADER, Store

CAPTURED = SCHEMA_FILE.with_name("library") / "captured"

SCENARIO = """\
cluster:
  from: {topics: dumps/topics.txt, brokers: dumps/brokers.txt, log_dirs: dumps/log_dirs.txt}
  topics:
    - {name: orders, bytes_per_s: 6 MB/s}
application:
  id: shop
  from: {topology: dumps/topology.txt}
clients:
  - {name: app, count: 2, racks: [az1, az2]}
"""

BROKERS = "a:9092 (id: 1 rack: az1) -> (\n)\nb:9092 (id: 2 rack: az2) -> (\n)\n"

LOG_DIRS = (
    '{"brokers":[{"broker":1,"logDirs":[{"partitions":['
    '{"partition":"orders-0","size":700},{"partition":"orders-1","size":300}]}]}]}\n'
)

TOPOLOGY = """\
Topologies:
   Sub-topology: 0
    Source: S0 (topics: [orders])
      --> K
    Processor: K (stores: [])
      --> R
      <-- S0
    Sink: R (topic: by-customer-repartition)
      <-- K

  Sub-topology: 1
    Source: S1 (topics: [by-customer-repartition])
      --> A
    Processor: A (stores: [totals])
      --> none
      <-- S1
    Source: S2 (topics: [customers])
      --> KTABLE-SOURCE-0000000007
    Processor: KTABLE-SOURCE-0000000007 (stores: [customers-store])
      --> none
      <-- S2
"""


def _topic(name: str, partitions: int, leader: object = 1) -> str:
    header = f"Topic: {name}\tPartitionCount: {partitions}\tReplicationFactor: 2\tConfigs: \n"
    rows = [f"\tTopic: {name}\tPartition: {i}\tLeader: {leader}\tReplicas: 1,2\tIsr: 1,2\n" for i in range(partitions)]
    return header + "".join(rows)


TOPICS = _topic("orders", 2) + _topic("customers", 3, "none")
HAS_RUN = TOPICS + _topic("shop-by-customer-repartition", 3)


class Folder:
    """A scenario with imported files that tests can change."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "dumps").mkdir()
        self.write("topics", TOPICS).write("brokers", BROKERS).write("log_dirs", LOG_DIRS).write("topology", TOPOLOGY)
        self.scenario = SCENARIO

    def write(self, dump: str, text: str) -> Folder:
        (self.path / "dumps" / f"{dump}.txt").write_text(text, encoding="utf-8")
        return self

    def replace_text(self, before: str, after: str) -> Folder:
        assert before in self.scenario
        self.scenario = self.scenario.replace(before, after)
        return self

    def load(self) -> Scenario:
        (self.path / "s.yaml").write_text(self.scenario, encoding="utf-8")
        return load(self.path / "s.yaml")

    def mistakes(self) -> list[str]:
        with pytest.raises(ScenarioError) as raised:
            self.load()
        return str(raised.value).replace(f"{self.path}/", "").splitlines()


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_dump_gives_brokers_topics_leaders_and_sizes(folder: Folder) -> None:
    cluster = folder.load().world(1).cluster
    assert {broker.id: broker.rack for broker in cluster.brokers} == {1: "az1", 2: "az2"}
    orders = cluster.topics["orders"]
    assert (orders.replicas, orders.leaders, orders.size_bytes) == (((1, 2), (1, 2)), (1, 1), (700, 300))
    assert cluster.topics["customers"].leaders == (NO_LEADER,) * 3


def test_entries_add_to_imported_topics(folder: Folder) -> None:
    orders = folder.load().world(1).cluster.topics["orders"]
    assert orders.bytes_per_s == (3_000_000, 3_000_000)
    assert orders.size_bytes == (700, 300)


def test_entry_overrides_partitions_and_replicas_of_an_imported_topic(folder: Folder) -> None:
    folder.replace_text("bytes_per_s: 6 MB/s", "partitions: 5, replication_factor: 1")
    orders = folder.load().world(1).cluster.topics["orders"]
    assert [len(brokers) for brokers in orders.replicas] == [1] * 5
    folder.replace_text("partitions: 5, replication_factor: 1", "replicas: [[2], [1], [2, 1]]")
    assert folder.load().world(1).cluster.topics["orders"].replicas == ((2,), (1,), (2, 1))


def test_imported_and_new_topics_are_combined(folder: Folder) -> None:
    folder.replace_text("  topics:\n", "  topics:\n    - {name: extra, partitions: 4}\n")
    assert list(folder.load().world(1).cluster.topics)[:3] == ["orders", "customers", "extra"]


def test_partitions_without_a_size_in_the_dump_have_the_default(folder: Folder) -> None:
    folder.replace_text("  topics:\n", "  partition_defaults: {size: 5, bytes_per_s: 4}\n  topics:\n")
    topics = folder.load().world(1).cluster.topics
    assert topics["customers"].size_bytes == (5, 5, 5)
    assert topics["customers"].bytes_per_s == (4, 4, 4)
    assert topics["orders"].size_bytes == (700, 300)


def test_without_broker_output_the_brokers_are_those_with_replicas(folder: Folder) -> None:
    folder.replace_text(", brokers: dumps/brokers.txt", "").replace_text(", racks: [az1, az2]", "")
    assert [(broker.id, broker.rack) for broker in folder.load().world(1).cluster.brokers] == [(1, None), (2, None)]


def test_brokers_of_the_scenario_complete_a_dump(folder: Folder) -> None:
    folder.replace_text(", brokers: dumps/brokers.txt", "").replace_text(
        "  topics:\n", "  brokers: {count: 3, racks: [az1, az2]}\n  topics:\n"
    )
    assert [broker.rack for broker in folder.load().world(1).cluster.brokers] == ["az1", "az2", "az1"]


def test_topology_gives_subtopologies_and_internal_topics(folder: Folder) -> None:
    world = folder.load().world(1)
    first, second = world.application.subtopologies
    assert (first.id, first.source_topics, first.stores) == (0, ("orders",), ())
    assert second.source_topics == ("shop-by-customer-repartition", "customers")
    assert second.stores == (
        Store("totals", "shop-totals-changelog"),
        Store("customers-store", "shop-customers-store-changelog"),
    )
    counts = {name: topic.num_partitions for name, topic in world.cluster.topics.items() if name.startswith("shop-")}
    assert counts == {
        "shop-by-customer-repartition": 2,
        "shop-totals-changelog": 3,
        "shop-customers-store-changelog": 3,
    }
    assert folder.load().notes == ()


def test_existing_internal_topics_are_used(folder: Folder) -> None:
    folder.write("topics", HAS_RUN + _topic("shop-totals-changelog", 3) + _topic("shop-customers-store-changelog", 3))
    scenario = folder.load()
    world = scenario.world(1)
    assert world.cluster.topics["shop-by-customer-repartition"].num_partitions == 3
    assert len(world.cluster.topics) == 5
    assert [store.changelog for store in world.application.subtopologies[1].stores] == [
        "shop-totals-changelog",
        "shop-customers-store-changelog",
    ]
    assert scenario.notes == ()


def test_store_without_existing_changelog_is_not_logged(folder: Folder) -> None:
    scenario = folder.write("topics", HAS_RUN).load()
    world = scenario.world(1)
    assert world.application.subtopologies[1].stores == (Store("totals", None), Store("customers-store", "customers"))
    assert [note.split("dumps/")[1] for note in scenario.notes] == [
        "topology.txt:14: store 'totals' has no changelog topic in the cluster; assumed not logged",
        "topology.txt:19: store 'customers-store' has no changelog topic in the cluster; "
        "assumed to be restored from its source 'customers'",
    ]


def test_store_entries_override_inferred_changelogs(folder: Folder) -> None:
    folder.write("topics", HAS_RUN).replace_text(
        "clients:\n",
        "  stores:\n"
        "    - {name: totals, size: 9}\n"
        "    - {name: customers-store, logged: false, persistent: false}\n"
        "clients:\n",
    )
    scenario = folder.load()
    world = scenario.world(1)
    assert world.application.subtopologies[1].stores == (
        Store("totals", "shop-totals-changelog"),
        Store("customers-store", None, persistent=False),
    )
    assert sum(world.cluster.topics["shop-totals-changelog"].size_bytes) == 9
    assert scenario.notes == ()


def test_pattern_reads_matching_topics(folder: Folder) -> None:
    folder.write("topology", TOPOLOGY.replace("[orders]", r"ord.*|other\.topic"))
    assert folder.load().world(1).application.subtopologies[0].source_topics == ("orders",)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("metrics-.*", "the pattern 'metrics-.*' matches no topic of the cluster"),
        ("(o+)+x", "the pattern '(o+)+x' is too complex to match; replace it with the topics, as [a, b]"),
        (".*.*.*x", "the pattern '.*.*.*x' is too complex to match; replace it with the topics, as [a, b]"),
        ("(orders", "the pattern '(orders' is too complex to match; replace it with the topics, as [a, b]"),
    ],
)
def test_pattern_without_topics_is_rejected(folder: Folder, pattern: str, message: str) -> None:
    folder.write("topology", TOPOLOGY.replace("[orders]", pattern))
    assert folder.mistakes() == [f"dumps/topology.txt:3: {message}"]


def test_imports_have_digests_of_their_content(folder: Folder) -> None:
    before = folder.load().imports
    assert [name for name, _ in before] == [
        f"dumps/{name}.txt" for name in ("brokers", "log_dirs", "topics", "topology")
    ]
    after = folder.write("brokers", BROKERS + "\n").load().imports
    assert before[0] != after[0]
    assert before[1:] == after[1:]


def test_captured_cluster_and_application_are_unchanged() -> None:
    world = load(SCHEMA_FILE.with_name("library") / "order_processing.yaml").world(1)
    tasks = {
        subtopology.id: max(world.cluster.topics[topic].num_partitions for topic in subtopology.source_topics)
        for subtopology in world.application.subtopologies
    }
    assert tasks == {1: 48, 2: 24, 3: 48, 4: 36, 5: 12, 6: 6}
    stateful = [subtopology.id for subtopology in world.application.subtopologies if subtopology.is_stateful]
    assert stateful == [2, 3, 4, 5]
    assert world.cluster.racks == ("az1", "az2", "az3")
    assert len(world.cluster.topics) == 25
    assert [client.starts for client in world.clients] == [True] * 12 + [False] * 3


@pytest.mark.parametrize(
    ("dump", "text", "mistake"),
    [
        (
            "topics",
            TOPICS + "hello\n",
            "dumps/topics.txt:8: 'hello' is not a line of kafka-topics.sh --describe",
        ),
        (
            "brokers",
            "hello\n",
            "dumps/brokers.txt:1: 'hello' is not a broker id; write one broker per line as id,rack,capacity, such as "
            "1,az1,4 TB",
        ),
        (
            "log_dirs",
            "{}\n",
            "dumps/log_dirs.txt:1: not the JSON of kafka-log-dirs.sh --describe: 'brokers' is missing",
        ),
        ("topology", "hello\n", "dumps/topology.txt:1: 'hello' before the first 'Sub-topology: 0'"),
        (
            "topology",
            TOPOLOGY.replace("[customers]", "[customer]"),
            "dumps/topology.txt:17: 'customer' is not a topic of the cluster (did you mean 'customers'?)",
        ),
        (
            "brokers",
            BROKERS.replace("id: 2", "id: 3"),
            "dumps/topics.txt:1: topic 'orders' has replicas on broker 2, which does not exist (brokers: 1, 3)",
        ),
        (
            "topics",
            HAS_RUN + _topic("shop-totals-changelog", 7),
            "dumps/topology.txt:14: 'shop-totals-changelog' exists with 7 partitions, but Kafka Streams needs 3",
        ),
    ],
)
def test_mistake_in_a_dump_has_file_and_line(folder: Folder, dump: str, text: str, mistake: str) -> None:
    assert folder.write(dump, text).mistakes() == [mistake]


def test_mistakes_of_all_files_are_reported_together(folder: Folder) -> None:
    folder.write("topics", "hello\n").write("topology", "hello\n").replace_text("racks: [az1, az2]", "process_id: x")
    assert folder.mistakes() == [
        "s.yaml:9: clients[0].process_id: several clients cannot share a process id; define one entry per client",
        "dumps/topics.txt:1: 'hello' is not a line of kafka-topics.sh --describe",
        "dumps/topology.txt:1: 'hello' before the first 'Sub-topology: 0'",
    ]


@pytest.mark.parametrize(
    ("before", "after", "mistake"),
    [
        ("topics.txt", "topic.txt", "s.yaml:2: cluster.from.topics: 'dumps/topic.txt': no such file"),
        ("dumps/topology.txt", "dumps", "s.yaml:7: application.from.topology: 'dumps': not a file"),
        (
            "topics: dumps/topics.txt, brokers: dumps/brokers.txt, log_dirs",
            "brokers: dumps/brokers.txt, log_dirs",
            "s.yaml:2: cluster.from.log_dirs: applies to imported topics only; set from.topics, too",
        ),
        (
            "  topics:\n",
            "  brokers: {count: 2}\n  topics:\n",
            "s.yaml:3: cluster.brokers: conflicts with cluster.from.brokers; remove one of the two",
        ),
        (
            "clients:\n",
            "  subtopologies: [{sources: [orders]}]\nclients:\n",
            "s.yaml:8: application.subtopologies: conflicts with application.from.topology; remove one of the two",
        ),
        (
            "clients:\n",
            "  stores: [{name: total}]\nclients:\n",
            "s.yaml:8: application.stores[0].name: 'total' is not a store of the topology (did you mean 'totals'?)",
        ),
        (
            "clients:\n",
            "  stores: [{name: totals}, {name: totals}]\nclients:\n",
            "s.yaml:8: application.stores[1].name: 'totals' is also the name of stores[0]",
        ),
        (
            "clients:\n",
            "  stores: [{name: totals, logged: false, size: 3}]\nclients:\n",
            "s.yaml:8: application.stores[0].size: a store with logged: false has no changelog; remove this",
        ),
    ],
)
def test_mistake_about_imports_has_its_line(folder: Folder, before: str, after: str, mistake: str) -> None:
    assert mistake in folder.replace_text(before, after).mistakes()


def test_dump_that_is_not_utf_8_is_rejected(folder: Folder) -> None:
    (folder.path / "dumps" / "topics.txt").write_bytes(TOPICS.encode("utf-16"))
    assert folder.mistakes() == [
        "s.yaml:2: cluster.from.topics: 'dumps/topics.txt:1': not UTF-8 text; save it as UTF-8"
    ]


def _sink(name: str, topic: str) -> str:
    return f"    Sink: {name} (topic: {topic})\n      <-- K\n"


def test_sinks_of_an_imported_topology_are_written_topics(folder: Folder) -> None:
    first = "    Sink: R (topic: by-customer-repartition)\n      <-- K\n"
    folder.write("topology", TOPOLOGY.replace(first, first + _sink("S", "results")))
    for topics in (TOPICS, HAS_RUN):
        folder.write("topics", topics + _topic("results", 2))
        writer, reader = folder.load().world(1).application.subtopologies
        assert sorted(writer.written_topics) == ["results", "shop-by-customer-repartition"]
        assert reader.written_topics == ()
        assert not [note for note in folder.load().notes if "writes" in note]


def test_unknown_sink_is_ignored_with_a_note(folder: Folder) -> None:
    folder.write("topology", TOPOLOGY.replace("    Sink: R", _sink("S", "results") + "    Sink: R"))
    scenario = folder.load()
    [note] = scenario.notes
    assert note.endswith(
        "dumps/topology.txt:2: sub-topology 0 writes 'results', which is not a topic of the cluster; "
        "assumed to write nothing to it"
    )
    assert scenario.world(1).application.subtopologies[0].written_topics == ("shop-by-customer-repartition",)


def test_first_writer_of_a_topic_is_assumed_to_write_all_of_it(folder: Folder) -> None:
    folder.write("topics", TOPICS + _topic("results", 2))
    topology = TOPOLOGY.replace("    Sink: R", _sink("S", "results") + "    Sink: R") + _sink("T", "results")
    folder.write("topology", topology)
    scenario = folder.load()
    [note] = scenario.notes
    assert note.endswith(
        "sub-topology 1 writes 'results', as does sub-topology 0; assumed that sub-topology 0 writes all of it"
    )
    assert [sub.written_topics for sub in scenario.world(1).application.subtopologies][1] == ()
