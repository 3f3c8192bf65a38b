"""A running application: what its clients report and log, and what an import observes."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from scenarios.kafka.live.observe import observe_cluster
from scenarios.kafka.observation.observation import Observation, ObservedTopic
from tests.fidelity.applications import TestedApplication
from tests.fidelity.client_log import opened_offsets
from tests.fidelity.coordinator_log import target_assignment_times_ms
from tests.fidelity.leader_log import LeaderDecision, parse_leader_decisions
from tests.fidelity.prediction import TaskDistribution
from tests.fidelity.step_outcome import StepOutcome, Threads, count_moves
from tests.kafka_cluster.applications import Host, Hosts, HostTasks
from tests.kafka_cluster.cluster import KafkaCluster
from tools.java import ClusterError

SAMPLE_S = 0.2
IDLE_S = 2.0
"""Longer than the commit interval."""

_TIME = r"^(\d{4}-\d\d-\d\d [\d:]{8}\.\d{3})"
_JOINS_CLASSIC = "(Re-)joining group"
_JOINS_STREAMS = "transitioned from UNSUBSCRIBED to JOINING"


@dataclass(frozen=True, slots=True)
class TestedGroup:
    """An application on hosts of a cluster.

    Attributes:
        cluster: The cluster.
        hosts: The hosts.
        application: The application.
        topology: Output of `Topology.describe()`.
        configs: Its Kafka Streams configs.
    """

    cluster: KafkaCluster
    hosts: Hosts
    application: TestedApplication
    topology: str
    configs: Mapping[str, object]

    def observe(self, seconds: float = SAMPLE_S) -> Observation:
        """Import it."""
        return observe_cluster(
            self.cluster.bootstrap_servers,
            self.application.id,
            seconds=seconds,
            topology=self.topology,
            configs={key: str(value) for key, value in self.configs.items()},
        )

    def is_idle(self) -> bool:
        """Return whether all tasks run and no record is written to its topics."""
        if not self.is_stable(0):
            return False
        topics = self.observe(IDLE_S).topics
        return not any(rate for topic in topics for rate in topic.records_per_s or ())

    def is_stable(self, quiet_s: float) -> bool:
        """Return whether all tasks run, and neither tasks nor copies have changed for a time."""
        quiet_since_ms = round((time.time() - quiet_s) * 1000)
        changed_ms = [history[-1].at_ms for history in self.task_histories() if history]
        is_quiet = max([self._last_restored_ms(), *changed_ms]) < quiet_since_ms
        return is_quiet and self.is_running()

    def is_running(self) -> bool:
        """Return whether all tasks run."""
        latest = [history[-1] if history else None for history in self.task_histories()]
        running = [tasks for tasks in latest if tasks is not None and tasks.state == "RUNNING"]
        return running == latest and sum(len(tasks.active) for tasks in running) == self.application.num_tasks

    def task_histories(self) -> list[list[HostTasks]]:
        """Return the tasks on each running host since its last start."""
        return [host.task_history(self.application.id) for host in self.hosts.running()]

    def import_differences(self, observation: Observation) -> list[str]:
        """Return the differences between the task distribution that the application reports and the imported one."""
        latest = {
            host.process_id(self.application.id): host.task_history(self.application.id)[-1]
            for host in self.hosts.running()
        }
        reported = TaskDistribution(
            {process: tasks.active for process, tasks in latest.items() if tasks.active},
            {process: tasks.standby for process, tasks in latest.items() if tasks.standby},
        )
        return reported.differences(observed_distribution(observation))

    def assignment_times_ms(self, since_ms: int) -> list[int]:
        """Return the times at which the leader or coordinator assigned tasks, since 1970."""
        if self.application.uses_streams_groups:
            times_ms = target_assignment_times_ms(self.cluster.logs(), self.application.id)
            return [at_ms for at_ms in times_ms if at_ms >= since_ms]
        return [decision.at_ms for decision in self.leader_decisions(since_ms)]

    def leader_decisions(self, since_ms: int) -> list[LeaderDecision]:
        """Return the decisions that leaders logged, by time."""
        decisions = [
            decision
            for host in self.hosts.all()
            if host.log.exists()
            for decision in parse_leader_decisions(
                host.log.read_text(errors="replace"), f"{self.application.id}-{host.name}"
            )
            if decision.at_ms >= since_ms
        ]
        return sorted(decisions, key=lambda decision: decision.at_ms)

    def first_join_ms(self, host: Host, since_ms: int) -> int:
        """Return when the first thread on a host asked to join the group, since 1970.

        Raises:
            ClusterError: None did.
        """
        client = re.escape(f"{self.application.id}-{host.name}")
        text = _JOINS_STREAMS if self.application.uses_streams_groups else _JOINS_CLASSIC
        member = rf"clientId={client}-StreamThread-\d+-consumer, "
        pattern = re.compile(rf"{_TIME} .*{member}.*{re.escape(text)}", re.MULTILINE)
        for match in pattern.finditer(host.log.read_text(errors="replace")):
            at_ms = round(datetime.fromisoformat(match[1]).timestamp() * 1000)
            if at_ms >= since_ms:
                return at_ms
        raise ClusterError(f"{host.log}: {self.application.id} did not join its group")

    def lags_when_opened(self, host: Host, topics: Sequence[ObservedTopic]) -> dict[str, int]:
        """Return how many records are missing on the disk of a host, by task, if all since the opening is lost.

        Tasks with empty stores are left out.
        """
        ends = {
            (topic.name, partition): end for topic in topics for partition, end in enumerate(topic.end_offsets or ())
        }
        opened = opened_offsets(host.log.read_text(errors="replace"), f"{self.application.id}-{host.name}")
        return {
            task: sum(max(0, ends[changelog] - offset) for changelog, offset in offsets.items())
            for task, offsets in opened.items()
            if any(offsets.values())
        }

    def outcome(self, observation: Observation, since_ms: int, event_ms: int) -> StepOutcome:
        """Return what happened since a step began; no moves of a streams group, whose decisions are not logged.

        Args:
            observation: An import after the step, which provides the size of changelog records.
            since_ms: When the step began, since 1970.
            event_ms: The time to which times are relative, since 1970.
        """
        assigned_ms = self.assignment_times_ms(since_ms)
        changed_ms = [tasks.at_ms for history in self.task_histories() for tasks in history if tasks.at_ms >= since_ms]
        restored_ms = self._last_restored_ms()
        last_ms = max([event_ms, *changed_ms, *([restored_ms] if restored_ms >= since_ms else [])])
        return StepOutcome(
            rebalances_ms=tuple(at_ms - event_ms for at_ms in assigned_ms),
            converged_ms=last_ms - event_ms,
            restored_bytes=round(self._restored_bytes(observation, since_ms)),
            active_moves=self.moves(since_ms),
        )

    def moves(self, since_ms: int) -> int:
        """Return how often group leaders assigned an active task to another process since a time."""
        decisions = self.leader_decisions(0)
        since = [decision for decision in decisions if decision.at_ms >= since_ms]
        before = decisions[: len(decisions) - len(since)]
        return count_moves([decision.assignment.process_of for decision in (*before[-1:], *since)])

    def _last_restored_ms(self) -> int:
        times_ms = [host.last_restored_ms(self.application.id) for host in self.hosts.running()]
        return max((at_ms for at_ms in times_ms if at_ms is not None), default=0)

    def _restored_bytes(self, observation: Observation, since_ms: int) -> float:
        """Return what clients have read to restore, in bytes of the changelogs on disk, which an import reports."""
        record_bytes = {
            topic.name: sum(topic.size_bytes or ())
            / max(1, sum(topic.end_offsets or ()) - sum(topic.start_offsets or ()))
            for topic in observation.topics
        }
        return sum(
            records * record_bytes[topic]
            for host in self.hosts.all()
            for topic, records in host.restored_records(self.application.id, since_ms).items()
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


def observed_threads(observation: Observation) -> Threads:
    """Return the active tasks of each thread, by process id."""
    return {
        process.process_id: tuple(frozenset(thread.active) for thread in process.threads)
        for process in observation.processes
    }
