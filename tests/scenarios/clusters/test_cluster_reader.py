"""Clusters for replica assignors, read from a scenario, a reassignment and a description."""

from __future__ import annotations

from pathlib import Path

import pytest

from assignors.replicas.state import NO_BROKER, UNKNOWN_RATE, ClusterState, TopicRetention
from scenarios.clusters.cluster_reader import LoadedCluster, read_cluster, to_cluster_state
from scenarios.language.errors import ScenarioError
from scenarios.load import load
from scenarios.shipped import library_folder

CAPTURED = library_folder() / "captured"
ASSIGNMENT = """{"version": 1, "partitions": [
  {"topic": "orders", "partition": 1, "replicas": [3, 1]},
  {"topic": "orders", "partition": 0, "replicas": [1, 2]}
]}
"""
DESCRIPTION = (
    "Topic: orders\tPartitionCount: 2\tReplicationFactor: 2\tConfigs: \n"
    "\tTopic: orders\tPartition: 0\tLeader: 2\tReplicas: 1,2\tIsr: 2\n"
    "\tTopic: orders\tPartition: 1\tLeader: none\tReplicas: 3,1\tIsr: \n"
)
GENERATED = f"""Current partition replica assignment
{ASSIGNMENT}
Proposed partition reassignment configuration
{{"version":1,"partitions":[{{"topic":"orders","partition":0,"replicas":[9]}}]}}
"""


def replicas_of(state: ClusterState) -> dict[str, list[int]]:
    rows = range(state.num_partitions)
    return {state.name(row): state.ids[state.replicas[row][state.replicas[row] != NO_BROKER]].tolist() for row in rows}


def rejection(text: str, **files: Path) -> str:
    with pytest.raises(ScenarioError) as raised:
        read_cluster("input", text, **files)  # type: ignore[arg-type]
    return str(raised.value)


