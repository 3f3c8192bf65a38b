"""Capture of a past night: two real groups, one of each protocol, through crashes, a lost disk, a newcomer and a leave.

`python -m tests.kafka_cluster night DIR` writes the segments of `__consumer_offsets` that have the groups, what Kafka's
tools print about them, the output of the tools that describe the cluster, and the logs of the applications: the example
of docs/how-to/explain-a-past-night.md, and the test data of `scenarios.kafka.formats.coordinator_records`.
"""

from __future__ import annotations

import gzip
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from scenarios.kafka.formats.coordinator_records import partition_of_group
from tests.kafka_cluster.applications import CLOSE_CONFIG, Host, Hosts, describe_topology, prepare
from tests.kafka_cluster.cluster import KafkaCluster
from tools.java import find_main_class

CLASSIC, STREAMS = "shop", "kiosk"
SESSION_MS = 10_000
COMMON: Mapping[str, object] = {
    "num.stream.threads": 2,
    "replication.factor": 1,
    "session.timeout.ms": SESSION_MS,
    "heartbeat.interval.ms": 1_000,
    "auto.offset.reset": "earliest",
    "internal.leave.group.on.close": "true",
    CLOSE_CONFIG: "leave",
}
APPLICATIONS: Mapping[str, Mapping[str, object]] = {
    CLASSIC: {**COMMON, "num.standby.replicas": 1},
    STREAMS: {**COMMON, "group.protocol": "streams"},
}
BROKER_CONFIGS: Mapping[str, object] = {"group.min.session.timeout.ms": 1_000}
STREAMS_BROKER_CONFIGS: Mapping[str, object] = {
    "group.streams.heartbeat.interval.ms": 1_000,
    "group.streams.min.heartbeat.interval.ms": 1_000,
    "group.streams.session.timeout.ms": SESSION_MS,
    "group.streams.min.session.timeout.ms": SESSION_MS,
    "group.streams.num.standby.replicas": 1,
}
"""Configs of releases with the streams protocol."""

RACKS = {"one": "az1", "two": "az2", "three": "az3", "four": "az1"}
RECORDS = 500
CRASHES, DOWN_S, PAUSE_S = 3, 4, 22
START_TIMEOUT_S, QUIET_S = 180, 3
TOOL_TIMEOUT_S = 60
LOGGED = (
    "participating in this rebalance",
    "Assigning stateful tasks: ",
    "Decided on assignment: ",
    "Assignment of tasks to nodes: ",
    "stable assignment of tasks",
    "Request joining group due to: ",
    "sending LeaveGroup request",
)
_ENTRY_START = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} ")
SEGMENT = "00000000000000000000.log"
FORMATTER = "org.apache.kafka.tools.consumer.GroupMetadataMessageFormatter"
"""Of the formatters of `kafka-console-consumer.sh`, the only one that prints records about groups."""


def applications_on(kafka_version: str) -> Mapping[str, Mapping[str, object]]:
    """Return the applications that a release supports: streams groups need Kafka 4.2."""
    has_streams_groups = tuple(map(int, kafka_version.split(".")[:2])) >= (4, 2)
    return {name: configs for name, configs in APPLICATIONS.items() if has_streams_groups or name == CLASSIC}


def broker_configs_on(kafka_version: str) -> Mapping[str, object]:
    """Return the configs of the brokers."""
    return {**BROKER_CONFIGS, **(STREAMS_BROKER_CONFIGS if STREAMS in applications_on(kafka_version) else {})}


