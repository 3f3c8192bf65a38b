"""A real group leader that cannot fetch the end offsets of changelogs behaves as simulated."""

from __future__ import annotations

import re
from datetime import datetime

import pytest

from simulator.processes.classic_protocol import API_TIMEOUT_MS
from tests.fidelity.applications import BROKER_CONFIGS, COMMON
from tests.kafka_cluster.applications import Host, Hosts, prepare
from tests.kafka_cluster.cluster import ClusterSpec, KafkaCluster

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

APPLICATION = "clicks"
CONFIGS = {**COMMON, "num.stream.threads": 1, "replication.factor": 1}
FALLS_BACK = "Failed to fetch end offsets for changelogs, will return previous assignment"
GIVES_UP = "Failed to retrieve all end offsets for changelogs"
ASKS = "Request joining group due to"
FOLLOWS_UP = "a followup rebalance will be scheduled"
TOLERANCE_S = 5


def logged_s(host: Host, text: str, before_s: float | None = None) -> float:
    """Return the time at which the host logged a text first; with `before_s`, the last time before that."""
    lines = [line for line in host.log.read_text(errors="replace").splitlines() if text in line]
    times = [datetime.fromisoformat(match[0]).timestamp() for line in lines if (match := re.match(r"\S+ \S+", line))]
    return times[0] if before_s is None else max(at_s for at_s in times if at_s < before_s)


def is_running(host: Host) -> bool:
    task_history = host.task_history(APPLICATION)
    return bool(task_history) and task_history[-1].state == "RUNNING" and task_history[-1].running_threads == 1


def test_leader_without_end_offsets_keeps_previous_assignment() -> None:
    configs = {**BROKER_CONFIGS, "default.replication.factor": 2}
    with KafkaCluster(ClusterSpec(brokers=2, broker_configs=configs)) as cluster, Hosts(cluster) as hosts:
        prepare(cluster, records=0)
        host = hosts.add("one", "az1")
        host.start({APPLICATION: CONFIGS})
        hosts.wait_until("the application runs", lambda: is_running(host), 120)
        before = host.task_history(APPLICATION)[-1].active
        assert before
        # Each changelog has one replica, on one of two brokers; without the broker, its rack disappears from the
        # metadata, and the member rejoins by itself.
        cluster.kill_broker(2)
        hosts.wait_until("the leader falls back", lambda: FOLLOWS_UP in host.log.read_text(errors="replace"), 180)
        gave_up_s = logged_s(host, GIVES_UP)
        assert abs(gave_up_s - logged_s(host, ASKS, gave_up_s) - API_TIMEOUT_MS / 1000) < TOLERANCE_S
        assert logged_s(host, FALLS_BACK) >= gave_up_s
        assert host.task_history(APPLICATION)[-1].active == before
