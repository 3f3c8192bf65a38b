"""Hosts that run applications (`Host.java`) on a running cluster."""

import json
import shutil
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from pathlib import Path
from typing import Self

from assignors.java.hash_order import DEFAULT_CAPACITY, bucket, process_hash
from assignors.model.ids import ProcessId
from tests.kafka_cluster.cluster import KafkaCluster
from tools.java import ClusterError, start_java, stop_java, tail

HOST = "assignorsim.Host"
TOPOLOGY = "assignorsim.ClickTopology"
TABLE_TOPOLOGY = "assignorsim.TableTopology"
TABLE_CONFIG = "assignorsim.table"
"""Config of `Host.java`: name of the table's topic, for an application that only keeps a table."""
CLOSE_CONFIG = "assignorsim.close"
"""Config of `Host.java`: `leave` or `default`."""
RESTORED = "restored"
HEAP_MB = 128
STOP_TIMEOUT_S = 30
PREPARE_TIMEOUT_S = 60
FILL_TIMEOUT_S = 300
POLL_INTERVAL_S = 0.1
MAX_SAMPLE_MS = 500
"""Longer than the time between two reports of records, and shorter than that until another copy is restored."""
RACK_TAG = "zone"
"""Client tag with the rack of the host."""
LEADER_LOG_OPTION = (
    "-Dorg.slf4j.simpleLogger.log.org.apache.kafka.streams.processor.internals.StreamsPartitionAssignor=debug"
)
"""JVM option: at DEBUG a group leader logs the state of its clients before an assignment."""


@dataclass(frozen=True, slots=True)
class TableTopic:
    """A topic that applications read as a table: one stateful task and one store per partition.

    Attributes:
        topic: Name of the topic.
        partitions: Number of partitions.
        records: Number of records, all with different keys.
        value_bytes: Size of each record's value.
        replicas: Replicas of each partition.
    """

    topic: str
    partitions: int
    records: int
    value_bytes: int
    replicas: int = 1


@dataclass(frozen=True, slots=True)
class HostTasks:
    """Tasks of an application on one host, as reported by the application.

    Attributes:
        at_ms: Start time of this state, since 1970.
        state: State of the Kafka Streams client, such as `RUNNING`.
        running_threads: Number of running stream threads.
        active: Active tasks.
        standby: Standby tasks.
    """

    at_ms: int
    state: str
    running_threads: int
    active: frozenset[str]
    standby: frozenset[str]


