"""What is done to real applications, step by step, and what was said before each step beside what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from scenarios.kafka.live.observe import observe_cluster
from scenarios.kafka.observation.observation import Observation
from scenarios.kafka.observation.scenario_writer import scenario_text
from simulator.results.trace import CapturedRound, Trace
from tools.fidelity.applications import COMMON, PROBING_INTERVAL_MS, SESSION_TIMEOUT_MS, TestedApplication
from tools.fidelity.coordinator_log import computed_at_ms
from tools.fidelity.leader_log import LeaderDecision, logged_rebalances, replay, warmed_up_early
from tools.fidelity.prediction import (
    GroupPrediction,
    TaskDistribution,
    forecast,
    probing_rounds,
    read_document,
    simulate_document,
)
from tools.fidelity.scenario_edits import (
    DOWN_MS,
    EVENT_AT_MS,
    LONG_MS,
    Document,
    with_absence,
    with_blackout,
    with_members,
    with_newcomer,
)
from tools.kafka_cluster.applications import Host, Hosts, HostTasks
from tools.kafka_cluster.cluster import KafkaCluster
from tools.kafka_cluster.java import ClusterError

BLACKOUT = "all crash, and are back with other configs"
ALL_TASKS = 26
QUIET_S = 3.0
"""Longer than any pause within a rebalance: members hear of one within a heartbeat, which is a second."""
REST_TIMEOUT_S = 90
PROBING_TIMEOUT_S = 400
SAMPLE_S = 0.2
LOOKS_AT_ONCE = 4
IDLE_S = 2.0
"""Longer than the commit interval."""


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What was said and what came of it, for one application and one stage of a step.

    Attributes:
        kafka: the release.
        step: what happened.
        application: its id.
        title: who assigned.
        predicted: what was said before.
        observed: who has what.
        is_streams_group: whether the group coordinator assigned, and so no leader logged what it was shown.
        rounds: how many rebalances there were.
        probing_rounds: how many of the rebalances came a probing interval or more after the one before.
        warmed_up_early: whether a rebalance that was not a probing one already saw a warm-up replica caught up.
        first_ms: from what happened to the first assignment; None if there was none, or a process had to start first.
        settling_ms: from the first assignment until everybody had what the last one decided.
        gave_back: whether a host gave back an active task that it had since it started last.
        replayed: for each rebalance that a leader logged, what our assignor would have answered otherwise to what the
            leader was shown; empty where nothing.
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
    gave_back: bool
    replayed: tuple[tuple[str, ...], ...]

    @property
    def took_another_course(self) -> bool:
        """Whether hosts that were to come back together came in several lots: the first gave tasks to later ones."""
        return self.step == BLACKOUT and self.gave_back

    @property
    def differences(self) -> list[str]:
        """What did not come as predicted."""
        return self.predicted.shares.differences(self.observed)


@dataclass(frozen=True, slots=True)
class _Said:
    """An imported scenario with what is going to happen, and what the simulator makes of it."""

    document: Document
    trace: Trace
    shown: tuple[CapturedRound, ...]


@dataclass(slots=True)
class Experiment:
    """Applications on hosts of a cluster, and what was confirmed of them so far."""

    cluster: KafkaCluster
    hosts: Hosts
    applications: Sequence[TestedApplication]
    topology: str
    confirmed: list[Confirmation] = field(default_factory=list)
    _later: bool = False
    _scenarios: dict[str, Document] = field(default_factory=dict)

    def begin(self, host: Host) -> None:
        """Start the first host; there is nothing yet that could be imported."""
        host.start(self._configs())
        self._await_rest()
        self.hosts.wait_until("applications have read their input", self._are_idle, REST_TIMEOUT_S)
        self._look()

    def join(self, host: Host) -> None:
        """A host that was never there joins."""
        said = self._predict(lambda imported, each: with_newcomer(imported, each, host))
        at_ms = _now_ms()
        host.start(self._configs())
        self._confirm(f"{host.name} joins", at_ms, said, (EVENT_AT_MS, LONG_MS), started=[host])

    def restart(self, host: Host) -> None:
        """A host leaves, says so, and comes back with its disk."""
        self._away(host, "leaves", "is back", host.stop, "rolling_bounce")

    def crash(self, host: Host) -> None:
        """A host dies, is missed, and comes back with its disk."""
        self._away(host, "crashes", "is back after the crash", host.kill, "crash")

    def black_out(self) -> None:
        """All hosts die at once, are missed, and come back together, with other configs."""
        hosts = list(self.hosts.running())
        said = self._predict(lambda imported, each: with_blackout(imported, each, hosts))
        for host in hosts:
            host.kill()
        self._later = True
        time.sleep(SESSION_TIMEOUT_MS / 1000 + QUIET_S)
        at_ms = _now_ms()
        for host in hosts:
            host.start(self._configs())
        back_ms = EVENT_AT_MS + DOWN_MS
        self._confirm(BLACKOUT, at_ms, said, (back_ms, back_ms + LONG_MS), started=hosts)

    def _away(self, host: Host, goes: str, is_back: str, go: Callable[[], None], event: str) -> None:
        said = self._predict(lambda imported, each: with_absence(imported, each, host, event))
        back_ms = EVENT_AT_MS + DOWN_MS
        at_ms = _now_ms()
        go()
        self._confirm(f"{host.name} {goes}", at_ms, said, (EVENT_AT_MS, back_ms))
        at_ms = _now_ms()
        host.start(self._configs())
        self._confirm(f"{host.name} {is_back}", at_ms, said, (back_ms, back_ms + LONG_MS), started=[host])

    def _predict(self, edited: Callable[[Document, TestedApplication], Document]) -> dict[str, _Said]:
        """Simulate every application's imported scenario with what is going to happen."""
        said = {}
        for each in self.applications:
            document = edited(self._scenarios[each.id], each)
            said[each.id] = _Said(document, *simulate_document(document, each.assignor, each.id))
        return said

    def _configs(self) -> dict[str, dict[str, object]]:
        return {
            each.id: {**COMMON, **each.configs, **(each.later if self._later else {})} for each in self.applications
        }

    def _confirm(
        self,
        step: str,
        at_ms: int,
        said: Mapping[str, _Said],
        between_ms: tuple[int, int],
        *,
        started: Sequence[Host] = (),
    ) -> None:
        """Wait until all is calm, look, and write down what was said beside what came.

        Args:
            step: what happened.
            at_ms: when, in milliseconds of the epoch.
            said: what was said of each application.
            between_ms: which part of it this is about: from when until when, in the scenario's time.
            started: the hosts that had to start first, which takes time that the simulation does not count.
        """
        self._await_rest()
        for each, observation in self._look():
            assigned = self._assigned_ms(each, at_ms)
            settled_ms = max((told.at_ms for host in self.hosts.running() for told in host.story(each.id)), default=0)
            trace = said[each.id].trace
            if each.uses_streams_groups:
                trace = _knowing_members(said[each.id], each, observation, started)
            self.confirmed.append(
                Confirmation(
                    kafka=self.cluster.spec.kafka_version,
                    step=step,
                    application=each.id,
                    title=each.title,
                    predicted=forecast(trace, *between_ms),
                    observed=shares_of(observation),
                    is_streams_group=each.uses_streams_groups,
                    rounds=len(assigned),
                    probing_rounds=probing_rounds(assigned),
                    warmed_up_early=warmed_up_early(self._rebalances(each, at_ms), PROBING_INTERVAL_MS),
                    first_ms=assigned[0] - at_ms if assigned and not started else None,
                    settling_ms=max(0, settled_ms - assigned[0]) if assigned else None,
                    gave_back=any(_gave_back(host.story(each.id)) for host in self.hosts.running()),
                    replayed=self._replay(each, at_ms, said[each.id].shown),
                )
            )

    def _look(self) -> list[tuple[TestedApplication, Observation]]:
        """Import every application, after the last probing rebalance that it asks for."""
        with ThreadPoolExecutor(LOOKS_AT_ONCE) as threads:
            seen = list(zip(self.applications, threads.map(self._observe_settled, self.applications), strict=True))
        for each, observation in seen:
            self._check_own_words(each, observation)
            self._scenarios[each.id] = read_document(scenario_text(observation))
        return seen

    def _observe_settled(self, each: TestedApplication) -> Observation:
        observation = self._observe(each)
        deadline_s = time.monotonic() + PROBING_TIMEOUT_S
        while observation.next_rebalance_ms is not None:
            if time.monotonic() > deadline_s:
                raise ClusterError(f"{each.id} still probes after {PROBING_TIMEOUT_S} s")
            time.sleep(max(1.0, observation.next_rebalance_ms / 1000))
            self._await_rest()
            observation = self._observe(each)
        return observation

    def _observe(self, each: TestedApplication, seconds: float = SAMPLE_S) -> Observation:
        configs = {**COMMON, **each.configs, **(each.later if self._later else {})}
        return observe_cluster(
            self.cluster.bootstrap_servers,
            each.id,
            seconds=seconds,
            topology=self.topology,
            configs={key: str(value) for key, value in configs.items()},
        )

    def _are_idle(self) -> bool:
        with ThreadPoolExecutor(LOOKS_AT_ONCE) as threads:
            return all(threads.map(self._is_idle, self.applications))

    def _is_idle(self, each: TestedApplication) -> bool:
        """Whether nothing is written to any of its topics."""
        topics = self._observe(each, IDLE_S).topics
        return not any(rate for topic in topics for rate in topic.records_per_s or ())

    def _check_own_words(self, each: TestedApplication, observation: Observation) -> None:
        """What was imported must be what the applications themselves say."""
        told = TaskDistribution(
            *(
                {
                    host.process_id(each.id): has
                    for host in self.hosts.running()
                    if (has := getattr(_last(host, each), role))
                }
                for role in ("active", "standby")
            )
        )
        differences = told.differences(shares_of(observation))
        if differences:
            raise ClusterError(f"{each.id}: the import is not what the application says: {'; '.join(differences)}")

    def _await_rest(self) -> None:
        self.hosts.wait_until("all tasks run, and nothing changes", self._is_at_rest, REST_TIMEOUT_S)

    def _is_at_rest(self) -> bool:
        latest_ms = _now_ms() - round(QUIET_S * 1000)
        for each in self.applications:
            told = [host.story(each.id) for host in self.hosts.running()]
            if not all(story and story[-1].state == "RUNNING" and story[-1].at_ms < latest_ms for story in told):
                return False
            if len([task for story in told for task in story[-1].active]) != ALL_TASKS:
                return False
        return True

    def _assigned_ms(self, each: TestedApplication, since_ms: int) -> list[int]:
        """When leaders or coordinators assigned, in milliseconds of the epoch."""
        if each.uses_streams_groups:
            return [at_ms for at_ms in computed_at_ms(self.cluster.logs(), each.id) if at_ms >= since_ms]
        return [rebalance.at_ms for rebalance in self._rebalances(each, since_ms)]

    def _rebalances(self, each: TestedApplication, since_ms: int) -> list[LeaderDecision]:
        found = [
            rebalance
            for host in self.hosts.all()
            if host.log.exists()
            for rebalance in logged_rebalances(host.log.read_text(errors="replace"), f"{each.id}-{host.name}")
            if rebalance.at_ms >= since_ms
        ]
        return sorted(found, key=lambda rebalance: rebalance.at_ms)

    def _replay(
        self, each: TestedApplication, since_ms: int, shown: Sequence[CapturedRound]
    ) -> tuple[tuple[str, ...], ...]:
        """What our assignor would have answered otherwise in each rebalance; none are logged of streams groups."""
        racks = {host.process_id(each.id): host.rack for host in self.hosts.all()}
        return tuple(
            tuple(replay(rebalance, shown[-1].state, racks, each.assignor).differences(rebalance.answer))
            for rebalance in self._rebalances(each, since_ms)
        )


