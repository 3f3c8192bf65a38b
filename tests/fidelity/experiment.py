"""An experiment: each step is predicted from an imported scenario, then performed on real applications and compared."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

from scenarios.kafka.observation.observation import Observation
from scenarios.kafka.observation.scenario_writer import scenario_text
from simulator.results.trace import CapturedRound, Trace
from tests.fidelity.applications import PROBING_INTERVAL_MS, SESSION_TIMEOUT_MS, TestedApplication
from tests.fidelity.confirmation import BLACKOUT, Confirmation
from tests.fidelity.leader_log import LeaderDecision, replay, warmed_up_early
from tests.fidelity.prediction import count_probing_rounds, predict_period, read_document, simulate_document
from tests.fidelity.scenario_edits import (
    AFTER_JOIN_MS,
    DOWN_MS,
    EVENT_AT_MS,
    STEP_DURATION_MS,
    Document,
    Restart,
    with_absence,
    with_blackout,
    with_departure,
    with_members,
    with_new_host,
    with_opened_stores,
    with_restarts,
)
from tests.fidelity.step_outcome import cross_rack_partitions, predict_outcome
from tests.fidelity.tested_group import TestedGroup, observed_distribution, observed_threads
from tests.fidelity.time_range import predict_range
from tests.kafka_cluster.applications import Host, Hosts, HostTasks
from tests.kafka_cluster.cluster import KafkaCluster
from tools.java import ClusterError

QUIET_S = 3.0
"""Longer than any pause within a rebalance: members learn of one within a heartbeat interval of one second."""
START_S = 2.5
"""Time from the start of a host to its request to join."""
STABLE_TIMEOUT_S = 180
IDLE_TIMEOUT_S = 300
PROBING_TIMEOUT_S = 600
CONCURRENT_OBSERVATIONS = 4
IMPORT_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class _SimulatedStep:
    """An imported scenario with the events of a step, and its simulation."""

    document: Document
    trace: Trace
    captured: tuple[CapturedRound, ...]


_Edit = Callable[[Document, TestedApplication], Document]


@dataclass(slots=True)
class Experiment:
    """Applications on hosts of a cluster, and the confirmations so far.

    Attributes:
        name: Name of the experiment.
        cluster: The cluster.
        hosts: The hosts.
        applications: The applications that run on every host.
        topologies: Output of `Topology.describe()` by application.
        confirmations: Result of each step and application.
        kept: Folder for the scenario of each step and application, from which its prediction can be repeated.
        restore_bytes_per_s: How fast a host restores, as measured; None for the simulator's default.
    """

    name: str
    cluster: KafkaCluster
    hosts: Hosts
    applications: Sequence[TestedApplication]
    topologies: Mapping[str, str]
    confirmations: list[Confirmation] = field(default_factory=list)
    kept: Path | None = None
    restore_bytes_per_s: int | None = None
    _is_after_blackout: bool = False
    _scenarios: dict[str, Document] = field(default_factory=dict)
    _joins: dict[str, Document] = field(default_factory=dict)

    def start_first(self, *hosts: Host) -> None:
        """Start the first hosts; there is no state yet to predict from."""
        for host in hosts:
            self._start(host)
        # Applications with much input are stable long before they have read it.
        self.hosts.wait_until("applications have read their input", self._are_idle, IDLE_TIMEOUT_S)
        self._wait_until_stable()
        self._import_scenarios()

    def join(self, host: Host) -> None:
        """Start a new host."""
        simulated = self._simulate(lambda imported, application: with_new_host(imported, application, host))
        self._joins = {id: step.document for id, step in simulated.items()}
        at_ms = _now_ms()
        self._start(host)
        self._confirm(f"{host.name} joins", at_ms, simulated, (EVENT_AT_MS, STEP_DURATION_MS), started=[host])

    def restart(self, host: Host) -> None:
        """Close a host, wait until the group is stable without it, and restart it with its disk."""
        self._stop_and_return(host, "closes", "returns", host.stop, "rolling_bounce")

    def crash(self, host: Host) -> None:
        """Kill a host, wait for its session timeout, and restart it with its disk."""
        self._stop_and_return(host, "crashes", "returns after the crash", host.kill, "crash")

    def crash_after_join(self, host: Host) -> None:
        """Kill the host that joined in the step before, as above.

        Up to Kafka 4.2, what a killed process keeps depends on its checkpoint files, which neither an import nor a log
        shows. So these steps are predicted from the scenario before the host joined, in which it joins and crashes.
        """
        self._scenarios = dict(self._joins)
        self._stop_and_return(host, "crashes", "returns after the crash", host.kill, "crash", AFTER_JOIN_MS)

    def leave(self, host: Host) -> None:
        """Close a host for good."""
        simulated = self._simulate(lambda imported, application: with_departure(imported, application, host))
        at_ms = _now_ms()
        host.stop()
        self._confirm(f"{host.name} leaves", at_ms, simulated, (EVENT_AT_MS, STEP_DURATION_MS))

    def deploy(self, application: TestedApplication, down_s: float, pause_s: float) -> int:
        """Restart all hosts one after another, with an application instead of the one with its id.

        Args:
            application: The application with its new configs.
            down_s: How long each host is out of the group, with its start, which takes about `START_S`.
            pause_s: How long the next one waits after that, and until all tasks run.

        Returns:
            When the first host closed, since 1970.
        """
        at_ms = _now_ms()
        self.applications = [application if running.id == application.id else running for running in self.applications]
        group = self.group(application)
        for host in self.hosts.running():
            host.stop()
            time.sleep(down_s - START_S)
            self._start(host)
            returned_s = time.monotonic()
            self.hosts.wait_until("all tasks run", group.is_running, STABLE_TIMEOUT_S)
            time.sleep(max(0.0, START_S + pause_s - (time.monotonic() - returned_s)))
        self._wait_until_stable()
        self._import_scenarios()
        return at_ms

    def bounce(self, hosts: Sequence[Host], step: str) -> None:
        """Restart hosts one after another, each as soon as the group is stable after the previous one.

        A host restarts at once, before its session times out if it does not leave the group. How long that takes is
        not simulated; the prediction gets the downtimes, and nothing else, from the observation.
        """
        restarts: list[tuple[Host, int]] = []
        for host in hosts:
            if restarts:
                self._wait_until_stable()
            restarts.append((host, _now_ms()))
            host.stop()
            self._start(host)
        self._wait_until_stable()

        def edit(imported: Document, application: TestedApplication) -> Document:
            group = self.group(application)
            observed = [
                Restart(host, stopped_ms - restarts[0][1], group.first_join_ms(host, stopped_ms) - stopped_ms)
                for host, stopped_ms in restarts
            ]
            return with_restarts(imported, application, observed)

        period_ms = EVENT_AT_MS, EVENT_AT_MS + STEP_DURATION_MS
        self._confirm(step, restarts[0][1], self._simulate(edit), period_ms)

    def black_out(self) -> None:
        """Kill all hosts, wait for their session timeouts, and restart all of them with changed configs.

        How long each host takes to start is not simulated; the prediction gets the times between their joins.
        """
        hosts = list(self.hosts.running())
        for host in hosts:
            host.kill()
        self._is_after_blackout = True
        time.sleep(SESSION_TIMEOUT_MS / 1000 + QUIET_S)
        at_ms = _now_ms()
        for host in hosts:
            self._start(host)
        self._wait_until_stable()

        def edit(imported: Document, application: TestedApplication) -> Document:
            joined_ms = {host: self.group(application).first_join_ms(host, at_ms) for host in hosts}
            first_ms = min(joined_ms.values())
            return with_blackout(imported, application, {host: at - first_ms for host, at in joined_ms.items()})

        return_ms = EVENT_AT_MS + DOWN_MS
        period_ms = return_ms, return_ms + STEP_DURATION_MS
        self._confirm(BLACKOUT, at_ms, self._simulate(edit), period_ms, started=hosts)

    def _stop_and_return(
        self,
        host: Host,
        stop_name: str,
        return_name: str,
        stop: Callable[[], None],
        event: str,
        event_ms: int = EVENT_AT_MS,
    ) -> None:
        simulated = self._simulate(
            lambda imported, application: with_absence(imported, application, host, event, event_ms)
        )
        return_ms = event_ms + DOWN_MS
        at_ms = _now_ms()
        stop()
        self._confirm(f"{host.name} {stop_name}", at_ms, simulated, (event_ms, return_ms))
        at_ms = _now_ms()
        self._start(host)
        period_ms = return_ms, return_ms + STEP_DURATION_MS
        self._confirm(f"{host.name} {return_name}", at_ms, simulated, period_ms, started=[host])

    def _start(self, host: Host) -> None:
        is_after = self._is_after_blackout
        host.start(
            {
                application.id: application.configs_on(host, is_after_blackout=is_after)
                for application in self.applications
            }
        )

    def imported(self, application: TestedApplication) -> Document:
        """Return the scenario of an application as it was imported last."""
        return self._scenarios[application.id]

    def group(self, application: TestedApplication) -> TestedGroup:
        """Return an application as it runs."""
        configs = application.all_configs(is_after_blackout=self._is_after_blackout)
        return TestedGroup(self.cluster, self.hosts, application, self.topologies[application.id], configs)

    def _simulate(self, edit: _Edit) -> dict[str, _SimulatedStep]:
        """Simulate every application's imported scenario with the events of a step."""
        simulated = {}
        for application in self.applications:
            document = edit(self._scenarios[application.id], application)
            simulated[application.id] = _SimulatedStep(
                document, *simulate_document(document, application.assignor, application.id)
            )
        return simulated

    def _confirm(
        self,
        step: str,
        at_ms: int,
        simulated: Mapping[str, _SimulatedStep],
        period_ms: tuple[int, int],
        *,
        started: Sequence[Host] = (),
    ) -> None:
        """Wait until all groups are stable, observe them, and compare with the predictions.

        Args:
            step: Name of the step.
            at_ms: Time of the event, since 1970.
            simulated: Simulation of each application.
            period_ms: Period of simulated time that this step covers.
            started: Hosts that had to start first, which takes time that the simulation does not include. Times are
                relative to their first join.
        """
        self._wait_until_stable()
        self.confirmations += [
            self._confirmation(step, at_ms, application, observation, simulated[application.id], period_ms, started)
            for application, observation in self._import_scenarios()
        ]

    def _confirmation(
        self,
        step: str,
        at_ms: int,
        application: TestedApplication,
        observation: Observation,
        simulated: _SimulatedStep,
        period_ms: tuple[int, int],
        started: Sequence[Host],
    ) -> Confirmation:
        group = self.group(application)
        trace = simulated.trace
        if self.kept is not None:
            self._keep(step, application, simulated)
        if application.uses_streams_groups:
            trace = _simulate_with_members(simulated, application, observation, started)
        decisions = group.leader_decisions(at_ms)
        assigned_ms = group.assignment_times_ms(at_ms)
        event_ms = min((group.first_join_ms(host, at_ms) for host in started), default=at_ms)
        observed = observed_distribution(observation)
        return Confirmation(
            kafka=self.cluster.spec.kafka_version,
            experiment=self.name,
            step=step,
            application=application.id,
            title=application.title,
            predicted=predict_period(trace, *period_ms),
            predicted_outcome=predict_outcome(trace, *period_ms),
            # The coordinator of a streams group assigns tasks regardless of lags, so client times decide nothing.
            range=(
                []
                if application.uses_streams_groups
                else predict_range(trace, simulated.document, application.assignor, period_ms)
            ),
            observed=observed,
            outcome=replace(
                group.outcome(observation, at_ms, event_ms),
                cross_rack_partitions=cross_rack_partitions(trace, period_ms[1], observed.process_of),
            ),
            threads=observed_threads(observation),
            is_streams_group=application.uses_streams_groups,
            depends_on_timing=application.depends_on_timing,
            probing_rounds=count_probing_rounds(assigned_ms),
            warmed_up_early=warmed_up_early(decisions, PROBING_INTERVAL_MS, application.acceptable_recovery_lag),
            gave_up_task=any(_gave_up_task(history) for history in group.task_histories()),
            replay_differences=self._replay(application, decisions, simulated.captured),
        )

    def _keep(self, step: str, application: TestedApplication, simulated: _SimulatedStep) -> None:
        assert self.kept is not None
        self.kept.mkdir(parents=True, exist_ok=True)
        name = f"{application.id}-{len(self.confirmations) // len(self.applications)}-{step.replace(' ', '_')}.json"
        (self.kept / name).write_text(json.dumps(simulated.document, indent=1))

    def _import_scenarios(self) -> list[tuple[TestedApplication, Observation]]:
        """Import every application once no probing rebalance is scheduled."""
        with ThreadPoolExecutor(CONCURRENT_OBSERVATIONS) as threads:
            observations = threads.map(self._observe_after_probing, self.applications)
            observed = list(zip(self.applications, observations, strict=True))
        for application, observation in observed:
            document = read_document(scenario_text(observation))
            # An import does not know the release of clients, nor, for classic groups, that of brokers.
            document["application"] = {"kafka": self.cluster.spec.kafka_version, **document["application"]}
            document["cluster"] = {"kafka": self.cluster.spec.kafka_version, **document["cluster"]}
            if self.restore_bytes_per_s is not None:
                document["clients"] = [
                    {**client, "restore": self.restore_bytes_per_s} for client in document["clients"]
                ]
            # Nor does it know what was on disk when stores were opened, which clients log.
            group = self.group(application)
            opened = {
                host.process_id(application.id): group.lags_when_opened(host, observation.topics)
                for host in self.hosts.running()
            }
            self._scenarios[application.id] = with_opened_stores(document, opened)
        return observed

    def _observe_after_probing(self, application: TestedApplication) -> Observation:
        """Import an application once no probing rebalance is scheduled and it reports the imported tasks itself."""
        group = self.group(application)
        deadline_s = time.monotonic() + PROBING_TIMEOUT_S
        attempts = 0
        while True:
            self._wait_until_stable([application])
            observation = group.observe()
            if time.monotonic() > deadline_s:
                raise ClusterError(f"{application.id}: probing rebalances continue after {PROBING_TIMEOUT_S} s")
            if observation.next_rebalance_ms is not None:
                # Members react to it later than scheduled, within their poll and heartbeat intervals.
                time.sleep(observation.next_rebalance_ms / 1000 + QUIET_S)
                continue
            # A rebalance may begin during an import; a wrong import stays wrong.
            differences = group.import_differences(observation)
            if not differences and group.is_stable(QUIET_S):
                return observation
            attempts += 1
            if attempts == IMPORT_ATTEMPTS:
                raise ClusterError(
                    f"{application.id}: the import differs from the application's report: {'; '.join(differences)}"
                )

    def _are_idle(self) -> bool:
        with ThreadPoolExecutor(CONCURRENT_OBSERVATIONS) as threads:
            return all(threads.map(lambda application: self.group(application).is_idle(), self.applications))

    def _wait_until_stable(self, applications: Sequence[TestedApplication] | None = None) -> None:
        groups = [self.group(application) for application in applications or self.applications]
        self.hosts.wait_until(
            "all tasks run and nothing changes",
            lambda: all(group.is_stable(QUIET_S) for group in groups),
            STABLE_TIMEOUT_S,
        )

    def _replay(
        self, application: TestedApplication, decisions: Sequence[LeaderDecision], captured: Sequence[CapturedRound]
    ) -> tuple[tuple[str, ...], ...]:
        """Return how the reimplemented assignor's decisions differ; streams groups log no decisions."""
        racks = {host.process_id(application.id): host.rack for host in self.hosts.all()}
        kafka = self.cluster.spec.kafka_version
        return tuple(
            tuple(
                replay(decision, captured[-1].state, racks, application.assignor, kafka).differences(
                    decision.assignment
                )
            )
            for decision in decisions
        )


def _simulate_with_members(
    simulated: _SimulatedStep, application: TestedApplication, observation: Observation, started: Sequence[Host]
) -> Trace:
    """Repeat a simulation with the member ids of a streams group, which are known only after the step.

    Members draw their ids at random, and the coordinator breaks ties by the order of ids in its hash maps; the member
    whose join triggers the assignment comes last. Nothing else of the observation is used.

    Source: `TimelineHashMap`, `TargetAssignmentBuilder` of Kafka 4.3.1; a group description lists members in map order.
    """
    process_of = observation.process_by_member()
    joined = started[0].process_id(application.id) if len(started) == 1 else None
    members = dict(sorted(process_of.items(), key=lambda member: member[1] == joined))
    document = with_members(simulated.document, application.assignor, members)
    return simulate_document(document, application.assignor, f"{application.id}, with its members")[0]


def _gave_up_task(history: Sequence[HostTasks]) -> bool:
    return any(not before.active <= after.active for before, after in pairwise(history))


def _now_ms() -> int:
    return round(time.time() * 1000)
