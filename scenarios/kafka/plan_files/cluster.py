"""A cluster as the files that Kafka's tools would print, for use as input of `assignor-sim plan`."""

from __future__ import annotations

from assignors.replicas.state import NO_BROKER, ClusterState
from scenarios.kafka.formats.broker_list import ListedBroker, broker_csv
from scenarios.kafka.formats.log_dirs import log_dirs_json
from scenarios.kafka.formats.reassignment import reassignment_json

ASSIGNMENT, BROKERS, LOG_DIRS = "assignment.json", "brokers.csv", "log_dirs.json"
_LOG_DIR = "/var/lib/kafka"


def cluster_files(state: ClusterState) -> dict[str, bytes]:
    """Describe a cluster as files.

    Returns content by file name: the assignment of replicas, the brokers that are alive and, if known, the replica
    sizes.
    """
    assignment = (
        (state.partition_id(row), tuple(state.ids[brokers[brokers != NO_BROKER]].tolist()))
        for row, brokers in enumerate(state.replicas)
    )
    alive = (
        ListedBroker(broker.id, broker.rack, broker.capacity_bytes, broker.capacity_bytes_per_s)
        for broker in state.brokers
        if broker.is_alive
    )
    texts = {ASSIGNMENT: reassignment_json(assignment), BROKERS: broker_csv(alive)}
    if state.size_bytes is not None:
        sizes = state.size_bytes.tolist()
        replicas = (
            (int(state.ids[broker]), state.partition_id(row), sizes[row])
            for row, brokers in enumerate(state.replicas.tolist())
            for broker in brokers
            if broker != NO_BROKER
        )
        texts[LOG_DIRS] = log_dirs_json(replicas, _LOG_DIR)
    return {name: text.encode() for name, text in texts.items()}