def capture_night(cluster: KafkaCluster, out_dir: Path) -> None:
    """Run the applications through the night and write everything to a folder.

    Raises:
        ClusterError: An application or a tool fails or times out.
    """
    applications = applications_on(cluster.spec.kafka_version)
    out_dir.mkdir(parents=True, exist_ok=True)
    with Hosts(cluster) as hosts:
        prepare(cluster, RECORDS)
        added = {name: hosts.add(name, rack, has_random_ids=name == "two") for name, rack in list(RACKS.items())[:3]}
        for host in added.values():
            host.start(applications)
            _settle(hosts, applications)
        for _ in range(CRASHES):
            added["three"].kill()
            time.sleep(DOWN_S)
            added["three"].start(applications)
            time.sleep(PAUSE_S)
        added["two"].stop()
        added["two"].remove_state()
        added["two"].start(applications)
        _settle(hosts, applications)
        newcomer = hosts.add("four", RACKS["four"])
        newcomer.start(applications)
        _settle(hosts, applications)
        added["one"].stop()
        _settle(hosts, applications)
        _write_all(cluster, [*added.values(), newcomer], applications, out_dir)


def _settle(hosts: Hosts, applications: Mapping[str, object]) -> None:
    hosts.wait_until("all tasks run, and nothing changes", lambda: _is_quiet(hosts, applications), START_TIMEOUT_S)


def _is_quiet(hosts: Hosts, applications: Mapping[str, object]) -> bool:
    since_ms = round((time.time() - QUIET_S) * 1_000)
    histories = [host.task_history(application) for application in applications for host in hosts.running()]
    return all(
        history and history[-1].state == "RUNNING" and history[-1].active and history[-1].at_ms < since_ms
        for history in histories
    )


def _write_all(cluster: KafkaCluster, hosts: Sequence[Host], groups: Mapping[str, object], out_dir: Path) -> None:
    texts = {
        "topics.txt": cluster.run_tool("TopicCommand", "--describe"),
        "brokers.txt": cluster.run_tool("BrokerApiVersionsCommand"),
        "log_dirs.json.txt": cluster.run_tool("LogDirsCommand", "--describe"),
        "topology.txt": describe_topology(cluster),
        **{f"shop-{host.name}.log": "".join(entries(host.log.read_text(errors="replace"))) for host in hosts},
    }
    for name, text in texts.items():
        (out_dir / name).write_text(without_folders(text))
    for group in groups:
        segment = segment_of(cluster, group)
        (out_dir / f"{segment.parent.name}.log.gz").write_bytes(packed(segment.read_bytes()))
    for name, text in printed_records(cluster, tuple(groups)).items():
        (out_dir / f"{name}.gz").write_bytes(packed(without_folders(text).encode()))


def segment_of(cluster: KafkaCluster, group: str) -> Path:
    """Return the segment of `__consumer_offsets` that has a group, on the first broker that has it."""
    partition = f"__consumer_offsets-{partition_of_group(group)}"
    return min(cluster.data_dir.glob(f"broker-*/{partition}/{SEGMENT}"))


def printed_records(cluster: KafkaCluster, groups: Sequence[str]) -> dict[str, str]:
    """Return what Kafka's tools print about the groups, by file name."""
    dump = find_main_class(cluster.classpath, "DumpLogSegments")
    printed = {
        f"{group}.dump.txt": cluster.run_main(
            dump, "--offsets-decoder", "--files", str(segment_of(cluster, group)), timeout_s=TOOL_TIMEOUT_S
        )
        for group in groups
    }
    options = ("--topic", "__consumer_offsets", "--from-beginning", "--timeout-ms", "8000", "--formatter", FORMATTER)
    printed["console-consumer.jsonl"] = cluster.run_tool("ConsoleConsumer", *options)
    return printed


def entries(log: str) -> Iterator[str]:
    """Yield the entries of a client's log at INFO from which an incident is explained, with all their lines.

    They are the leaders' assignments, the states before them, and reasons to join again or leave.
    """
    is_wanted = False
    for line in log.splitlines(keepends=True):
        if _ENTRY_START.match(line):
            is_wanted = " INFO " in line and any(part in line for part in LOGGED)
        if is_wanted:
            yield line


def packed(content: bytes) -> bytes:
    """Return bytes that gzip unpacks; equal content gives equal bytes."""
    return gzip.compress(content, mtime=0)


def without_folders(text: str) -> str:
    """Return a text without the folders of the machine."""
    return re.sub(r"/[\w./-]*kafka-cluster-[0-9a-f]{8}", "/var/kafka", text)