def write_file(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def sizes_file(folder: Path, **sizes: int) -> Path:
    entries = ",".join(
        f'{{"partition":"{name.replace("_", "-")}","size":{size},"offsetLag":0,"isFuture":false}}'
        for name, size in sizes.items()
    )
    return write_file(
        folder, "sizes.json", f'{{"brokers":[{{"broker":1,"logDirs":[{{"partitions":[{entries}]}}]}}]}}\n'
    )


def test_assignment_keeps_its_order_and_first_replicas_lead() -> None:
    loaded = read_cluster("input", ASSIGNMENT)
    assert replicas_of(loaded.state) == {"orders-1": [3, 1], "orders-0": [1, 2]}
    assert loaded.state.leader.tolist() == loaded.state.replicas[:, 0].tolist()
    assert loaded.state.size_bytes is None
    assert loaded.state.bytes_per_s is None


def test_without_broker_file_brokers_are_those_with_replicas() -> None:
    loaded = read_cluster("input", ASSIGNMENT)
    assert loaded.state.ids.tolist() == [1, 2, 3]
    assert loaded.remarks == ("racks and brokers without replicas are unknown; set --brokers FILE",)


def test_output_of_generate_is_read_as_its_current_assignment() -> None:
    assert replicas_of(read_cluster("input", GENERATED).state) == {"orders-1": [3, 1], "orders-0": [1, 2]}
    proposed = GENERATED[GENERATED.index("Proposed") :]
    assert replicas_of(read_cluster("input", proposed).state) == {"orders-0": [9]}


def test_description_gives_leaders_and_out_of_sync_replicas() -> None:
    loaded = read_cluster("input", DESCRIPTION)
    assert replicas_of(loaded.state) == {"orders-0": [1, 2], "orders-1": [3, 1]}
    assert [loaded.state.brokers[row].id if row != NO_BROKER else None for row in loaded.state.leader] == [2, None]
    assert "2 partitions have out-of-sync replicas" in loaded.remarks


def test_broker_file_gives_racks_capacities_and_empty_brokers(tmp_path: Path) -> None:
    brokers = write_file(tmp_path, "brokers.csv", "1,az1,4 TB\n2,az2,4 TB\n3,az3,4 TB\n4,az1,4 TB\n")
    loaded = read_cluster("input", ASSIGNMENT, brokers=brokers)
    assert loaded.state.ids.tolist() == [1, 2, 3, 4]
    assert loaded.state.racks == ("az1", "az2", "az3")
    assert {broker.capacity_bytes for broker in loaded.state.brokers} == {4_000_000_000_000}
    assert loaded.remarks == ()


def test_broker_missing_from_the_broker_file_is_assumed_decommissioned(tmp_path: Path) -> None:
    loaded = read_cluster("input", ASSIGNMENT, brokers=write_file(tmp_path, "brokers.csv", "1,az1\n2,az2\n"))
    assert loaded.state.is_alive.tolist() == [True, True, False]
    assert loaded.remarks == (
        f"brokers: 3 hold replicas but are not in {tmp_path / 'brokers.csv'}; assumed decommissioned",
    )


def test_log_dirs_file_gives_sizes(tmp_path: Path) -> None:
    loaded = read_cluster("input", ASSIGNMENT, log_dirs=sizes_file(tmp_path, orders_0=10, orders_1=30, other_0=5))
    assert loaded.state.size_bytes is not None
    assert loaded.state.size_bytes.tolist() == [30, 10]


def test_captured_tool_output_is_read_completely() -> None:
    text = (CAPTURED / "topics.txt").read_text()
    loaded = read_cluster("topics.txt", text, brokers=CAPTURED / "brokers.txt", log_dirs=CAPTURED / "log_dirs.json.txt")
    assert (loaded.state.num_partitions, len(loaded.state.topics), len(loaded.state.brokers)) == (584, 25, 6)
    assert loaded.state.racks == ("az1", "az2", "az3")
    assert int(loaded.state.replication_factor.sum()) == 1296
    assert loaded.remarks == ()


def test_scenario_gives_the_placement_of_the_requested_seed() -> None:
    path = library_folder() / "rolling_bounce.yaml"
    text = path.read_text()

    def state(seed: int | None) -> LoadedCluster:
        return read_cluster(str(path), text, path=path, seed=seed)

    scenario = load(path)
    world = scenario.world(scenario.seeds[0])
    assert replicas_of(state(None).state) == {
        f"{topic.name}-{partition}": list(replicas)
        for topic in world.cluster.topics.values()
        for partition, replicas in enumerate(topic.replicas)
    }
    assert replicas_of(state(None).state) == replicas_of(to_cluster_state(world.cluster))
    assert replicas_of(state(7).state) == replicas_of(to_cluster_state(scenario.world(7).cluster))
    assert state(None).state.size_bytes is not None


def test_scenario_without_sizes_has_unknown_sizes() -> None:
    text = (
        "cluster: {brokers: {count: 2, racks: [a, b]}, topics: [{name: t, partitions: 2}]}\n"
        "application: {id: app, subtopologies: [{id: 0, sources: [t]}]}\nclients: [{name: c}]\n"
    )
    state = read_cluster("input", text).state
    assert state.size_bytes is None
    assert state.bytes_per_s is None


def test_broker_and_size_files_override_those_of_a_scenario(tmp_path: Path) -> None:
    path = library_folder() / "order_processing.yaml"
    brokers = write_file(tmp_path, "b.csv", "".join(f"{broker},one,9 TB\n" for broker in range(1, 7)))
    loaded = read_cluster(
        str(path), path.read_text(), path=path, brokers=brokers, log_dirs=sizes_file(tmp_path, orders_0=7)
    )
    assert loaded.state.racks == ("one",)
    sizes = loaded.state.size_bytes
    assert sizes is not None
    by_name = {loaded.state.name(row): int(size) for row, size in enumerate(sizes)}
    assert by_name["orders-0"] == 7
    assert by_name["orders-1"] > 1_000_000_000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "input: not a scenario, not JSON of kafka-reassign-partitions.sh, and not output of"),
        ("localhost:9092 (id: 1 rack: az1) -> (", "input: not a scenario, not JSON"),
        ("cluster: {brokers: 3}\nclient: 3\n", "input:"),
        (ASSIGNMENT.replace("[1, 2]", "[1, 1]"), "input:3: partitions[1].replicas has a duplicate broker"),
        (ASSIGNMENT.replace("]}\n", ""), "input:3: invalid JSON: Expecting ',' delimiter"),
        (ASSIGNMENT.replace("1,", "2,", 1), "input:1: version is not 1;"),
        (DESCRIPTION.replace("Replicas: 1,2", "Replicas: 1,1"), "input:2: Replicas: duplicate broker in '1,1'"),
        (DESCRIPTION.replace("Leader: 2", "Leader: 9"), "input:1: orders-0: leader 9 is not a replica"),
        (
            DESCRIPTION.replace("Isr: 2", "Isr: 2\tAdding Replicas: 2\tRemoving Replicas: "),
            "input:1: orders-0 is being reassigned; describe it again after the reassignment",
        ),
    ],
    ids=[
        *("empty", "broker list", "invalid scenario", "duplicate broker", "truncated", "version"),
        *("duplicate described broker", "leader", "being reassigned"),
    ],
)  # fmt: skip
def test_malformed_input_is_rejected_with_its_line(text: str, message: str) -> None:
    assert rejection(text).startswith(message)


def test_mistakes_in_broker_and_size_files_name_the_file(tmp_path: Path) -> None:
    brokers = write_file(tmp_path, "b.csv", "1,az1\n1,az2\n")
    assert rejection(ASSIGNMENT, brokers=brokers) == f"{brokers}:2: duplicate broker 1 (first in line 1)"
    assert rejection(ASSIGNMENT, brokers=tmp_path / "no.csv") == f"{tmp_path / 'no.csv'}: no such file"
    sizes = sizes_file(tmp_path, orders_0=10)
    assert (
        rejection(ASSIGNMENT, log_dirs=sizes) == f"{sizes}: no size of orders-1; the file must contain every partition"
    )


CONFIGURED = DESCRIPTION.replace("Configs: \n", "Configs: retention.ms=3600000,retention.bytes=1000,segment.bytes=5\n")


