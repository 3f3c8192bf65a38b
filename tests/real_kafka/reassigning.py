"""Topics with a bad placement, and the execution of plans for them as in docs/how-to/plan-a-reassignment.md."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from assignors.replicas.state import NO_BROKER, ClusterState
from scenarios.clusters.cluster_reader import read_cluster
from scenarios.kafka.plan_files import ELECTION, REASSIGNMENT, ROLLBACK
from tests.kafka_cluster.cluster import KafkaCluster

with warnings.catch_warnings():
    # On Python 3.11 and 3.12 kafka-python reads its own files with a deprecated function.
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka
    from kafka.admin import ConfigResource, ConfigResourceType, OffsetSpec
    from kafka.admin import KafkaAdminClient as KafkaAdminClient

ReplicasAndLeader = Mapping[str, tuple[tuple[int, ...], int]]
"""Broker ids in replica order, and the leader's, by partition."""

THROTTLE_BYTES_PER_S = 20_000_000
DONE_WITHIN_S, POLL_INTERVAL_S = 60, 0.1
RECORDS, RECORD_BYTES = 100, 1_000


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator who manages topics of a cluster with Kafka's tools.

    Attributes:
        cluster: Running cluster.
        prefix: Prefix of the topic names.
        folder: Folder for tool output and plans.
    """

    cluster: KafkaCluster
    prefix: str
    folder: Path

    @property
    def broker_ids(self) -> range:
        """Return the ids of all brokers."""
        return range(1, self.cluster.spec.brokers + 1)

    def create(self, topics: Mapping[str, Sequence[Sequence[int]]], record_bytes: int = RECORD_BYTES) -> None:
        """Create topics with the given replicas, and write RECORDS records to each partition."""
        with self._admin() as admin:
            admin.create_topics(
                {
                    f"{self.prefix}-{name}": {"assignments": {n: list(ids) for n, ids in enumerate(replicas)}}
                    for name, replicas in topics.items()
                },
                wait_for_metadata=True,
            )
        with kafka.KafkaProducer(bootstrap_servers=self.cluster.bootstrap_servers) as producer:
            for name, replicas in topics.items():
                for partition in range(len(replicas)):
                    for _ in range(RECORDS):
                        producer.send(f"{self.prefix}-{name}", bytes(record_bytes), partition=partition)

    def describe(self) -> str:
        """Return the output of `kafka-topics.sh --describe`."""
        return self.cluster.run_tool("TopicCommand", "--describe", "--topic", f"{self.prefix}-.*")

    def read_cluster_state(self, brokers: Path) -> ClusterState:
        """Return the cluster according to `kafka-topics.sh`; every replica must be in sync.

        Args:
            brokers: File with the output of `kafka-broker-api-versions.sh`.
        """
        imported = read_cluster("kafka-topics.sh --describe", self.describe(), brokers=brokers)
        assert imported.remarks == ()
        return imported.state

    def write(self, files: Mapping[str, bytes]) -> Path:
        """Write the files of a plan; return its folder."""
        plan = self.folder / "plan"
        for name, content in files.items():
            (plan / name).parent.mkdir(parents=True, exist_ok=True)
            (plan / name).write_bytes(content)
        return plan

    def execute(self, plan: Path) -> None:
        """Execute a plan, batch by batch."""
        for batch in sorted(plan.glob("batch-*")) or [plan]:
            self._reassign(batch / REASSIGNMENT)
            self._elect(batch)

    def time(self, file: Path, throttle_bytes_per_s: int) -> float:
        """Execute a reassignment; return the seconds until all new replicas are in sync."""
        with self._admin() as admin, ThreadPoolExecutor() as executor:
            tool = executor.submit(self._execute, file, throttle_bytes_per_s)
            self._await(lambda: bool(admin.list_partition_reassignments()))
            begun_s = time.monotonic()
            self._await(lambda: not admin.list_partition_reassignments())
            took_s = time.monotonic() - begun_s
            tool.result()
        self._verify(file)
        return took_s

    def roll_back(self, plan: Path) -> None:
        """Roll back a plan, the last batch first."""
        for batch in sorted(plan.glob("batch-*"), reverse=True) or [plan]:
            self._reassign(batch / ROLLBACK)
            self._elect(batch)

    def end_offsets(self) -> Mapping[kafka.TopicPartition, int]:
        """Return the log end offset of each partition."""
        with self._admin() as admin:
            names = [name for name in admin.list_topics() if name.startswith(f"{self.prefix}-")]
            keys = [
                kafka.TopicPartition(topic["name"], partition["partition_index"])
                for topic in admin.describe_topics(names)
                for partition in topic["partitions"]
            ]
            offsets = admin.list_partition_offsets(dict.fromkeys(keys, OffsetSpec.LATEST))
        return {key: offsets[key].offset for key in sorted(offsets)}

    def throttles(self) -> list[str]:
        """Return the throttle configs of brokers and topics, as `broker 1: name`."""
        with self._admin() as admin:
            kinds = {
                ConfigResourceType.BROKER: [str(broker) for broker in self.broker_ids],
                ConfigResourceType.TOPIC: [n for n in admin.list_topics() if n.startswith(f"{self.prefix}-")],
            }
            resources = [ConfigResource(kind, name) for kind, names in kinds.items() for name in names]
            configs = admin.describe_configs(resources)
        return sorted(_throttles(configs))

    def _reassign(self, file: Path) -> None:
        """Execute a reassignment with a throttle, and verify it until it completes, which removes the throttle."""
        self._execute(file, THROTTLE_BYTES_PER_S)
        assert self.throttles()
        self._verify(file)

    def _execute(self, file: Path, throttle_bytes_per_s: int) -> None:
        throttle = ["--throttle", str(throttle_bytes_per_s)]
        self.cluster.run_tool(
            "ReassignPartitionsCommand", "--execute", "--reassignment-json-file", str(file), *throttle
        )

    def _verify(self, file: Path) -> None:
        """Verify a reassignment until every partition is complete, which removes the throttle."""
        partitions = file.read_text(encoding="utf-8").count('"partition"')

        def is_done() -> bool:
            output = self.cluster.run_tool(
                "ReassignPartitionsCommand", "--verify", "--reassignment-json-file", str(file)
            )
            return (
                len(re.findall(r"^Reassignment of partition \S+ is completed\.$", output, re.MULTILINE)) == partitions
            )

        self._await(is_done)

    def _await(self, condition: Callable[[], bool]) -> None:
        deadline_s = time.monotonic() + DONE_WITHIN_S
        while not condition():
            assert time.monotonic() < deadline_s, f"not within {DONE_WITHIN_S} s"
            time.sleep(POLL_INTERVAL_S)

    def _elect(self, batch: Path) -> None:
        if (batch / ELECTION).exists():
            preferred = ["--election-type", "preferred", "--path-to-json-file", str(batch / ELECTION)]
            self.cluster.run_tool("LeaderElectionCommand", *preferred)

    def _admin(self) -> KafkaAdminClient:
        return KafkaAdminClient(bootstrap_servers=self.cluster.bootstrap_servers)


def replicas_and_leaders(state: ClusterState) -> ReplicasAndLeader:
    """Return replicas and leader of each partition."""
    replicas = [tuple(state.ids[row[row != NO_BROKER]].tolist()) for row in state.replicas]
    return {state.name(row): (replicas[row], int(state.ids[state.leader[row]])) for row in range(state.num_partitions)}


def _throttles(configs_by_kind: Mapping[str, Mapping[str, Mapping[str, object]]]) -> Iterator[str]:
    for kind, resources in configs_by_kind.items():
        for name, configs in resources.items():
            yield from (f"{kind} {name}: {config}" for config in configs if "replication.throttled" in config)
