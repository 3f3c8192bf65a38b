"""Topics that are placed badly, and plans carried out on them as docs/how-to/plan-a-reassignment.md says."""

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
from scenarios.kafka.plan_files.files import ELECTION, REASSIGNMENT, ROLLBACK
from tools.kafka_cluster.cluster import KafkaCluster

with warnings.catch_warnings():
    # On Python 3.11 and 3.12 kafka-python reads its own files in a way that was deprecated for a while.
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka
    from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient, OffsetSpec

Placement = Mapping[str, tuple[tuple[int, ...], int]]
"""Broker ids in replica order, and the leader's, by partition."""

THROTTLE_BYTES_PER_S = 20_000_000
DONE_WITHIN_S, LOOKS_EVERY_S = 60, 0.1
RECORDS, RECORD_BYTES = 100, 1_000


@dataclass(frozen=True, slots=True)
class Operator:
    """Who looks after some topics of a cluster with Kafka's tools.

    Attributes:
        cluster: a running one.
        prefix: what the names of the topics begin with.
        folder: for what the tools print, and for plans.
    """

    cluster: KafkaCluster
    prefix: str
    folder: Path

    @property
    def broker_ids(self) -> range:
        """The ids of all brokers."""
        return range(1, self.cluster.spec.brokers + 1)

    def create(self, topics: Mapping[str, Sequence[Sequence[int]]], record_bytes: int = RECORD_BYTES) -> None:
        """Make topics, of which every partition has its replicas where it is said, and put RECORDS in each of them."""
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
        """What `kafka-topics.sh` says of the topics."""
        return self.cluster.run_tool("TopicCommand", "--describe", "--topic", f"{self.prefix}-.*")

    def look(self, brokers: Path) -> ClusterState:
        """The cluster by what `kafka-topics.sh` prints; every replica is in sync.

        Args:
            brokers: what `kafka-broker-api-versions.sh` printed.
        """
        read = read_cluster("kafka-topics.sh --describe", self.describe(), brokers=brokers)
        assert read.remarks == ()
        return read.state

    def write(self, files: Mapping[str, bytes]) -> Path:
        """Write a plan into a folder of its own; returns that."""
        plan = self.folder / "plan"
        for name, content in files.items():
            (plan / name).parent.mkdir(parents=True, exist_ok=True)
            (plan / name).write_bytes(content)
        return plan

    def carry_out(self, plan: Path) -> None:
        """Carry out a plan, batch by batch."""
        for batch in sorted(plan.glob("batch-*")) or [plan]:
            self._reassign(batch / REASSIGNMENT)
            self._elect(batch)

    def time(self, file: Path, throttle_bytes_per_s: int) -> float:
        """Execute a reassignment; returns in how many seconds all new replicas are in sync."""
        with self._admin() as admin, ThreadPoolExecutor() as aside:
            tool = aside.submit(self._execute, file, throttle_bytes_per_s)
            self._await(lambda: bool(admin.list_partition_reassignments()))
            begun_s = time.monotonic()
            self._await(lambda: not admin.list_partition_reassignments())
            took_s = time.monotonic() - begun_s
            tool.result()
        self._verify(file)
        return took_s

    def roll_back(self, plan: Path) -> None:
        """Undo a plan, the last batch first."""
        for batch in sorted(plan.glob("batch-*"), reverse=True) or [plan]:
            self._reassign(batch / ROLLBACK)
            self._elect(batch)

    def end_offsets(self) -> Mapping[kafka.TopicPartition, int]:
        """The offset of the next record of every partition."""
        with self._admin() as admin:
            names = [name for name in admin.list_topics() if name.startswith(f"{self.prefix}-")]
            keys = [
                kafka.TopicPartition(topic["name"], partition["partition_index"])
                for topic in admin.describe_topics(names)
                for partition in topic["partitions"]
            ]
            found = admin.list_partition_offsets(dict.fromkeys(keys, OffsetSpec.LATEST))
        return {key: found[key].offset for key in sorted(found)}

    def throttles(self) -> list[str]:
        """The configs of brokers and of the topics that throttle replication, as `broker 1: name`."""
        with self._admin() as admin:
            kinds = {
                ConfigResourceType.BROKER: [str(broker) for broker in self.broker_ids],
                ConfigResourceType.TOPIC: [n for n in admin.list_topics() if n.startswith(f"{self.prefix}-")],
            }
            asked = [ConfigResource(kind, name) for kind, names in kinds.items() for name in names]
            told = admin.describe_configs(asked)
        return sorted(_throttles(told))

    def _reassign(self, file: Path) -> None:
        """Execute a reassignment with a throttle, and verify until it is done, which takes the throttle away."""
        self._execute(file, THROTTLE_BYTES_PER_S)
        assert self.throttles()
        self._verify(file)

    def _execute(self, file: Path, throttle_bytes_per_s: int) -> None:
        throttle = ["--throttle", str(throttle_bytes_per_s)]
        self.cluster.run_tool(
            "ReassignPartitionsCommand", "--execute", "--reassignment-json-file", str(file), *throttle
        )

    def _verify(self, file: Path) -> None:
        """Verify until every partition is done; the throttle is taken away then."""
        partitions = file.read_text(encoding="utf-8").count('"partition"')

        def is_done() -> bool:
            said = self.cluster.run_tool("ReassignPartitionsCommand", "--verify", "--reassignment-json-file", str(file))
            return len(re.findall(r"^Reassignment of partition \S+ is completed\.$", said, re.MULTILINE)) == partitions

        self._await(is_done)

    def _await(self, holds: Callable[[], bool]) -> None:
        deadline_s = time.monotonic() + DONE_WITHIN_S
        while not holds():
            assert time.monotonic() < deadline_s, f"not within {DONE_WITHIN_S} s"
            time.sleep(LOOKS_EVERY_S)

    def _elect(self, batch: Path) -> None:
        if (batch / ELECTION).exists():
            preferred = ["--election-type", "preferred", "--path-to-json-file", str(batch / ELECTION)]
            self.cluster.run_tool("LeaderElectionCommand", *preferred)

    def _admin(self) -> KafkaAdminClient:
        return KafkaAdminClient(bootstrap_servers=self.cluster.bootstrap_servers)


def placement(state: ClusterState) -> Placement:
    """Who holds and who leads what."""
    held = [tuple(state.ids[row[row != NO_BROKER]].tolist()) for row in state.replicas]
    return {state.name(row): (held[row], int(state.ids[state.leader[row]])) for row in range(state.num_partitions)}


def _throttles(told: Mapping[str, Mapping[str, Mapping[str, object]]]) -> Iterator[str]:
    for kind, resources in told.items():
        for name, configs in resources.items():
            yield from (f"{kind} {name}: {config}" for config in configs if "replication.throttled" in config)