def test_description_gives_retention_or_kafkas_defaults() -> None:
    assert read_cluster("input", CONFIGURED).state.retention == (TopicRetention(ms=3_600_000, bytes=1_000),)
    assert read_cluster("input", DESCRIPTION).state.retention == (TopicRetention(),)
    assert read_cluster("input", ASSIGNMENT).state.retention is None
    compacted = DESCRIPTION.replace("Configs: \n", "Configs: cleanup.policy=compact\n")
    assert read_cluster("input", compacted).state.retention == (TopicRetention(None, None, is_compacted=True),)


def test_invalid_retention_is_rejected_with_its_line() -> None:
    text = DESCRIPTION.replace("Configs: \n", "Configs: retention.ms=week\n")
    assert rejection(text) == "input:1: topic 'orders': retention.ms=week is not an integer"


def test_description_gives_in_sync_replicas() -> None:
    state = read_cluster("input", DESCRIPTION).state
    assert state.in_sync is not None
    assert state.in_sync.tolist() == [[False, True], [False, False]]
    whole = DESCRIPTION.replace("Isr: 2", "Isr: 2,1").replace("Isr: \n", "Isr: 1,3\n")
    assert read_cluster("input", whole).state.in_sync is None
    assert read_cluster("input", ASSIGNMENT).state.in_sync is None


CAPABLE = (
    "cluster:\n"
    "  brokers: [{id: 1, rack: a, capacity: 4 TB, throughput: 200 MB/s}, {id: 2, rack: b}]\n"
    "  topics:\n"
    "    - {name: t, partitions: 1, size: 5 GB, configs: {retention.ms: 1h, retention.bytes: -1}}\n"
    "    - {name: idle, partitions: 1, size: 5 GB, bytes_per_s: 0}\n"
    "    - {name: busy, partitions: 1, bytes_per_s: 1 MB/s, configs: {cleanup.policy: 'compact,delete'}}\n"
    "application: {id: app, subtopologies: [{id: 0, sources: [t, idle, busy], stores: [{name: s, size: 1 GB}]}]}\n"
    "clients: [{name: c}]\n"
)


def test_scenario_gives_capacities_retention_and_unknown_rates() -> None:
    state = read_cluster("input", CAPABLE).state
    assert [broker.capacity_bytes for broker in state.brokers] == [4 * 10**12, None]
    assert [broker.capacity_bytes_per_s for broker in state.brokers] == [2 * 10**8, None]
    assert state.bytes_per_s is not None
    assert state.retention is not None
    assert dict(zip(state.topics, state.bytes_per_s.tolist(), strict=True)) == {
        "t": UNKNOWN_RATE,
        "idle": 0,
        "busy": 1_000_000,
        "app-s-changelog": UNKNOWN_RATE,
    }
    assert dict(zip(state.topics, state.retention, strict=True)) == {
        "t": TopicRetention(ms=3_600_000),
        "idle": TopicRetention(),
        "busy": TopicRetention(is_compacted=True),
        "app-s-changelog": TopicRetention(None, None, is_compacted=True),
    }


def test_brokers_of_a_pool_have_equal_capacities() -> None:
    text = CAPABLE.replace(
        "[{id: 1, rack: a, capacity: 4 TB, throughput: 200 MB/s}, {id: 2, rack: b}]",
        "{count: 3, capacity: 1 TB, throughput: 10 MB/s}",
    )
    brokers = read_cluster("input", text).state.brokers
    assert {(broker.capacity_bytes, broker.capacity_bytes_per_s) for broker in brokers} == {(10**12, 10**7)}


@pytest.mark.parametrize(
    ("configs", "expected"),
    [
        ("retention.ms: -2", "retention.ms: -2 is negative (use -1 for no limit)"),
        ("cleanup.policy: shred", "cleanup.policy: 'shred' is not a cleanup.policy of Kafka"),
        ("retention: 1h", "retention: unknown key (did you mean 'retention.ms'?)"),
    ],
)
def test_invalid_topic_configs_are_rejected_with_their_path(configs: str, expected: str) -> None:
    message = rejection(CAPABLE.replace("retention.ms: 1h, retention.bytes: -1", configs))
    assert message.startswith(f"input:4: cluster.topics[0].configs.{expected}")


def test_imported_broker_file_gives_capacities(tmp_path: Path) -> None:
    write_file(tmp_path, "brokers.csv", "1,a,4 TB,200 MB/s\n2,b,3 TB\n")
    start = CAPABLE.index("  brokers:")
    text = CAPABLE[:start] + "  from: {brokers: brokers.csv}\n" + CAPABLE[CAPABLE.index("  topics:") :]
    path = write_file(tmp_path, "s.yaml", text)
    brokers = read_cluster("input", text, path=path).state.brokers
    assert [(broker.capacity_bytes, broker.capacity_bytes_per_s) for broker in brokers] == [
        (4 * 10**12, 2 * 10**8),
        (3 * 10**12, None),
    ]


def test_without_isr_all_replicas_are_in_sync() -> None:
    text = DESCRIPTION.replace("\tIsr: 2", "").replace("\tIsr: ", "")
    loaded = read_cluster("input", text)
    assert loaded.state.in_sync is None
    assert not any("in sync" in remark for remark in loaded.remarks)
