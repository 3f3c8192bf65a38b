"""A real Kafka cluster on loopback: one KRaft controller and several brokers in racks, each a small process.

Usage as a library:

    with KafkaCluster(ClusterSpec(brokers=3)) as cluster:
        print(cluster.run_tool("TopicCommand", "--list"))

Usage as a command: `python -m tests.kafka_cluster`.
"""

import base64
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from assignors.kafka_releases import CLIENTS
from tools.artifacts import kafka_cluster
from tools.java import (
    ClusterError,
    build_classpath,
    find_main_class,
    run_java,
    start_java,
    stop_java,
    tail,
)

KAFKA_VERSION = CLIENTS["4.3"]
"""Latest release on Maven Central when the files in scenarios/library/captured were made."""

CONTROLLER_ID = 100
START_TIMEOUT_S = 120
STOP_TIMEOUT_S = 20
TOOL_TIMEOUT_S = 60
STARTED = "Kafka Server started"
INTERRUPTIONS = (KeyboardInterrupt, SystemExit)
_PLAIN, _BEARER = "plain.PlainLoginModule", "oauthbearer.OAuthBearerLoginModule"
FIRST_PORT, LAST_PORT = 20_000, 32_000
"""Below the ephemeral ports, so that no outgoing connection takes a port before its node does."""


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """Specification of a cluster.

    Attributes:
        brokers: Number of brokers; ids start at 1.
        racks: `broker.rack`, assigned round-robin: broker 1 in the first rack, broker 2 in the second, and so on.
        kafka_version: Release of `org.apache.kafka` on Maven Central; tested with 3.9 and later.
        heap_mb: Maximum heap of each broker and of the controller, in MB.
        data_dir: Folder for the data, which must not exist and is removed afterwards; by default a temporary folder.
            Kafka's tools print its path, so choose a readable one if their output is kept.
        broker_configs: Additional or overriding entries of the brokers' `server.properties`.
        controller_configs: Additional entries of the controller's, which checks the configs of groups, for example.
        classes: Jars or class folders on the class path of the brokers, such as those of a custom assignor.
        passwords: Passwords by name of users, for a second listener with SASL: `PLAIN`, and `OAUTHBEARER` with unsigned
            tokens. An authorizer allows them what ACLs grant, and clients of the first listener everything.
    """

    brokers: int = 6
    racks: tuple[str, ...] = ("az1", "az2", "az3")
    kafka_version: str = KAFKA_VERSION
    heap_mb: int = 256
    data_dir: Path | None = None
    broker_configs: Mapping[str, object] = field(default_factory=dict)
    controller_configs: Mapping[str, object] = field(default_factory=dict)
    classes: tuple[Path, ...] = ()
    passwords: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 1 <= self.brokers < CONTROLLER_ID:
            raise ValueError(f"brokers: {self.brokers} is not between 1 and {CONTROLLER_ID - 1}")
        if not self.racks:
            raise ValueError("racks: at least one is required")

    def rack(self, broker_id: int) -> str:
        """Return the rack of the broker."""
        return self.racks[(broker_id - 1) % len(self.racks)]


