"""The experiments on a release: which applications run on which hosts, and what happens to the hosts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from assignors.kafka_releases import CLIENTS, RECORDED_3_9
from tests.fidelity.applications import (
    ASSIGNORS,
    BROKER_CONFIGS,
    CLOSING,
    CRASHING,
    CRASHING_WITH_STANDBY,
    LARGE,
    STREAMS_BROKER_CONFIGS,
    THREADED,
    TestedApplication,
)
from tests.fidelity.confirmation import Confirmation
from tests.fidelity.experiment import Experiment
from tests.kafka_cluster.applications import Host, Hosts, TableTopic, describe_topology, prepare, prepare_table
from tests.kafka_cluster.cluster import ClusterSpec, KafkaCluster

RACKS = ("az1", "az2", "az3")
CLICK_RECORDS = 2_000
LATEST = CLIENTS["4.4"]
STREAMS_GROUPS_ONLY = CLIENTS["4.3"]
"""Release on which only streams groups run: its clients of classic groups behave like those of the latest one."""

ExperimentStep = Callable[[Experiment, Sequence[Host]], None]


@dataclass(frozen=True, slots=True)
class ExperimentSpec:
    """An experiment.

    Attributes:
        name: Name, also of its hosts (with a number).
        applications: Its applications; each runs on all hosts.
        num_hosts: Number of hosts.
        steps: What happens, in order.
        releases: Releases on which it runs.
        lane: Experiments of one lane run one after another, at the same time as other lanes, on the same brokers. Most
            of their time is waiting for probing rebalances, so a few at a time hardly disturb each other.
        has_random_ids: Whether process ids are random, as Kafka draws them, instead of chosen without ties.
    """

    name: str
    applications: Sequence[TestedApplication]
    num_hosts: int
    steps: Sequence[ExperimentStep]
    releases: Sequence[str] = (LATEST, RECORDED_3_9)
    lane: int = 1
    has_random_ids: bool = False


def _start_first(experiment: Experiment, hosts: Sequence[Host]) -> None:
    experiment.start_first(hosts[0])


def _start_all(experiment: Experiment, hosts: Sequence[Host]) -> None:
    experiment.start_first(*hosts)


def _join(number: int) -> ExperimentStep:
    return lambda experiment, hosts: experiment.join(hosts[number])


def _restart(number: int) -> ExperimentStep:
    return lambda experiment, hosts: experiment.restart(hosts[number])


def _crash(number: int) -> ExperimentStep:
    return lambda experiment, hosts: experiment.crash(hosts[number])


def _crash_after_join(number: int) -> ExperimentStep:
    return lambda experiment, hosts: experiment.crash_after_join(hosts[number])


def _bounce(number: int) -> ExperimentStep:
    return lambda experiment, hosts: experiment.bounce([hosts[number]], f"{hosts[number].name} restarts at once")


def _roll(experiment: Experiment, hosts: Sequence[Host]) -> None:
    experiment.bounce(hosts, "rolling restart of all")


def _black_out(experiment: Experiment, hosts: Sequence[Host]) -> None:
    experiment.black_out()


EXPERIMENTS = (
    ExperimentSpec("crash", CRASHING, 2, (_start_first, _join(1), _crash_after_join(1)), lane=1),
    ExperimentSpec("crash-standby", CRASHING_WITH_STANDBY, 2, (_start_first, _join(1), _crash_after_join(1)), lane=2),
    ExperimentSpec(
        "threads",
        THREADED,
        3,
        (_start_first, _join(1), _join(2), _restart(1), _crash(2)),
        releases=(LATEST, STREAMS_GROUPS_ONLY),
        lane=1,
        has_random_ids=True,
    ),
    ExperimentSpec("close", CLOSING, 3, (_start_all, _restart(1), _bounce(2), _roll), lane=2),
    ExperimentSpec(
        "assignors",
        ASSIGNORS,
        4,
        (_start_first, _join(1), _join(2), _join(3), _restart(1), _crash(2), _black_out),
        releases=(LATEST, RECORDED_3_9, STREAMS_GROUPS_ONLY),
        lane=3,
    ),
    ExperimentSpec("newcomer", LARGE, 2, (_start_first, _join(1)), releases=(LATEST,), lane=1),
)
RELEASES = (LATEST, RECORDED_3_9, STREAMS_GROUPS_ONLY)
"""The latest release, one of the previous major version, and the last one with another assignor of streams groups."""


def experiments_on(kafka_version: str, names: Sequence[str] | None = None) -> list[ExperimentSpec]:
    """Return the experiments of a release, or those with a name, on any release.

    Raises:
        ValueError: There is no experiment of that name.
    """
    known = {spec.name: spec for spec in EXPERIMENTS}
    if names is None:
        return [spec for spec in EXPERIMENTS if kafka_version in spec.releases or kafka_version not in RELEASES]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"unknown experiment '{unknown[0]}' (experiments: {', '.join(known)})")
    return [known[name] for name in names]


def applications_on(kafka_version: str) -> list[TestedApplication]:
    """Return the applications that run on a release."""
    return [
        application for spec in experiments_on(kafka_version) for application in applications_of(spec, kafka_version)
    ]


def applications_of(spec: ExperimentSpec, kafka_version: str) -> list[TestedApplication]:
    """Return the applications of an experiment that run on a release."""
    return [
        application
        for application in spec.applications
        if application.runs_on(kafka_version)
        and (kafka_version != STREAMS_GROUPS_ONLY or application.uses_streams_groups)
    ]


def run_steps(kafka_version: str, names: Sequence[str] | None = None, kept: Path | None = None) -> list[Confirmation]:
    """Start a cluster, run experiments on it, and compare each step with its prediction.

    Args:
        kafka_version: Release.
        names: Names of the experiments; by default all of the release.
        kept: Folder for the scenarios of all steps and the logs of all hosts and brokers; None to keep neither.

    Returns:
        The predicted and observed result of each step and application.

    Raises:
        ClusterError: Kafka, Java or Maven failed, or an application did not become stable.
        ValueError: There is no experiment of that name.
    """
    specs = experiments_on(kafka_version, names)
    has_streams_groups = any(
        application.uses_streams_groups for spec in specs for application in applications_of(spec, kafka_version)
    )
    configs = {**BROKER_CONFIGS, **(STREAMS_BROKER_CONFIGS if has_streams_groups else {})}
    spec = ClusterSpec(brokers=len(RACKS), racks=RACKS, kafka_version=kafka_version, broker_configs=configs)
    with KafkaCluster(spec) as cluster:
        topologies = _prepare(cluster, specs)
        lanes = [[spec for spec in specs if spec.lane == lane] for lane in sorted({spec.lane for spec in specs})]
        # All hosts stop before the executor waits for its threads: a failure or an interruption ends all experiments.
        with ThreadPoolExecutor(len(lanes)) as threads, ExitStack() as stack:
            hosts_of = {spec.name: stack.enter_context(Hosts(cluster)) for spec in specs}
            results = [threads.submit(_run_lane, lane, hosts_of, cluster, topologies, kept) for lane in lanes]
            for result in as_completed(results):
                result.result()
            return [confirmation for result in results for confirmation in result.result()]


def _prepare(cluster: KafkaCluster, specs: Sequence[ExperimentSpec]) -> dict[TableTopic | None, str]:
    """Create and fill the input topics of experiments; return the topologies that read them."""
    tables = dict.fromkeys(application.table for spec in specs for application in spec.applications)
    for table in tables:
        if table is None:
            prepare(cluster, CLICK_RECORDS)
        else:
            prepare_table(cluster, table)
    return {table: describe_topology(cluster, table) for table in tables}


def _run_lane(
    specs: Sequence[ExperimentSpec],
    hosts_of: Mapping[str, Hosts],
    cluster: KafkaCluster,
    topologies: Mapping[TableTopic | None, str],
    kept: Path | None,
) -> list[Confirmation]:
    """Run experiments one after another; the hosts of each stop at its end."""
    confirmations: list[Confirmation] = []
    for spec in specs:
        with hosts_of[spec.name] as hosts:
            confirmations += _run_experiment(spec, hosts, cluster, topologies, kept)
            if kept is not None:
                keep_logs(hosts, cluster, kept)
    return confirmations


def _run_experiment(
    spec: ExperimentSpec,
    hosts: Hosts,
    cluster: KafkaCluster,
    topologies: Mapping[TableTopic | None, str],
    kept: Path | None,
) -> list[Confirmation]:
    applications = applications_of(spec, cluster.spec.kafka_version)
    topology_of = {application.id: topologies[application.table] for application in applications}
    experiment = Experiment(spec.name, cluster, hosts, applications, topology_of, kept=kept)
    numbered = [
        hosts.add(f"{spec.name}{number}", RACKS[number % len(RACKS)], has_random_ids=spec.has_random_ids)
        for number in range(spec.num_hosts)
    ]
    for step in spec.steps:
        step(experiment, numbered)
    return experiment.confirmations


def keep_logs(hosts: Hosts, cluster: KafkaCluster, kept: Path) -> None:
    """Copy the logs of hosts and brokers into a folder."""
    for host in hosts.all():
        if host.log.exists():
            (kept / f"{host.name}.log").write_text(host.log.read_text(errors="replace"))
    for number, log in enumerate(cluster.logs()):
        (kept / f"node{number}.log").write_text(log)
