"""A real in-sync replica that fetches less than is produced leaves the ISR and joins it again as simulated."""

from __future__ import annotations

import socket
import threading
import time
import warnings
from collections.abc import Iterator
from typing import Final

import pytest

from assignors.kafka_releases import BROKERS
from simulator.world.disturbances import TrafficChange
from tests.kafka_cluster.cluster import CONTROLLER_ID, ClusterSpec, KafkaCluster
from tests.simulator.brokers.lagging_world import SECOND, clicks, isr_changes

with warnings.catch_warnings():
    # On Python 3.11 and 3.12 kafka-python reads its own files with a deprecated function.
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka
    from kafka.admin import KafkaAdminClient

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

RELEASE: Final = BROKERS["4.4"]
REPLICATION, RATE, RECORD = 500_000, 1_500_000, 10_000
"""Bytes per second that the follower fetches and that are produced, and bytes of a record."""
PRODUCE_S, LAG_S = 25, 6
WAIT_S = 150


class LimitedCluster(KafkaCluster):
    """A cluster in which brokers fetch from each other through a relay that forwards REPLICATION bytes per second."""

    def __init__(self, spec: ClusterSpec) -> None:
        super().__init__(spec)
        self._relays = {broker: Relay() for broker in range(1, spec.brokers + 1)}

    def close_relays(self) -> None:
        """Close the relays, without which brokers cannot fetch from each other."""
        for relay in self._relays.values():
            relay.close()

    def _config(self, node_id: int) -> dict[str, object]:
        config = super()._config(node_id)
        if node_id == CONTROLLER_ID:
            return config
        relay, clients = self._relays[node_id], config["listeners"]
        return config | {
            "listeners": f"{clients},BROKERS://localhost:{relay.broker_port}",
            "advertised.listeners": f"{clients},BROKERS://localhost:{relay.port}",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,BROKERS:PLAINTEXT",
            "inter.broker.listener.name": "BROKERS",
        }


class Relay:
    """Forwards connections to a broker, and what the broker sends at a limited rate."""

    def __init__(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.broker_port = int(free.getsockname()[1])
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._server.getsockname()[1])
        self._lock, self._free_s = threading.Lock(), time.monotonic()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Accept no more connections; those that are open end with the brokers."""
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()

    def _accept(self) -> None:
        while True:
            try:
                fetcher = self._server.accept()[0]
            except OSError:  # It is closed.
                return
            try:
                broker = socket.create_connection(("127.0.0.1", self.broker_port))
            except OSError:
                fetcher.close()
                continue
            for source, target, is_limited in ((fetcher, broker, False), (broker, fetcher, True)):
                threading.Thread(target=self._forward, args=(source, target, is_limited), daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket, is_limited: bool) -> None:
        try:
            while sent := source.recv(16_384):
                if is_limited:
                    with self._lock:
                        self._free_s = max(self._free_s, time.monotonic()) + len(sent) / REPLICATION
                        wait_s = self._free_s - time.monotonic()
                    time.sleep(max(0.0, wait_s))
                target.sendall(sent)
        except OSError:
            pass
        finally:
            source.close()
            target.close()


@pytest.fixture(scope="module")
def cluster() -> Iterator[KafkaCluster]:
    configs = {"replica.lag.time.max.ms": LAG_S * SECOND}
    with LimitedCluster(ClusterSpec(brokers=2, kafka_version=RELEASE, broker_configs=configs)) as running:
        yield running
        running.close_relays()


def isr_changes_of(
    cluster: KafkaCluster, topic: str, acks: int | str, min_in_sync: int
) -> list[tuple[float, tuple[int, ...]]]:
    """Produce to a new topic, led by broker 1; return the seconds at which its ISR changed, each with the new one."""
    with KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers) as admin:
        config = {"min.insync.replicas": str(min_in_sync)}
        admin.create_topics({topic: {"assignments": {0: [1, 2]}, "configs": config}}, wait_for_metadata=True)
        producer = kafka.KafkaProducer(
            bootstrap_servers=cluster.bootstrap_servers, acks=acks, batch_size=100_000, enable_idempotence=False
        )
        isrs: list[tuple[float, tuple[int, ...]]] = [(0.0, (1, 2))]
        begin_s, sent = time.monotonic(), 0
        while (passed_s := time.monotonic() - begin_s) < WAIT_S:
            while sent < RATE * min(passed_s, PRODUCE_S):
                producer.send(topic, bytes(RECORD), partition=0)
                sent += RECORD
            isr = tuple(sorted(admin.describe_topics([topic])[0]["partitions"][0]["isr_nodes"]))
            if isr != isrs[-1][1]:
                isrs.append((passed_s, isr))
            if passed_s > PRODUCE_S and (min_in_sync == 2 or len(isrs) > 2):
                break
            time.sleep(0.1)
        producer.close(timeout=WAIT_S)
    return isrs[1:]


def test_producers_that_wait_for_the_follower_keep_it_in_sync(cluster: KafkaCluster) -> None:
    """This test is first: what the others produce lets their followers lag, which takes fetches from this one."""
    assert isr_changes_of(cluster, "acknowledged", acks="all", min_in_sync=2) == []


def test_follower_leaves_and_joins_as_predicted(cluster: KafkaCluster) -> None:
    built = clicks(TrafficChange(PRODUCE_S * SECOND, 0.0), duration_s=600, lag_s=LAG_S, rate=RATE)
    [_, predicted_join] = isr_changes(built)
    [left, joined] = isr_changes_of(cluster, "unacknowledged", acks=1, min_in_sync=1)
    assert left[1] == (1,)
    assert LAG_S < left[0] < 1.5 * LAG_S + 2
    # The producer and the relay are slower than their rates on a busy machine.
    assert joined[1] == (1, 2)
    assert 0.95 < joined[0] / predicted_join[0] < 2


def test_below_the_minimum_isr_the_follower_joins_with_its_next_fetch(cluster: KafkaCluster) -> None:
    changes = isr_changes_of(cluster, "minimum", acks=1, min_in_sync=2)
    left, joined = changes[::2], changes[1::2]
    assert len(left) > 1
    out_s = [after_s - before_s for (before_s, _), (after_s, _) in zip(left, joined, strict=False)]
    assert min(out_s) < LAG_S / 2, "it is out for a fetch; the next check follows after half the time"
