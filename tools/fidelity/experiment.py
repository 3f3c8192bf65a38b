"""An experiment: each step is predicted from an imported scenario, then performed on real applications and compared."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise

from scenarios.kafka.live.observe import observe_cluster
from scenarios.kafka.observation.observation import Observation
from scenarios.kafka.observation.scenario_writer import scenario_text
from simulator.results.trace import CapturedRound, Trace
from tools.fidelity.applications import COMMON, PROBING_INTERVAL_MS, SESSION_TIMEOUT_MS, TestedApplication
from tools.fidelity.coordinator_log import target_assignment_times_ms
from tools.fidelity.leader_log import LeaderDecision, parse_leader_decisions, replay, warmed_up_early
from tools.fidelity.prediction import (
    GroupPrediction,
    TaskDistribution,
    count_probing_rounds,
    predict_period,
    read_document,
    simulate_document,
)
from tools.fidelity.scenario_edits import (
    DOWN_MS,
    EVENT_AT_MS,
    STEP_DURATION_MS,
    Document,
    with_absence,
    with_blackout,
    with_members,
    with_new_host,
)
from tools.kafka_cluster.applications import Host, Hosts, HostTasks
from tools.kafka_cluster.cluster import KafkaCluster
from tools.kafka_cluster.java import ClusterError

BLACKOUT = "all crash and return with other configs"
NUM_TASKS = 26
QUIET_S = 3.0
"""Longer than any pause within a rebalance: members learn of one within a heartbeat interval of one second."""
STABLE_TIMEOUT_S = 90
PROBING_TIMEOUT_S = 400
SAMPLE_S = 0.2
CONCURRENT_OBSERVATIONS = 4
IDLE_S = 2.0
"""Longer than the commit interval."""


@dataclass(frozen=True, slots=True)
class Confirmation:
    """Prediction and observation of one step and one application.

    Attributes:
        kafka: Release.
        step: Name of the step.
        application: `application.id`.
        title: Name of the application and its assignor in tables.
        predicted: Prediction.
        observed: Observed task distribution.
        is_streams_group: Whether the group coordinator assigned tasks; then no leader logged its decisions.
        rounds: Observed number of rebalances.
        probing_rounds: Observed number of rebalances a probing interval or more after their predecessor.
        warmed_up_early: Whether a follow-up rebalance, not a probing one, already found a warm-up replica caught up.
        first_ms: Time from the event to the first assignment; None if there was none, or a process had to start first.
        settling_ms: Time from the first assignment until all members had the last assignment.
        gave_up_task: Whether a host gave up an active task that it had received since its last start.
        replay_differences: For each decision that a leader logged, the differences to the reimplemented assignor's
            decision; empty if equal.
    """

    kafka: str
    step: str
    application: str
    title: str
    predicted: GroupPrediction
    observed: TaskDistribution
    is_streams_group: bool
    rounds: int
    probing_rounds: int
    warmed_up_early: bool
    first_ms: int | None
    settling_ms: int | None
    gave_up_task: bool
    replay_differences: tuple[tuple[str, ...], ...]

    @property
    def joined_separately(self) -> bool:
        """Whether hosts that should have returned together joined in several rebalances, moving tasks between them."""
        return self.step == BLACKOUT and self.gave_up_task

    @property
    def differences(self) -> list[str]:
        """Differences between the predicted and the observed task distribution."""
        return self.predicted.tasks.differences(self.observed)


@dataclass(frozen=True, slots=True)
class _SimulatedStep:
    """An imported scenario with the events of a step, and its simulation."""

    document: Document
    trace: Trace
    captured: tuple[CapturedRound, ...]


@dataclass(slots=True)
class Experiment:
    """Applications on hosts of a cluster, and the confirmations so far.

    Attributes:
        cluster: The cluster.
        hosts: The hosts.
        applications: The applications that run on every host.
        topology: Output of `Topology.describe()`.
        confirmations: Result of each step and application.
    """

    cluster: KafkaCluster
    hosts: Hosts
    applications: Sequence[TestedApplication]
    topology: str
    confirmations: list[Confirmation] = field(default_factory=list)
    _is_after_blackout: bool = False
    _scenarios: dict[str, Document] = field(default_factory=dict)

    def start_first(self, host: Host) -> None:
        """Start the first host; there is no state yet to predict from."""
        host.start(self._configs())
        self._wait_until_stable()
        self.hosts.wait_until("applications have read their input", self._are_idle, STABLE_TIMEOUT_S)
        self._import_scenarios()

    def join(self, host: Host) -> None:
        """Start a new host."""
        simulated = self._simulate(lambda imported, application: with_new_host(imported, application, host))
        at_ms = _now_ms()
        host.start(self._configs())
        self._confirm(f"{host.name} joins", at_ms, simulated, (EVENT_AT_MS, STEP_DURATION_MS), started=[host])

    def restart(self, host: Host) -> None:
        """Stop a host, which leaves the group, and restart it with its disk."""
        self._stop_and_return(host, "leaves", "returns", host.stop, "rolling_bounce")

    def crash(self, host: Host) -> None:
        """Kill a host, wait for its session timeout, and restart it with its disk."""
        self._stop_and_return(host, "crashes", "returns after the crash", host.kill, "crash")

    def black_out(self) -> None:
        """Kill all hosts, wait for their session timeouts, and restart all of them with changed configs."""
        hosts = list(self.hosts.running())
        simulated = self._simulate(lambda imported, application: with_blackout(imported, application, hosts))
        for host in hosts:
            host.kill()
        self._is_after_blackout = True
        time.sleep(SESSION_TIMEOUT_MS / 1000 + QUIET_S)
        at_ms = _now_ms()
        for host in hosts:
            host.start(self._configs())
        return_ms = EVENT_AT_MS + DOWN_MS
        self._confirm(BLACKOUT, at_ms, simulated, (return_ms, return_ms + STEP_DURATION_MS), started=hosts)

    def _stop_and_return(
        self, host: Host, stop_name: str, return_name: str, stop: Callable[[], None], event: str
    ) -> None:
        simulated = self._simulate(lambda imported, application: with_absence(imported, application, host, event))
        return_ms = EVENT_AT_MS + DOWN_MS
        at_ms = _now_ms()
        stop()
        self._confirm(f"{host.name} {stop_name}", at_ms, simulated, (EVENT_AT_MS, return_ms))
        at_ms = _now_ms()
        host.start(self._configs())
        period_ms = return_ms, return_ms + STEP_DURATION_MS
        self._confirm(f"{host.name} {return_name}", at_ms, simulated, period_ms, started=[host])

    def _simulate(self, edit: Callable[[Document, TestedApplication], Document]) -> dict[str, _SimulatedStep]:
        """Simulate every application's imported scenario with the events of a step."""
        simulated = {}
        for application in self.applications:
            document = edit(self._scenarios[application.id], application)
            simulated[application.id] = _SimulatedStep(
                document, *simulate_document(document, application.assignor, application.id)
            )
        return simulated

    def _configs(self) -> dict[str, dict[str, object]]:
        return {application.id: self._configs_of(application) for application in self.applications}

    def _configs_of(self, application: TestedApplication) -> dict[str, object]:
        changed = application.configs_after_blackout if self._is_after_blackout else {}
        return {**COMMON, **application.configs, **changed}

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
            started: Hosts that had to start first, which takes time that the simulation does not include.
        """
        self._wait_until_stable()
        for application, observation in self._import_scenarios():
            assigned_ms = self._assignment_times_ms(application, at_ms)
            histories = [host.task_history(application.id) for host in self.hosts.running()]
            settled_ms = max((tasks.at_ms for history in histories for tasks in history), default=0)
            trace = simulated[application.id].trace
            if application.uses_streams_groups:
                trace = _simulate_with_members(simulated[application.id], application, observation, started)
            decisions = self._leader_decisions(application, at_ms)
            self.confirmations.append(
                Confirmation(
                    kafka=self.cluster.spec.kafka_version,
                    step=step,
                    application=application.id,
                    title=application.title,
                    predicted=predict_period(trace, *period_ms),
                    observed=observed_distribution(observation),
                    is_streams_group=application.uses_streams_groups,
                    rounds=len(assigned_ms),
                    probing_rounds=count_probing_rounds(assigned_ms),
                    warmed_up_early=warmed_up_early(
                        decisions, PROBING_INTERVAL_MS, application.acceptable_recovery_lag
                    ),
                    first_ms=assigned_ms[0] - at_ms if assigned_ms and not started else None,
                    settling_ms=max(0, settled_ms - assigned_ms[0]) if assigned_ms else None,
                    gave_up_task=any(_gave_up_task(history) for history in histories),
                    replay_differences=self._replay(application, decisions, simulated[application.id].captured),
                )
            )

    def _import_scenarios(self) -> list[tuple[TestedApplication, Observation]]:
        """Import every application once no probing rebalance is scheduled."""
        with ThreadPoolExecutor(CONCURRENT_OBSERVATIONS) as threads:
            observations = threads.map(self._observe_after_probing, self.applications)
            observed = list(zip(self.applications, observations, strict=True))
        for application, observation in observed:
            self._check_import(application, observation)
            document = read_document(scenario_text(observation))
            # A cluster does not expose the release of its clients.
            document["application"] = {"kafka": self.cluster.spec.kafka_version, **document["application"]}
            self._scenarios[application.id] = document
        return observed

    def _observe_after_probing(self, application: TestedApplication) -> Observation:
        observation = self._observe(application)
        deadline_s = time.monotonic() + PROBING_TIMEOUT_S
        while observation.next_rebalance_ms is not None:
            if time.monotonic() > deadline_s:
                raise ClusterError(f"{application.id}: probing rebalances continue after {PROBING_TIMEOUT_S} s")
            time.sleep(max(1.0, observation.next_rebalance_ms / 1000))
            self._wait_until_stable()
            observation = self._observe(application)
        return observation

    def _observe(self, application: TestedApplication, seconds: float = SAMPLE_S) -> Observation:
        return observe_cluster(
            self.cluster.bootstrap_servers,
            application.id,
            seconds=seconds,
            topology=self.topology,
            configs={key: str(value) for key, value in self._configs_of(application).items()},
        )

    def _are_idle(self) -> bool:
        with ThreadPoolExecutor(CONCURRENT_OBSERVATIONS) as threads:
            return all(threads.map(self._is_idle, self.applications))

    def _is_idle(self, application: TestedApplication) -> bool:
        """Return whether no record is written to the application's topics."""
        topics = self._observe(application, IDLE_S).topics
        return not any(rate for topic in topics for rate in topic.records_per_s or ())

    def _check_import(self, application: TestedApplication, observation: Observation) -> None:
        """Check that the imported task distribution is the one that the applications report."""
        latest = {
            host.process_id(application.id): host.task_history(application.id)[-1] for host in self.hosts.running()
        }
        reported = TaskDistribution(
            {process: tasks.active for process, tasks in latest.items() if tasks.active},
            {process: tasks.standby for process, tasks in latest.items() if tasks.standby},
        )
        differences = reported.differences(observed_distribution(observation))
        if differences:
            raise ClusterError(
                f"{application.id}: the import differs from the application's report: {'; '.join(differences)}"
            )

    def _wait_until_stable(self) -> None:
        self.hosts.wait_until("all tasks run and nothing changes", self._is_stable, STABLE_TIMEOUT_S)

    def _is_stable(self) -> bool:
        quiet_since_ms = _now_ms() - round(QUIET_S * 1000)
        for application in self.applications:
            histories = [host.task_history(application.id) for host in self.hosts.running()]
            if not all(
                history and history[-1].state == "RUNNING" and history[-1].at_ms < quiet_since_ms
                for history in histories
            ):
                return False
            if len([task for history in histories for task in history[-1].active]) != NUM_TASKS:
                return False
        return True

    def _assignment_times_ms(self, application: TestedApplication, since_ms: int) -> list[int]:
        """Return the times at which the leader or coordinator assigned tasks, since 1970."""
        if application.uses_streams_groups:
            times_ms = target_assignment_times_ms(self.cluster.logs(), application.id)
            return [at_ms for at_ms in times_ms if at_ms >= since_ms]
        return [decision.at_ms for decision in self._leader_decisions(application, since_ms)]

    def _leader_decisions(self, application: TestedApplication, since_ms: int) -> list[LeaderDecision]:
        decisions = [
            decision
            for host in self.hosts.all()
            if host.log.exists()
            for decision in parse_leader_decisions(
                host.log.read_text(errors="replace"), f"{application.id}-{host.name}"
            )
            if decision.at_ms >= since_ms
        ]
        return sorted(decisions, key=lambda decision: decision.at_ms)

    def _replay(
        self, application: TestedApplication, decisions: Sequence[LeaderDecision], captured: Sequence[CapturedRound]
    ) -> tuple[tuple[str, ...], ...]:
        """Return how the reimplemented assignor's decisions differ; streams groups log no decisions."""
        racks = {host.process_id(application.id): host.rack for host in self.hosts.all()}
        return tuple(
            tuple(replay(decision, captured[-1].state, racks, application.assignor).differences(decision.assignment))
            for decision in decisions
        )


def observed_distribution(observation: Observation) -> TaskDistribution:
    """Return the task distribution of an observation."""
    active = {
        process.process_id: frozenset(task for thread in process.threads for task in thread.active)
        for process in observation.processes
    }
    standby = {
        process.process_id: frozenset(task for thread in process.threads for task in thread.standby)
        for process in observation.processes
    }
    return TaskDistribution(
        {process: tasks for process, tasks in active.items() if tasks},
        {process: tasks for process, tasks in standby.items() if tasks},
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