class KafkaCluster:
    """A running cluster, as a context manager that starts and stops it; logs are kept after a failure.

    Attributes:
        spec: Specification of the cluster.
        bootstrap_servers: `localhost:port` of every broker, separated by commas.
        sasl_bootstrap_servers: The same of the listener for users; empty without users.
        classpath: Java class path with Kafka and the programs of this folder.
        work_dir: Temporary folder with the configuration and log of every node.
        data_dir: Folder with the data of every node.
    """

    def __init__(self, spec: ClusterSpec) -> None:
        self.spec = spec
        self.classpath = build_classpath(kafka_cluster(spec.kafka_version))
        broker_ids = range(1, spec.brokers + 1)
        ports = _free_ports((2 if spec.passwords else 1) * spec.brokers + 1)
        self._ports = dict(zip([CONTROLLER_ID, *broker_ids], ports, strict=False))
        self._sasl_ports = dict(zip(broker_ids, ports[len(self._ports) :], strict=False))
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self.bootstrap_servers = ",".join(f"localhost:{self._ports[broker_id]}" for broker_id in broker_ids)
        self.sasl_bootstrap_servers = ",".join(f"localhost:{port}" for port in self._sasl_ports.values())
        self.work_dir = Path(tempfile.gettempdir()) / f"kafka-cluster-{uuid.uuid4().hex[:8]}"
        self.data_dir = spec.data_dir.absolute() if spec.data_dir else self.work_dir / "data"

    def __enter__(self) -> Self:
        # Outside the `try`: an existing folder must not be removed.
        self.data_dir.mkdir(parents=True)
        try:
            self.work_dir.mkdir(exist_ok=True)
            self._start()
        except BaseException as problem:
            self._end(keep_logs=not isinstance(problem, INTERRUPTIONS))
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end(keep_logs=problem is not None and not isinstance(problem, INTERRUPTIONS))

    @property
    def process_ids(self) -> dict[int, int]:
        """Process id by node id, including the controller."""
        return {node_id: process.pid for node_id, process in self._processes.items()}

    def kill_broker(self, broker_id: int) -> None:
        """Kill a broker without a controlled shutdown; it is not restarted."""
        process = self._processes.pop(broker_id)
        process.kill()
        stop_java([process], STOP_TIMEOUT_S)

    def logs(self) -> list[str]:
        """Return the log of every node."""
        return [self._log(node_id).read_text(errors="replace") for node_id in self._processes]

    def run_tool(self, name: str, *arguments: str, timeout_s: float = TOOL_TIMEOUT_S) -> str:
        """Run a tool of Kafka on this cluster, by the simple name of its class (`TopicCommand`); return its output.

        Raises:
            ClusterError: This release has no such tool, it fails, or it takes longer than `timeout_s` seconds.
        """
        connected = ["--bootstrap-server", self.bootstrap_servers, *arguments]
        return self.run_main(find_main_class(self.classpath, name), *connected, timeout_s=timeout_s)

    def run_main(self, main_class: str, *arguments: str, timeout_s: float, heap_mb: int = 256) -> str:
        """Run a Java program of the class path; return its standard output.

        Raises:
            ClusterError: It fails or takes longer than `timeout_s` seconds.
        """
        return self._run(self.classpath, main_class, arguments, timeout_s=timeout_s, heap_mb=heap_mb)

    def _run(
        self, classpath: str, main_class: str, arguments: Sequence[str], *, timeout_s: float, heap_mb: int = 256
    ) -> str:
        """Run a Java program in the folder of this cluster; return its standard output."""
        log = self.work_dir / f"{main_class.rsplit('.', 1)[-1]}.log"
        return run_java(
            classpath,
            main_class,
            arguments,
            cwd=self.work_dir,
            log=log,
            timeout_s=timeout_s,
            heap_mb=heap_mb,
        )

    def _start(self) -> None:
        """Format every node's folder, start all nodes, and wait until every broker accepts requests."""
        # The leading letter keeps the id from being parsed as an option.
        cluster_id = "A" + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")[1:]
        # It checks configs, so it needs the classes that they name.
        broker_classpath = os.pathsep.join([self.classpath, *map(str, self.spec.classes)])
        storage_tool = find_main_class(self.classpath, "StorageTool")
        for node_id in self._ports:
            config = self.work_dir / f"node-{node_id}.properties"
            config.write_text("".join(f"{key}={value}\n" for key, value in self._config(node_id).items()))
            arguments = ("format", "-t", cluster_id, "-c", str(config))
            self._run(broker_classpath, storage_tool, arguments, timeout_s=TOOL_TIMEOUT_S)
        for node_id in self._ports:
            self._processes[node_id] = start_java(
                broker_classpath,
                "kafka.Kafka",
                [str(self.work_dir / f"node-{node_id}.properties")],
                cwd=self.work_dir,
                log=self._log(node_id),
                heap_mb=self.spec.heap_mb,
            )
        deadline_s = time.monotonic() + START_TIMEOUT_S
        for node_id, process in self._processes.items():
            self._await_started(node_id, process, deadline_s)

    def _await_started(self, node_id: int, process: subprocess.Popen[bytes], deadline_s: float) -> None:
        """Wait until the node logs that it has started.

        Raises:
            ClusterError: The node exits or does not start before the deadline.
        """
        log = self._log(node_id)
        while STARTED not in log.read_text(errors="replace"):
            if process.poll() is not None:
                raise ClusterError(f"node {node_id} exited with code {process.returncode}; {log}:\n{tail(log)}")
            if time.monotonic() > deadline_s:
                raise ClusterError(f"node {node_id} did not start within {START_TIMEOUT_S} s; {log}:\n{tail(log)}")
            time.sleep(0.25)

    def _end(self, *, keep_logs: bool) -> None:
        """Stop the brokers, then the controller, which their shutdown requires; remove the data and maybe the logs."""
        controller = self._processes.pop(CONTROLLER_ID, None)
        stop_java(list(self._processes.values()), STOP_TIMEOUT_S)
        stop_java([controller] if controller else [], STOP_TIMEOUT_S)
        self._processes.clear()
        shutil.rmtree(self.data_dir, ignore_errors=True)
        if keep_logs:
            print(f"Kept the logs of the Kafka nodes in {self.work_dir}", file=sys.stderr)
        else:
            shutil.rmtree(self.work_dir, ignore_errors=True)

    def _log(self, node_id: int) -> Path:
        """Return the path of the node's log."""
        return self.work_dir / f"node-{node_id}.log"

    def _config(self, node_id: int) -> dict[str, object]:
        """Return the node's `server.properties`: Kafka's defaults, except small and on loopback only."""
        is_controller = node_id == CONTROLLER_ID
        name, listener = ("controller", "CONTROLLER") if is_controller else ("broker", "PLAINTEXT")
        common: dict[str, object] = {
            "process.roles": name,
            "node.id": node_id,
            "controller.quorum.voters": f"{CONTROLLER_ID}@localhost:{self._ports[CONTROLLER_ID]}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "listeners": f"{listener}://localhost:{self._ports[node_id]}",
            "log.dirs": self.data_dir / f"{name}-{node_id}",
        }
        if self.spec.passwords:
            common["authorizer.class.name"] = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
            common["super.users"] = "User:ANONYMOUS"
        if is_controller:
            return {**common, **self.spec.controller_configs}
        replicas = min(3, self.spec.brokers)
        return common | {
            "broker.rack": self.spec.rack(node_id),
            "auto.create.topics.enable": "false",
            "offsets.topic.replication.factor": replicas,
            "transaction.state.log.replication.factor": replicas,
            "transaction.state.log.min.isr": 1,
            "group.initial.rebalance.delay.ms": 0,
            "num.io.threads": 4,
            "num.network.threads": 2,
            # The default would use half of the small heap.
            "log.cleaner.dedupe.buffer.size": 8 * 1024 * 1024,
            **(self._sasl_configs(node_id) if self.spec.passwords else {}),
            **self.spec.broker_configs,
        }

    def _sasl_configs(self, broker_id: int) -> dict[str, object]:
        """Return what adds a listener with SASL to a broker's `server.properties`."""
        users = "".join(f' user_{name}="{password}"' for name, password in self.spec.passwords.items())
        plain, bearer = (f"org.apache.kafka.common.security.{name} required" for name in (_PLAIN, _BEARER))
        return {
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT",
            "listeners": f"PLAINTEXT://localhost:{self._ports[broker_id]},SASL://localhost:{self._sasl_ports[broker_id]}",
            "listener.name.sasl.sasl.enabled.mechanisms": "PLAIN,OAUTHBEARER",
            "listener.name.sasl.plain.sasl.jaas.config": f"{plain}{users};",
            "listener.name.sasl.oauthbearer.sasl.jaas.config": f'{bearer} unsecuredLoginStringClaim_sub="broker";',
        }


def _free_ports(count: int) -> list[int]:
    """Return `count` free ports of loopback; the search starts at a different port in each process.

    Raises:
        ClusterError: Fewer ports are free.
    """
    span = LAST_PORT - FIRST_PORT
    ports: list[int] = []
    for step in range(span):
        port = FIRST_PORT + (os.getpid() * 61 + step) % span
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            ports.append(port)
        if len(ports) == count:
            return ports
    raise ClusterError(f"fewer than {count} ports are free between {FIRST_PORT} and {LAST_PORT}")
