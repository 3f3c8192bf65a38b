"""Capture of a rebalance storm: a real group in which one client is killed and restarted again and again.

`python -m tests.kafka_cluster storm DIR` writes the output of Kafka's tools and the logs of the group's leaders, the
example of docs/how-to/diagnose-a-rebalance-storm.md.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

from scenarios.kafka.formats.logs import RELEVANT_LINE, parse_rebalances
from tests.kafka_cluster.applications import Hosts, describe_topology, prepare
from tests.kafka_cluster.cluster import KafkaCluster

APPLICATION = "shop"
CONFIGS = {
    "num.stream.threads": 2,
    "num.standby.replicas": 1,
    "replication.factor": 2,
    "auto.offset.reset": "earliest",
    "commit.interval.ms": 1_000,
}
"""Kafka's defaults, except that the state has a standby; in particular a session timeout of 45 s."""
STABLE, CRASHING = ("one", "two"), "three"
RACKS = ("az1", "az2", "az3")
RECORDS = 500
START_TIMEOUT_S = 180
CRASHES, DOWN_S, UP_S = 5, 10, 65

_ENTRY_START = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} ")


def capture_storm(cluster: KafkaCluster, out_dir: Path) -> None:
    """Start three clients, kill and restart one of them repeatedly, and write the output of Kafka's tools and the logs.

    Raises:
        ClusterError: The application or a tool fails or times out.
    """
    with Hosts(cluster) as hosts:
        prepare(cluster, RECORDS)
        added = {name: hosts.add(name, rack) for name, rack in zip((*STABLE, CRASHING), RACKS, strict=True)}
        for host in added.values():
            host.start({APPLICATION: CONFIGS})
        hosts.wait_until("all clients run", lambda: _all_run(hosts), START_TIMEOUT_S)
        for _ in range(CRASHES):
            time.sleep(UP_S)
            added[CRASHING].kill()
            time.sleep(DOWN_S)
            added[CRASHING].start({APPLICATION: CONFIGS})
        time.sleep(UP_S)
        texts = {
            "topics.txt": cluster.run_tool("TopicCommand", "--describe"),
            "brokers.txt": cluster.run_tool("BrokerApiVersionsCommand"),
            "log_dirs.json.txt": cluster.run_tool("LogDirsCommand", "--describe"),
            "topology.txt": describe_topology(cluster),
        }
        logs = {f"shop-{name}.log": host.log.read_text(errors="replace") for name, host in added.items()}
    entries = {name: "".join(assignor_entries(log)) for name, log in logs.items()}
    texts |= {name: log for name, log in entries.items() if re.search(RELEVANT_LINE, log)}
    out_dir.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (out_dir / name).write_text(text)
        print(f"{out_dir / name}: {len(text.splitlines())} lines", flush=True)
    print(f"{len(parse_rebalances(''.join(entries.values())))} rebalances")


def assignor_entries(log: str) -> Iterator[str]:
    """Yield the entries of a client's log that `StreamsPartitionAssignor` wrote at INFO, with all their lines."""
    is_wanted = False
    for line in log.splitlines(keepends=True):
        if _ENTRY_START.match(line):
            is_wanted = " INFO " in line and "StreamsPartitionAssignor" in line
        if is_wanted:
            yield line


def _all_run(hosts: Hosts) -> bool:
    histories = [host.task_history(APPLICATION) for host in hosts.running()]
    return all(history and history[-1].state == "RUNNING" and history[-1].active for history in histories)
