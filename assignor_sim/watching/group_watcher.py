"""The polls of one group over one or several connections, until a signal."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Final

from assignors.errors import AssignorError
from assignors.registry import AssignorLike
from scenarios.kafka.live.admin_api import AdminApi, open_cluster
from scenarios.kafka.live.client_properties import ClientSettings
from scenarios.kafka.live.group_polling import (
    PolledGroup,
    PolledObserver,
    TaskPartitions,
    TransientError,
    find_protocol,
    poll_group,
    with_offsets,
)
from scenarios.kafka.observation.observation import (
    GroupPhase,
    GroupSnapshot,
    Observation,
    ObservationError,
    check_stated_racks,
)
from scenarios.kafka.observation.scenario_writer import list_assumptions
from scenarios.load import ScenarioError
from scenarios.watch.monitor import GroupMonitor
from scenarios.watch.watch_events import (
    Alarm,
    EventKind,
    EventLevel,
    WatchEvent,
    counted_processes,
    counted_tasks,
)
from scenarios.watch.watch_metrics import WatchStatus
from scenarios.watch.watched_group import WatchedApplication, WatchedConsumers, WatchedGroup, watched_assumptions
from simulator.plurals import counted

_MAX_FAILURES: Final = 3
"""Number of failed polls in succession after which the alarm is raised."""


@dataclass(frozen=True, slots=True)
class WatchRequest:
    """What to watch.

    Attributes:
        group: `application.id`, or `group.id` of a consumer group.
        topology: output of the application's `Topology.describe()`, if available.
        configs: configs of the application or the consumers that the cluster does not expose.
        racks: racks of clients that report none, as pairs (pattern of client ids, rack).
        assignor: the assignor; None for the one of the configs, or for the one that a consumer group reports.
        kafka: Kafka release of the clients; None for the newest supported one.
    """

    group: str
    topology: str | None = None
    configs: Mapping[str, str] = field(default_factory=dict)
    racks: Sequence[tuple[str, str | None]] = ()
    assignor: AssignorLike | None = None
    kafka: str | None = None


class GroupWatcher:
    """Polls a group and returns the events of each poll."""

    def __init__(self, request: WatchRequest) -> None:
        """Create a watcher."""
        self._request = request
        self._monitor = GroupMonitor(request.group)
        self._unreachable = Alarm(request.group, EventKind.UNREACHABLE)
        self._observer: tuple[AdminApi, PolledObserver] | None = None
        self._protocol: str | None = None
        self._partitions = TaskPartitions()
        self._observed: tuple[object, ...] | None = None
        self._failures = 0
        self._polls = 0
        self._failed_polls = 0
        self._duration_s = 0.0
        self._last_poll_ms: int | None = None

    @property
    def has_polled(self) -> bool:
        """Return whether a poll has succeeded."""
        return self._polls > 0

    @property
    def has_alarm(self) -> bool:
        """Return whether an alarm is active."""
        return self._unreachable.is_active or any(self._monitor.status.alarms.values())

    @property
    def failures(self) -> int:
        """Return how many of the last polls failed in succession."""
        return self._failures

    @property
    def status(self) -> WatchStatus:
        """Return what is known, for metrics."""
        return WatchStatus(
            group=self._request.group,
            monitor=self._monitor.status,
            is_unreachable=self._unreachable.is_active,
            last_poll_ms=self._last_poll_ms,
            polls=self._polls,
            failed_polls=self._failed_polls,
            poll_duration_s=self._duration_s,
        )

    def poll(self, cluster: AdminApi) -> list[WatchEvent]:
        """Poll the group once.

        Raises ObservationError if the cluster does not respond or denies a request, or the group is of another kind.
        """
        started_s = time.monotonic()
        group, events = self._request.group, list[WatchEvent]()
        if self._protocol is None:
            self._protocol = find_protocol(cluster.groups(), group)
        if self._protocol is None:
            snapshot = GroupSnapshot(cluster.now_ms(), group, "classic", "Dead", GroupPhase.GONE)
            events += self._monitor.observe(snapshot)
        else:
            polled = poll_group(cluster, group, self._protocol, self._partitions)
            snapshot = polled.snapshot
            events += self._observe(cluster, polled)
            if snapshot.phase in (GroupPhase.EMPTY, GroupPhase.GONE):
                self._protocol = self._observer = None  # It may return with another protocol.
        self._polls, self._failures = self._polls + 1, 0
        self._last_poll_ms, self._duration_s = snapshot.at_ms, time.monotonic() - started_s
        resolved = f"{group} can be described again"
        return [*self._unreachable.update(snapshot.at_ms, False, "", resolved), *events]

    def fail(self, at_ms: int, error: Exception) -> list[WatchEvent]:
        """Note a poll that failed at a time, since 1970, and return its events."""
        self._failures += 1
        self._failed_polls += 1
        reason = str(error)
        details = {"failures": self._failures, "reason": reason}
        message = f"{counted(self._failures, 'poll')} failed: {reason}"
        raised = list(self._unreachable.update(at_ms, self._failures >= _MAX_FAILURES, message, "", details))
        if raised or self._failures > 1:
            return raised
        return [WatchEvent(at_ms, self._request.group, EventKind.UNREACHABLE, EventLevel.INFO, message, details)]

    def _observe(self, cluster: AdminApi, polled: PolledGroup) -> list[WatchEvent]:
        snapshot = polled.snapshot
        is_complete = snapshot.phase is GroupPhase.STABLE and snapshot.next_rebalance_at_ms != 0
        if not is_complete or snapshot.error_code or snapshot.rebalance == self._observed:
            return self._monitor.observe(snapshot)
        is_first = self._observed is None
        try:
            observation = self._observe_group(cluster, polled)
            if is_first:
                check_stated_racks(observation, self._request.racks)
            watched = _watched_group(observation, self._request.assignor)
        except TransientError:
            return self._monitor.observe(snapshot)
        except (ScenarioError, AssignorError) as error:
            if is_first:
                raise
            self._observed = snapshot.rebalance
            return self._monitor.observe(snapshot, problem=str(error).splitlines()[0])
        self._observed = snapshot.rebalance
        partitions = TaskPartitions.of(observation)
        if partitions != self._partitions:
            self._partitions = partitions
            snapshot = with_offsets(snapshot, cluster, partitions)
        started = [_started(snapshot, watched, observation)] if is_first else []
        return [*started, *self._monitor.observe(snapshot, watched)]

    def _observe_group(self, cluster: AdminApi, polled: PolledGroup) -> Observation:
        request = self._request
        if self._observer is None or self._observer[0] is not cluster:
            observer = PolledObserver(cluster, topology=request.topology, configs=request.configs, racks=request.racks)
            self._observer = cluster, observer
        return replace(self._observer[1].observe(polled), client_release=request.kafka)


def _watched_group(observation: Observation, assignor: AssignorLike | None) -> WatchedGroup:
    if observation.consumers is None:
        return WatchedApplication.of(observation, assignor)
    return WatchedConsumers.of(observation, assignor)


def _started(snapshot: GroupSnapshot, watched: WatchedGroup, observation: Observation) -> WatchEvent:
    tasks, processes = len(watched.task_names), len(snapshot.clients())
    details: dict[str, object] = {
        "protocol": snapshot.protocol,
        "assignor": watched.assignor_name,
        "tasks": tasks,
        "processes": processes,
        "members": len(snapshot.member_ids),
    }
    if observation.consumers is None:
        details["assumed"] = list(list_assumptions(observation))
    else:
        del details["processes"]
        details["assumed"] = watched_assumptions(observation)
    message = (
        f"{snapshot.group} ({snapshot.protocol}): {counted_tasks(tasks, snapshot.kind)} on "
        f"{counted_processes(processes, snapshot.kind)}, {watched.assignor_name}"
    )
    return WatchEvent(snapshot.at_ms, snapshot.group, EventKind.STARTED, EventLevel.INFO, message, details)


def retry_delay_s(interval_s: float, failures: int) -> float:
    """Return the time to wait after failed polls: the interval, doubled with each further failure, up to 5 minutes."""
    return max(interval_s, min(300.0, interval_s * 2.0 ** min(failures - 1, 8)))


class StoppedBySignal(BaseException):
    """A signal asked the watch to end, while it was waiting or polling."""


class StopSignals:
    """SIGINT and SIGTERM, which end a wait or a poll at once, but never while events are written.

    `received`: number of the signal; None before it.
    """

    def __init__(self) -> None:
        self.received: int | None = None
        self._may_interrupt = False

    @contextmanager
    def handled(self) -> Iterator[None]:
        """Handle the signals for the duration of the block; only the main thread can."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before: Mapping[signal.Signals, object] = {
            number: signal.signal(number, self._receive) for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)  # type: ignore[arg-type]

    @contextmanager
    def interrupting(self) -> Iterator[None]:
        """Let a signal end the block; raise StoppedBySignal if a signal was received before or in the block."""
        self._may_interrupt = True
        try:
            if self.received is not None:
                raise StoppedBySignal
            yield
        finally:
            self._may_interrupt = False

    @contextmanager
    def uninterrupted(self) -> Iterator[None]:
        """Let a signal wait for the end of the block, within `interrupting`; then raise StoppedBySignal."""
        self._may_interrupt = False
        yield
        self._may_interrupt = True
        if self.received is not None:
            raise StoppedBySignal

    def _receive(self, number: int, _: FrameType | None) -> None:
        self.received = number
        if self._may_interrupt:
            self._may_interrupt = False
            raise StoppedBySignal


def watch_group(
    watcher: GroupWatcher,
    bootstrap: str,
    settings: ClientSettings,
    interval_s: float,
    signals: StopSignals,
    emit: Callable[[Sequence[WatchEvent]], None],
    *,
    once: bool,
) -> None:
    """Poll a group until a signal, or once.

    `bootstrap`: `host:port` of some brokers, separated by commas; `interval_s`: time between the starts of two polls;
    `emit`: called with the events of each poll, also without any; `once` says whether to end after one poll.
    """
    while True:
        try:
            with signals.interrupting(), open_cluster(bootstrap, settings) as cluster:
                while True:
                    started_s = time.monotonic()
                    events = watcher.poll(cluster)
                    with signals.uninterrupted():
                        emit(events)
                    if once:
                        return
                    time.sleep(max(0.0, interval_s - (time.monotonic() - started_s)))
        except StoppedBySignal:
            return
        except ObservationError as error:
            if once or not (watcher.has_polled or isinstance(error, TransientError)):
                raise
            emit(watcher.fail(time.time_ns() // 1_000_000, error))
        try:
            with signals.interrupting():
                time.sleep(retry_delay_s(interval_s, watcher.failures))
        except StoppedBySignal:
            return
