"""The steps that real applications go through on one release, and all that was confirmed on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from tools.fidelity.applications import BROKER_CONFIGS, STREAMS_BROKER_CONFIGS, TESTED_APPLICATIONS, TestedApplication
from tools.fidelity.experiment import Confirmation, Experiment
from tools.kafka_cluster.applications import Host, Hosts, describe_topology, prepare
from tools.kafka_cluster.cluster import ClusterSpec, KafkaCluster

RACKS = ("az1", "az2", "az3")
RECORDS = 2_000
WARMING_UP = "ha-warmup"
"""Probes for minutes after each step, and so has hosts of its own and a play beside that of the others."""

ExperimentStep = Callable[[Experiment, Sequence[Host]], None]

STEPS: tuple[ExperimentStep, ...] = (
    lambda play, hosts: play.begin(hosts[0]),
    lambda play, hosts: play.join(hosts[1]),
    lambda play, hosts: play.join(hosts[2]),
    lambda play, hosts: play.join(hosts[3]),
    lambda play, hosts: play.restart(hosts[1]),
    lambda play, hosts: play.crash(hosts[2]),
    lambda play, hosts: play.black_out(),
)
WARMUP_STEPS: tuple[ExperimentStep, ...] = (
    lambda play, hosts: play.begin(hosts[0]),
    lambda play, hosts: play.join(hosts[1]),
)


def applications_on(kafka_version: str) -> list[TestedApplication]:
    """The applications that a release can run."""
    return [each for each in TESTED_APPLICATIONS if each.runs_on(kafka_version)]


def run_steps(kafka_version: str) -> list[Confirmation]:
    """Start a cluster, let applications live through the steps, and return what was predicted and what came.

    Raises:
        ClusterError: Kafka, Java or Maven did not do what was asked, or an application never came to rest.
    """
    watched = applications_on(kafka_version)
    has_streams_groups = any(each.uses_streams_groups for each in watched)
    configs = {**BROKER_CONFIGS, **(STREAMS_BROKER_CONFIGS if has_streams_groups else {})}
    spec = ClusterSpec(brokers=len(RACKS), racks=RACKS, kafka_version=kafka_version, broker_configs=configs)
    with KafkaCluster(spec) as cluster, Hosts(cluster) as main, Hosts(cluster) as slow:
        prepare(cluster, RECORDS)
        topology = describe_topology(cluster)
        plays = (
            (Experiment(cluster, main, [each for each in watched if each.id != WARMING_UP], topology), "h", STEPS),
            (
                Experiment(cluster, slow, [each for each in watched if each.id == WARMING_UP], topology),
                "w",
                WARMUP_STEPS,
            ),
        )
        with ThreadPoolExecutor(len(plays)) as threads:
            done = [threads.submit(_live_through, *each) for each in plays]
            return [confirmed for each in done for confirmed in each.result()]


def _live_through(play: Experiment, letter: str, steps: Sequence[ExperimentStep]) -> list[Confirmation]:
    hosts = [play.hosts.add(f"{letter}{number}", RACKS[number % len(RACKS)]) for number in range(4)]
    for step in steps:
        step(play, hosts)
    return play.confirmed
