"""`sim.import_cluster`: make a scenario of a running application or consumer group, or of Kafka tool output."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from assignor_sim.text_files import write_text
from scenarios.load import Scenario, ScenarioError, loads
from simulator.plurals import counted

if TYPE_CHECKING:
    from scenarios.kafka.observation.observation import Observation, RebalanceHistory

MEASURED_S = 5.0
"""Default time for measuring produce rates of a running cluster."""


@dataclass(frozen=True, slots=True, eq=False)
class ImportedScenario:
    """A scenario that starts from the state of an observed application or consumer group.

    Attributes:
        text: YAML of the scenario.
        scenario: the scenario.
        summary: one line with the observed clients, tasks, topics and brokers, or members and partitions.
        remarks: which files were read.
        measurements: what the metrics of the clients showed.
        assumptions: what is assumed because it could not be observed.
        warnings: what was observed but cannot be simulated.
        observation: the observed state of the application or group, and of the cluster.
        history: the logged rebalances that the scenario replays; None if it replays none.
    """

    text: str
    scenario: Scenario
    summary: str
    remarks: tuple[str, ...]
    measurements: tuple[str, ...]
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]
    observation: Observation
    history: RebalanceHistory | None

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the scenario, and the logged rebalances beside it as NAME.rounds.csv.

        Args:
            path: the scenario file to write.

        Returns:
            The path of the scenario file.
        """
        from scenarios.kafka.observation.scenario_writer import rebalances_csv

        file = Path(path)
        write_text(file, self.text)
        if self.history is not None:
            write_text(rounds_path(file), rebalances_csv(self.observation, self.history))
        return file


def rounds_path(scenario: Path) -> Path:
    """Return the file with the logged rebalances beside a scenario."""
    return scenario.with_suffix(".rounds.csv")


def import_cluster(
    group: str,
    *,
    bootstrap: str | None = None,
    dumps: str | os.PathLike[str] | None = None,
    properties: Mapping[str, str] | None = None,
    seconds: float = MEASURED_S,
    topology: str | None = None,
    racks: Sequence[tuple[str, str | None]] = (),
    replay: bool = True,
    configs: Mapping[str, str] | None = None,
    kafka: str | None = None,
    client_metrics: Sequence[str] = (),
) -> ImportedScenario:
    """Make a scenario that starts from the current state of an application or a consumer group.

    It has tasks, lags, placements and rates of a Kafka Streams application; members, subscriptions, partitions,
    placements and rates of a consumer group. Changes nothing in the cluster. `assignor-sim import` in Python.

    Args:
        group: the application.id of the application, or the group.id of the consumer group.
        bootstrap: HOST:PORT of a running cluster. Requires the extra `assignor-sim[kafka]`.
        dumps: a folder with the output of Kafka's tools, in files of any name; in place of `bootstrap`.
        properties: with `bootstrap`: client properties for the connection.
        seconds: with `bootstrap`: time for measuring produce rates.
        topology: with `bootstrap`: the output of the application's `Topology.describe()`.
        racks: racks of clients that a running cluster does not report, or dumps lack, as pairs (pattern of client ids,
            rack).
        replay: with `dumps`: whether to replay the rebalances of a leader's log, in place of starting from the last.
        configs: configs of the clients that the cluster does not expose.
        kafka: Kafka release of the clients, such as 4.3 or 3.9.1; by default, the one that they log in `dumps`, or else
            the newest supported one.
        client_metrics: metrics of the application's clients, as Prometheus' JMX exporter exports them: files, folders,
            and addresses. They set how fast the clients restore and process.

    Returns:
        The scenario, with remarks and assumptions.

    Raises:
        ObservationError: the application cannot be observed, neither or both sources are given, the release of the
            clients is not supported, or its client metrics cannot be used.
        ScenarioError: the observed state is no valid scenario.
    """
    from scenarios.kafka.observation.client_calibration import is_address, read_client_metrics, with_client_metrics
    from scenarios.kafka.observation.observation import ObservationError

    if (bootstrap is None) == (dumps is None):
        raise ObservationError("give either a running cluster (bootstrap) or a folder of dumps")
    if kafka is not None:
        _check_release(kafka)
    scrapes = read_client_metrics(client_metrics)
    history, remarks = None, []
    if bootstrap is not None:
        from scenarios.kafka.live.observe import observe_cluster

        observation = observe_cluster(
            bootstrap,
            group,
            properties=properties or {},
            seconds=seconds,
            topology=topology,
            configs=configs or {},
            racks=racks,
        )
    else:
        from scenarios.kafka.dumps.observe import DumpOptions, observe_dumps

        observed = observe_dumps(Path(dumps or ""), group, DumpOptions(configs or {}, racks, replay, kafka))
        observation, history = observed.observation, observed.history
        remarks.append(f"read: {', '.join(f'{file} ({kind})' for file, kind in sorted(observed.kinds.items()))}")
        if observed.ignored:
            remarks.append(f"ignored: {', '.join(observed.ignored)}")
    if client_metrics and observation.consumers is not None:
        raise ObservationError(f"'{group}' is a consumer group: client metrics are those of Kafka Streams")
    if client_metrics:
        # A second scrape of each exporter shows what was restored during the observation.
        scrapes += read_client_metrics([source for source in client_metrics if is_address(source)])
        observation = with_client_metrics(observation, scrapes, history.newcomers if history else ())
    return _make_scenario(replace(observation, client_release=kafka or observation.client_release), history, remarks)


