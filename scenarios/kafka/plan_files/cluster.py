"""The files that describe a cluster, as Kafka's tools would have printed them.

Source: `org.apache.kafka.tools.LogDirsCommand` (sizes); the list of brokers is the one that `importers.broker_table`
reads.
"""

from __future__ import annotations

import json

from assignors.replicas.state import NO_BROKER, ClusterState
from scenarios.kafka.formats.reassignment_writer import reassignment_json

ASSIGNMENT, BROKERS, LOG_DIRS = "assignment.json", "brokers.csv", "log_dirs.json"


def cluster_files(state: ClusterState) -> dict[str, bytes]:
    """Describe a cluster.

    Returns:
        Content by name: who holds what, the brokers that are there and, if sizes are known, the sizes.
    """
    held = (
        (state.partition_id(row), tuple(state.ids[brokers[brokers != NO_BROKER]].tolist()))
        for row, brokers in enumerate(state.replicas)
    )
    texts = {ASSIGNMENT: reassignment_json(held), BROKERS: _brokers_text(state)}
    if state.size_bytes is not None:
        texts[LOG_DIRS] = _log_dirs_text(state, state.size_bytes.tolist())
    return {name: text.encode() for name, text in texts.items()}


def _brokers_text(state: ClusterState) -> str:
    rows = ["id,rack,capacity,throughput"]
    for broker in state.brokers:
        if broker.is_alive:
            known = (broker.id, broker.rack, broker.capacity_bytes, broker.capacity_bytes_per_s)
            rows.append(",".join("" if each is None else str(each) for each in known))
    return "\n".join(rows) + "\n"


def _log_dirs_text(state: ClusterState, sizes: list[int]) -> str:
    by_broker: dict[int, list[dict[str, object]]] = {}
    for row, brokers in enumerate(state.replicas.tolist()):
        entry = {"partition": state.name(row), "size": sizes[row], "offsetLag": 0, "isFuture": False}
        for broker in brokers:
            if broker != NO_BROKER:
                by_broker.setdefault(int(state.ids[broker]), []).append(entry)
    brokers_entry = [
        {"broker": broker, "logDirs": [{"logDir": "/var/lib/kafka", "error": None, "partitions": by_broker[broker]}]}
        for broker in sorted(by_broker)
    ]
    return json.dumps({"version": 1, "brokers": brokers_entry}) + "\n"
