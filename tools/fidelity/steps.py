"""The steps of the experiment on one release."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from tools.fidelity.applications import BROKER_CONFIGS, STREAMS_BROKER_CONFIGS, TESTED_APPLICATIONS, TestedApplication
from tools.fidelity.experiment import Confirmation, Experiment
from tools.kafka_cluster.applications import Host, Hosts, describe_topology, prepare
from tools.kafka_cluster.cluster import ClusterSpec, KafkaCluster

RACKS = ("az1", "az2", "az3")
RECORDS = 2_000
HOSTS_PER_EXPERIMENT = 4
WARMING_UP = "ha-warmup"
"""Runs in a concurrent experiment on its own hosts, because it has probing rebalances for minutes after each step."""

KILLED = ("killed-eos", "killed-alos")
"""Run in another concurrent experiment, because a host that lost its state returns by probing rebalances."""

ExperimentStep = Callable[[Experiment, Sequence[Host]], None]

STEPS: tuple[ExperimentStep, ...] = (
    lambda experiment, hosts: experiment.start_first(hosts[0]),
    lambda experiment, hosts: experiment.join(hosts[1]),
    lambda experiment, hosts: experiment.join(hosts[2]),
    lambda experiment, hosts: experiment.join(hosts[3]),
    lambda experiment, hosts: experiment.restart(hosts[1]),
    lambda experiment, hosts: experiment.crash(hosts[2]),
    lambda experiment, hosts: experiment.black_out(),
)
WARMUP_STEPS: tuple[ExperimentStep, ...] = (
    lambda experiment, hosts: experiment.start_first(hosts[0]),
    lambda experiment, hosts: experiment.join(hosts[1]),
)
KILL_STEPS: tuple[ExperimentStep, ...] = (
    lambda experiment, hosts: experiment.start_first(hosts[0]),
    lambda experiment, hosts: experiment.join(hosts[1]),
    lambda experiment, hosts: experiment.crash(hosts[1]),
)


def applications_on(kafka_version: str) -> list[TestedApplication]:
    """Return the applications that a release supports."""
    return [application for application in TESTED_APPLICATIONS if application.runs_on(kafka_version)]


def run_steps(kafka_version: str) -> list[Confirmation]:
    """Start a cluster, run all steps on its applications, and compare each step with its prediction.

    Returns:
        The predicted and observed result of each step and application.

    Raises:
        ClusterError: Kafka, Java or Maven failed, or an application did not become stable.
    """
    applications = applications_on(kafka_version)
    has_streams_groups = any(application.uses_streams_groups for application in applications)
    configs = {**BROKER_CONFIGS, **(STREAMS_BROKER_CONFIGS if has_streams_groups else {})}
    spec = ClusterSpec(brokers=len(RACKS), racks=RACKS, kafka_version=kafka_version, broker_configs=configs)
    with (
        KafkaCluster(spec) as cluster,
        Hosts(cluster) as main_hosts,
        Hosts(cluster) as warmup_hosts,
        Hosts(cluster) as killed_hosts,
    ):
        prepare(cluster, RECORDS)
        topology = describe_topology(cluster)
        main = [application for application in applications if application.id not in (WARMING_UP, *KILLED)]
        warming_up = [application for application in applications if application.id == WARMING_UP]
        killed = [application for application in applications if application.id in KILLED]
        experiments = (
            (Experiment(cluster, main_hosts, main, topology), "h", STEPS),
            (Experiment(cluster, warmup_hosts, warming_up, topology), "w", WARMUP_STEPS),
            (Experiment(cluster, killed_hosts, killed, topology), "k", KILL_STEPS),
        )
        with ThreadPoolExecutor(len(experiments)) as threads:
            results = [threads.submit(_run_experiment, *arguments) for arguments in experiments]
            return [confirmation for result in results for confirmation in result.result()]


def _run_experiment(experiment: Experiment, prefix: str, steps: Sequence[ExperimentStep]) -> list[Confirmation]:
    hosts = [
        experiment.hosts.add(f"{prefix}{number}", RACKS[number % len(RACKS)]) for number in range(HOSTS_PER_EXPERIMENT)
    ]
    for step in steps:
        step(experiment, hosts)
    return experiment.confirmations