def _check_release(kafka: str) -> None:
    from scenarios.kafka.observation.observation import ObservationError
    from scenarios.language.releases import UnknownReleaseError, parse_release

    try:
        parse_release(kafka)
    except UnknownReleaseError as error:
        raise ObservationError(f"--kafka: {error}") from None


def _make_scenario(
    observation: Observation, history: RebalanceHistory | None, remarks: Sequence[str]
) -> ImportedScenario:
    from scenarios.kafka.observation.observation import BROKER_CONFIGS_NOT_VISIBLE, ObservationError

    if observation.consumers is None:
        from scenarios.kafka.observation.scenario_writer import list_assumptions, list_warnings, scenario_text

        text = scenario_text(observation, history)
        assumptions, warnings = list_assumptions(observation), list_warnings(observation)
    else:
        from scenarios.kafka.observation.consumer_scenario_writer import (
            consumer_assumptions,
            consumer_scenario_text,
            consumer_warnings,
        )

        text = consumer_scenario_text(observation)
        assumptions, warnings = consumer_assumptions(observation), consumer_warnings(observation)
    try:
        scenario = loads(text, "the imported scenario")
    except ScenarioError as error:
        if BROKER_CONFIGS_NOT_VISIBLE in observation.assumptions:
            raise ObservationError(f"{error}. {BROKER_CONFIGS_NOT_VISIBLE}") from None
        raise
    return ImportedScenario(
        text=text,
        scenario=scenario,
        summary=_summary(observation),
        remarks=tuple(remarks),
        measurements=observation.measurements,
        assumptions=assumptions,
        warnings=warnings,
        observation=observation,
        history=history,
    )


def observed_counts(observation: Observation) -> dict[str, int]:
    """Return the number of observed clients, threads, tasks, topics, brokers and racks; of members and partitions."""
    of_cluster = {
        "topics": len(observation.topics),
        "brokers": len(observation.brokers),
        "racks": len({broker.rack for broker in observation.brokers if broker.rack is not None}),
    }
    if observation.consumers is not None:
        members = observation.consumers.members
        return {"members": len(members), "partitions": sum(len(member.partitions) for member in members), **of_cluster}
    threads = [thread for process in observation.processes for thread in process.threads]
    return {
        "clients": len(observation.processes),
        "threads": len(threads),
        "active_tasks": sum(len(thread.active) for thread in threads),
        "standbys": sum(len(thread.standby) for thread in threads),
        **of_cluster,
    }


def _summary(observation: Observation) -> str:
    counts = observed_counts(observation)
    cluster = (
        f"{counted(counts['topics'], 'topic')} on {counted(counts['brokers'], 'broker')} in "
        f"{counted(counts['racks'], 'rack')}"
    )
    if observation.consumers is not None:
        kind = f"consumer group, {observation.consumers.assignor}"
        if observation.protocol == "consumer":
            kind = f"{kind} of the coordinator"
        members = f"{counted(counts['members'], 'member')}, {counted(counts['partitions'], 'partition')}"
        return f"{observation.application_id} ({kind}): {members}, {cluster}"
    return (
        f"{observation.application_id} ({observation.protocol}): {counted(counts['clients'], 'client')} with "
        f"{counted(counts['threads'], 'thread')}, {counted(counts['active_tasks'], 'active task')}, "
        f"{counted(counts['standbys'], 'standby')}, {cluster}"
    )