def shares_of(observation: Observation) -> TaskDistribution:
    """Who has what, as it was seen."""
    active = {
        process.process_id: frozenset(task for thread in process.threads for task in thread.active)
        for process in observation.processes
    }
    standby = {
        process.process_id: frozenset(task for thread in process.threads for task in thread.standby)
        for process in observation.processes
    }
    return TaskDistribution(*({process: has for process, has in each.items() if has} for each in (active, standby)))


def _knowing_members(said: _Said, each: TestedApplication, observation: Observation, started: Sequence[Host]) -> Trace:
    """The same prediction, once it is known what clients call themselves and how the coordinator has them in its map.

    A member of a streams group draws its id at random, and the coordinator breaks ties by the order of ids in hash
    maps, its own first; whoever calls for a target by joining is added behind. Nothing else of what came after is
    looked at.

    Source: `TimelineHashMap`, `TargetAssignmentBuilder` of Kafka 4.3.1; the first's order is that of a description.
    """
    listed = observation.process_of_member()
    newcomer = started[0].process_id(each.id) if len(started) == 1 else None
    members = dict(sorted(listed.items(), key=lambda member: member[1] == newcomer))
    document = with_members(said.document, each.assignor, members)
    return simulate_document(document, each.assignor, f"{each.id}, with its members")[0]


def _gave_back(story: Sequence[HostTasks]) -> bool:
    return any(not before.active <= after.active for before, after in pairwise(story))


def _last(host: Host, each: TestedApplication) -> Any:
    return host.story(each.id)[-1]


def _now_ms() -> int:
    return round(time.time() * 1000)