class Host:
    """A Java process with applications, in a rack; it keeps its disk when it stops and can be restarted.

    Attributes:
        name: Name in messages.
        rack: `client.rack` of its applications, and their only client tag.
        process: The process; None while it is stopped.
    """

    def __init__(
        self, cluster: KafkaCluster, name: str, rack: str, number: int, *, has_random_ids: bool = False
    ) -> None:
        self._cluster = cluster
        self._number = number
        self._has_random_ids = has_random_ids
        self._folder = cluster.work_dir / "hosts" / name
        self._starts = 0
        self._is_removed = False
        self.name = name
        self.rack = rack
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, applications: Mapping[str, Mapping[str, object]]) -> None:
        """Start the host with applications, given as Kafka Streams configs by application id.

        Raises:
            ClusterError: The host is already running, or was removed.
        """
        if self.process is not None or self._is_removed:
            raise ClusterError(f"host {self.name} is {'removed' if self._is_removed else 'already running'}")
        self._folder.mkdir(parents=True, exist_ok=True)
        self._starts += 1
        files = [self._write(application, configs) for application, configs in applications.items()]
        with self._task_log.open("ab") as output:
            self.process = start_java(
                self._cluster.classpath,
                HOST,
                list(map(str, files)),
                cwd=self._folder,
                log=self.log,
                heap_mb=HEAP_MB,
                output=output,
                options=(LEADER_LOG_OPTION,),
            )

    def stop(self) -> None:
        """Close the applications and stop the process."""
        if self.process is not None:
            stop_java([self.process], STOP_TIMEOUT_S)
            self.process = None

    def kill(self) -> None:
        """Kill the process."""
        if self.process is not None:
            self.process.kill()
            stop_java([self.process], STOP_TIMEOUT_S)
            self.process = None

    @property
    def log(self) -> Path:
        """Path of the applications' log."""
        return self._folder / "host.log"

    def process_id(self, application: str) -> str:
        """Return the process id of an application on this host; it is created at the first call.

        The ids of the first 16 hosts fall into different bins of Kafka's hash maps. Within a bin, the order depends on
        member ids, which clients draw at random, and the sticky assignors break ties by that order. A host with random
        ids draws them as Kafka does (`UUID.randomUUID`).
        """
        file = self._folder / "state" / application / "kafka-streams-process-metadata"
        if not file.exists():
            file.parent.mkdir(parents=True)
            # The file in which Kafka stores it: StateDirectory.initializeProcessId.
            candidates = (uuid.uuid5(uuid.NAMESPACE_URL, f"{self.name}/{application}/{i}") for i in count())
            chosen = next(id for id in candidates if _bin(id) == 7 * self._number % DEFAULT_CAPACITY)
            process_id = uuid.uuid4() if self._has_random_ids else chosen
            file.write_text(json.dumps({"processId": str(process_id)}))
        return str(json.loads(file.read_text())["processId"])

    def task_history(self, application: str) -> list[HostTasks]:
        """Return the tasks of an application on this host since its last start, one entry per change."""
        history = []
        for fields in _read_fields(self._task_log):
            if len(fields) == 6 and fields[1] == application:
                at_ms, _, state, threads, active, standby = fields
                history.append(HostTasks(int(at_ms), state, int(threads), _tasks(active), _tasks(standby)))
        return history

    def restored_records(self, application: str, since_ms: int) -> dict[str, int]:
        """Return the records that restore consumers have read since a time, by changelog, over all starts.

        Source: metric `records-consumed-total` of the restore consumers, which begins at 0 again when a client closes
        them (seen with 4.4.0).
        """
        restored: dict[str, int] = {}
        for start in range(1, self._starts + 1):
            last: dict[str, int] = {}
            for fields in _read_fields(self._folder / f"tasks-{start}.tsv"):
                if len(fields) == 5 and fields[1:3] == [application, RESTORED]:
                    at_ms, topic, records = int(fields[0]), fields[3], int(fields[4])
                    before = last.get(topic, 0)
                    if at_ms >= since_ms:
                        restored[topic] = restored.get(topic, 0) + records - (before if before <= records else 0)
                    last[topic] = records
        return restored

    def restore_records_per_s(self, application: str) -> float:
        """Return how many records the restore consumers read in a second while they read any, since the last start.

        Raises:
            ClusterError: They have read none.
        """
        rows = [fields for fields in _read_fields(self._task_log) if fields[1:3] == [application, RESTORED]]
        samples = [(int(fields[0]), int(fields[4])) for fields in rows]
        read = [
            (later_ms - at_ms, more - records)
            for (at_ms, records), (later_ms, more) in pairwise(samples)
            if more > records and later_ms - at_ms <= MAX_SAMPLE_MS
        ]
        if not read:
            raise ClusterError(f"{self.name}: {application} has not restored anything")
        return 1_000 * sum(records for _, records in read) / sum(ms for ms, _ in read)

    def last_restored_ms(self, application: str) -> int | None:
        """Return when the restore consumers of the current process last read records, since 1970; None if never."""
        rows = [fields for fields in _read_fields(self._task_log) if fields[1:3] == [application, RESTORED]]
        return int(rows[-1][0]) if rows else None

    def remove(self) -> None:
        """Prevent further starts."""
        self._is_removed = True

    def remove_state(self) -> None:
        """Remove the state of the applications, which may be large; keep the logs."""
        shutil.rmtree(self._folder / "state", ignore_errors=True)

    @property
    def _task_log(self) -> Path:
        return self._folder / f"tasks-{self._starts}.tsv"

    def _write(self, application: str, configs: Mapping[str, object]) -> Path:
        self.process_id(application)
        own = {
            "application.id": application,
            "bootstrap.servers": self._cluster.bootstrap_servers,
            "state.dir": self._folder / "state",
            "client.id": f"{application}-{self.name}",
            "client.rack": self.rack,
            f"client.tag.{RACK_TAG}": self.rack,
        }
        file = self._folder / f"{application}.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in {**own, **configs}.items()))
        return file


