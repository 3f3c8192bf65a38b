"""Real Kafka Streams applications on a running cluster: hosts that run the click-counting application (`Host.java`)."""

import json
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Self

from assignors.java.hash_order import DEFAULT_CAPACITY, bucket, process_hash
from assignors.model.ids import ProcessId
from tools.kafka_cluster.cluster import KafkaCluster
from tools.kafka_cluster.java import ClusterError, start_java, stop_java, tail

HOST = "assignorsim.Host"
TOPOLOGY = "assignorsim.ClickTopology"
HEAP_MB = 128
STOP_TIMEOUT_S = 30
PREPARE_TIMEOUT_S = 60
LOOKS_EVERY_S = 0.1
RACK_TAG = "zone"
"""Every host tells its rack by this client tag, too."""
LEADERS_TELL = (
    "-Dorg.slf4j.simpleLogger.log.org.apache.kafka.streams.processor.internals.StreamsPartitionAssignor=debug"
)
"""At DEBUG a group's leader logs what it is shown of its clients."""


@dataclass(frozen=True, slots=True)
class HostTasks:
    """What an application has on one host, as the application itself says.

    Attributes:
        at_ms: since when, in milliseconds of the epoch.
        state: of the client, such as `RUNNING`.
        running_threads: how many of its stream threads run.
        active: its active tasks.
        standby: its standby tasks.
    """

    at_ms: int
    state: str
    running_threads: int
    active: frozenset[str]
    standby: frozenset[str]


class Host:
    """A Java process with applications, in a rack; it keeps its disk when it ends, and may be started again.

    Attributes:
        name: what messages call it.
        rack: `client.rack` of its applications, and their only client tag.
        process: the process, None when it is not there.
    """

    def __init__(self, cluster: KafkaCluster, name: str, rack: str, number: int) -> None:
        self._cluster = cluster
        self._number = number
        self._folder = cluster.work_dir / "hosts" / name
        self._starts = 0
        self.name = name
        self.rack = rack
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, applications: Mapping[str, Mapping[str, object]]) -> None:
        """Start it with these applications: Kafka Streams configs by application id."""
        if self.process is not None:
            raise ClusterError(f"host {self.name} runs already")
        self._folder.mkdir(parents=True, exist_ok=True)
        self._starts += 1
        files = [self._write(application, configs) for application, configs in applications.items()]
        with self._told.open("ab") as told:
            self.process = start_java(
                self._cluster.classpath,
                HOST,
                list(map(str, files)),
                cwd=self._folder,
                log=self.log,
                heap_mb=HEAP_MB,
                output=told,
                options=(LEADERS_TELL,),
            )

    def stop(self) -> None:
        """Ask it to close its applications and to end."""
        if self.process is not None:
            stop_java([self.process], STOP_TIMEOUT_S)
            self.process = None

    def kill(self) -> None:
        """Let it die at once."""
        if self.process is not None:
            self.process.kill()
            stop_java([self.process], STOP_TIMEOUT_S)
            self.process = None

    @property
    def log(self) -> Path:
        """What its applications log."""
        return self._folder / "host.log"

    def process_id(self, application: str) -> str:
        """The process id that an application has, or will have, here; drawn when it is first asked for.

        No two of the first 16 hosts have ids in one bin of Kafka's hash maps: which comes first there hangs on member
        ids, which clients draw at random, and the sticky assignors break ties by it.
        """
        file = self._folder / "state" / application / "kafka-streams-process-metadata"
        if not file.exists():
            file.parent.mkdir(parents=True)
            # Where Kafka keeps it: StateDirectory.initializeProcessId.
            drawn = (uuid.uuid5(uuid.NAMESPACE_URL, f"{self.name}/{application}/{turn}") for turn in count())
            chosen = next(each for each in drawn if _bin(each) == 7 * self._number % DEFAULT_CAPACITY)
            file.write_text(json.dumps({"processId": str(chosen)}))
        return str(json.loads(file.read_text())["processId"])

    def story(self, application: str) -> list[HostTasks]:
        """What an application has had here since the last start, one entry a change."""
        told = []
        for line in self._told.read_text().splitlines() if self._told.exists() else ():
            fields = line.split("\t")
            if len(fields) == 6 and fields[1] == application:
                at_ms, _, state, threads, active, standby = fields
                told.append(HostTasks(int(at_ms), state, int(threads), _tasks(active), _tasks(standby)))
        return told

    @property
    def _told(self) -> Path:
        return self._folder / f"told-{self._starts}.tsv"

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
    """The hosts of one cluster, as a context manager that leaves none running."""

    def __init__(self, cluster: KafkaCluster) -> None:
        self._cluster = cluster
        self._hosts: list[Host] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        running = [host.process for host in self._hosts if host.process is not None]
        stop_java(running, STOP_TIMEOUT_S)

    def add(self, name: str, rack: str) -> Host:
        """One more host, not started yet."""
        self._hosts.append(Host(self._cluster, name, rack, len(self._hosts)))
        return self._hosts[-1]

    def all(self) -> Sequence[Host]:
        """All hosts, those that are not there included."""
        return tuple(self._hosts)

    def running(self) -> Sequence[Host]:
        """The hosts that are there.

        Raises:
            ClusterError: one has ended by itself.
        """
        for host in self._hosts:
            if host.process is not None and host.process.poll() is not None:
                raise ClusterError(
                    f"host {host.name} ended with {host.process.returncode}; {host.log}:\n{tail(host.log)}"
                )
        return [host for host in self._hosts if host.process is not None]

    def wait_until(self, what: str, holds: Callable[[], bool], timeout_s: float) -> None:
        """Wait until something holds.

        Raises:
            ClusterError: it does not within `timeout_s` seconds, or a host ends.
        """
        deadline_s = time.monotonic() + timeout_s
        while not holds():
            self.running()
            if time.monotonic() > deadline_s:
                logs = ", ".join(str(host.log) for host in self._hosts)
                raise ClusterError(f"{what}: not within {timeout_s:g} s; logs: {logs}")
            time.sleep(LOOKS_EVERY_S)


def prepare(cluster: KafkaCluster, records: int) -> None:
    """Create the topics that click counting reads and writes, and write `records` records to each of its inputs.

    Raises:
        ClusterError: that fails.
    """
    cluster.run_main(TOPOLOGY, "prepare", cluster.bootstrap_servers, str(records), timeout_s=PREPARE_TIMEOUT_S)


def describe_topology(cluster: KafkaCluster) -> str:
    """What the application's `Topology.describe()` prints."""
    return cluster.run_main(TOPOLOGY, "describe", timeout_s=PREPARE_TIMEOUT_S)


def _bin(process_id: uuid.UUID) -> int:
    """Where a process id goes in a Java HashMap of the usual size."""
    return bucket(process_hash(ProcessId.of(process_id)), DEFAULT_CAPACITY)


def _tasks(text: str) -> frozenset[str]:
    return frozenset(text.split(",")) if text else frozenset()