class Hosts:
    """The hosts of one cluster, as a context manager that stops them all."""

    def __init__(self, cluster: KafkaCluster) -> None:
        self._cluster = cluster
        self._hosts: list[Host] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        # First of all, so that no other thread starts a host again.
        for host in self._hosts:
            host.remove()
        stop_java([host.process for host in self._hosts if host.process is not None], STOP_TIMEOUT_S)
        for host in self._hosts:
            host.remove_state()

    def add(self, name: str, rack: str, *, has_random_ids: bool = False) -> Host:
        """Return a new host, which is not started yet; with random process ids instead of chosen ones if asked."""
        self._hosts.append(Host(self._cluster, name, rack, len(self._hosts), has_random_ids=has_random_ids))
        return self._hosts[-1]

    def all(self) -> Sequence[Host]:
        """Return all hosts, including stopped ones."""
        return tuple(self._hosts)

    def running(self) -> Sequence[Host]:
        """Return the running hosts.

        Raises:
            ClusterError: A host exited by itself.
        """
        for host in self._hosts:
            if host.process is not None and host.process.poll() is not None:
                raise ClusterError(
                    f"host {host.name} exited with code {host.process.returncode}; {host.log}:\n{tail(host.log)}"
                )
        return [host for host in self._hosts if host.process is not None]

    def wait_until(self, description: str, condition: Callable[[], bool], timeout_s: float) -> None:
        """Wait until a condition holds; the description is for the error.

        Raises:
            ClusterError: The condition does not hold within `timeout_s` seconds, or a host exits.
        """
        deadline_s = time.monotonic() + timeout_s
        while not condition():
            self.running()
            if time.monotonic() > deadline_s:
                logs = ", ".join(str(host.log) for host in self._hosts)
                raise ClusterError(f"timeout after {timeout_s:g} s: {description}; logs: {logs}")
            time.sleep(POLL_INTERVAL_S)


def prepare(cluster: KafkaCluster, records: int) -> None:
    """Create the topics of the click-counting application and write `records` records to each input topic.

    Raises:
        ClusterError: The program fails.
    """
    cluster.run_main(TOPOLOGY, "prepare", cluster.bootstrap_servers, str(records), timeout_s=PREPARE_TIMEOUT_S)


def prepare_table(cluster: KafkaCluster, table: TableTopic) -> None:
    """Create and fill the topic of a table.

    Raises:
        ClusterError: The program fails.
    """
    numbers = map(str, (table.partitions, table.replicas, table.records, table.value_bytes))
    arguments = ("prepare", cluster.bootstrap_servers, table.topic, *numbers)
    cluster.run_main(TABLE_TOPOLOGY, *arguments, timeout_s=FILL_TIMEOUT_S)


def describe_topology(cluster: KafkaCluster, table: TableTopic | None = None) -> str:
    """Return the output of `Topology.describe()` of the click-counting application, or of a table's application."""
    if table is None:
        return cluster.run_main(TOPOLOGY, "describe", timeout_s=PREPARE_TIMEOUT_S)
    return cluster.run_main(TABLE_TOPOLOGY, "describe", table.topic, timeout_s=PREPARE_TIMEOUT_S)


def _bin(process_id: uuid.UUID) -> int:
    """Return the bin of a process id in a Java HashMap of default capacity."""
    return bucket(process_hash(ProcessId.of(process_id)), DEFAULT_CAPACITY)


def _read_fields(log: Path) -> list[list[str]]:
    """Return the fields of the lines of a task log; none if it does not exist."""
    return [line.split("\t") for line in log.read_text().splitlines()] if log.exists() else []


def _tasks(text: str) -> frozenset[str]:
    return frozenset(text.split(",")) if text else frozenset()
