"""The autoscalers of a run, and what they change for the events of the pods that they scale.

The process of an autoscaler reads the lag when its timers expire, and starts and stops pods.

The phases of the timers are drawn from the seed. Several changes of one moment happen in this order: pods that have
ended, that start or that become ready; KEDA's poll; the synchronization of the HorizontalPodAutoscaler.

The lag is that which committed offsets show: what waits, and what is not committed yet. Threads process as a fluid and
commit every `commit.interval.ms`; a task commits first that long after its thread does. The phase of each client's
commits is drawn from the seed, so that it does not depend on the assignor. What a task has processed since its last
commit is taken to be at its current rate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from assignors.model.columns import IntArray, distinct
from simulator.flows.execution import Execution
from simulator.flows.task_states import TaskState
from simulator.group.rebalance_causes import START, Cause
from simulator.processes.simulation_context import Process, SimulationContext
from simulator.random_streams import random_stream
from simulator.results.trace import ScalingStep
from simulator.scaling import Activator, HorizontalAutoscaler, PodSet, scaled_metric, total_lag
from simulator.timeline import change_context
from simulator.world.changes import ChangeContext, ClientDown, ClientUp, PodsReplaced, PodsScaled, TimedChange
from simulator.world.disturbances import event_numbers
from simulator.world.layout import FloatArray, Layout, row_of_values
from simulator.world.pod_events import SYNC_MS, LagScaling, LagTrigger, PodController, PodEvent, PodStart
from simulator.world.world import World


class CommittedLag:
    """The lag of the partitions that the tasks of a world read.

    `partitions`, shape (S,): the rows of the partitions, in the layout, of the given topics or of all sources.
    """

    def __init__(self, world: World, layout: Layout, topics: tuple[str, ...]) -> None:
        """Create the lag of some topics; of all topics that the group reads if none is given."""
        rows: IntArray = distinct(layout.tasks.source.values)
        self.partitions: IntArray = np.array(
            [row for row in rows.tolist() if not topics or layout.partitions[row].topic in topics], dtype=np.int64
        )
        self._reader = row_of_values(layout.tasks.source)
        values = layout.tasks.source.values
        order = np.argsort(values, kind="stable")
        self._task: IntArray = self._reader[order][np.searchsorted(values[order], self.partitions)]
        self._record_bytes: FloatArray = np.array(
            [world.cluster.topics[layout.partitions[row].topic].record_bytes for row in self.partitions.tolist()],
            dtype=np.float64,
        )
        self._interval_ms = world.application.state_configs.commit_interval_ms
        self._phase_ms: IntArray = np.array(
            [
                int(random_stream(world.seed, "commit", client.name).integers(self._interval_ms))
                for client in world.clients
            ],
            dtype=np.int64,
        )
        self._since_ms: IntArray = np.zeros(len(layout.tasks), dtype=np.int64)
        self._num_seen = 0

    def records(self, execution: Execution) -> list[int]:
        """Return the lag of each existing partition in whole records, by row, at the time of the execution."""
        for transition in execution.task_states.transitions[self._num_seen :]:
            if transition.state == TaskState.RUNNING:
                self._since_ms[transition.tasks] = transition.at_ms
        self._num_seen = len(execution.task_states.transitions)
        owner = execution.assignment.owner
        now_ms = execution.now_ms
        # Rows without owner do not run, so their phase does not matter.
        since_commit_ms = (now_ms - self._phase_ms[owner]) % self._interval_ms
        uncommitted_s = (
            execution.processing.rate * np.minimum(since_commit_ms, now_ms - self._since_ms).astype(np.float64) / 1000
        )
        waiting_s = execution.processing.backlog_s + uncommitted_s
        records_per_s = execution.rates.layout.bytes_per_s[self.partitions] / self._record_bytes
        lags: list[int] = np.floor(waiting_s[self._task] * records_per_s + 1e-6).astype(np.int64).tolist()
        exists = execution.exists[self._task].tolist()
        return lags if all(exists) else [lag for lag, is_added in zip(lags, exists, strict=True) if is_added]


Apply = Callable[[TimedChange], None]
"""Lets a change happen."""


class LagScalingProcess:
    """The autoscaler of one workload, with the controller of its pods."""

    def __init__(
        self, scaling: LagScaling, event: int | None, context: SimulationContext, changes: ChangeContext, apply: Apply
    ) -> None:
        """Create the process.

        `changes`: what changes of clients depend on; `apply`: lets one happen.
        """
        self._scaling = scaling
        self._event = event
        self._context = context
        self._changes = changes
        self._apply = apply
        world = context.world
        layout = context.execution.layout
        self._lag_of = [CommittedLag(world, layout, trigger.topics) for trigger in scaling.triggers]
        self._pods = PodSet(scaling.pods, scaling.clients, scaling.replicas, changes.startable)
        self._horizontal = HorizontalAutoscaler(scaling.horizontal, scaling.triggers)
        self._activator = None if scaling.activation is None else Activator(scaling.activation)
        self._replicas = scaling.replicas
        self._polled: list[list[int]] | None = None
        self._last_step: ScalingStep | None = None
        self._added_by: dict[str, ScalingStep] = {}
        self._removed_by: dict[str, ScalingStep] = {}
        self._created_by: dict[str, ScalingStep] = {}
        self._client_names = frozenset(scaling.clients)
        phases = random_stream(world.seed, "lag_scaling", scaling.name)
        self._sync_ms = scaling.at_ms + int(phases.integers(SYNC_MS))
        polling_ms = SYNC_MS if scaling.activation is None else scaling.activation.polling_ms
        self._poll_ms = scaling.at_ms + int(phases.integers(polling_ms))

    def manages(self, client: str) -> bool:
        """Return whether a client is a pod of this autoscaler."""
        return client in self._client_names

    def wants(self, client: str) -> bool:
        """Return whether the process of a pod has been started and not stopped by this autoscaler."""
        return self._pods.wants(client)

    def run(self) -> Process:
        """Wait for the next timer or pod, over and over."""
        env, budget = self._context.env, self._context.budget
        while True:
            due_ms = [self._sync_ms, self._pods.next_change_ms(self._context.now_ms)]
            if self._activator is not None:
                due_ms.append(self._poll_ms)
            next_ms = min(at_ms for at_ms in due_ms if at_ms is not None)
            yield env.timeout(next_ms - self._context.now_ms)
            budget.count_event()
            self._control_pods()
            now_ms = self._context.now_ms
            if self._activator is not None and now_ms == self._poll_ms:
                self._poll(self._activator)
            if now_ms == self._sync_ms:
                self._synchronize()

    def _poll(self, activator: Activator) -> None:
        self._poll_ms += self._scaling.activation.polling_ms if self._scaling.activation is not None else SYNC_MS
        self._polled = self._read_lags()
        lags = [total_lag(lags) for lags in self._polled]
        triggers = zip(self._scaling.triggers, lags, strict=True)
        is_active = any(lag > trigger.activation_lag for trigger, lag in triggers)
        replicas = activator.poll(self._context.now_ms, is_active, self._replicas)
        if replicas is not None and replicas != self._replicas:
            reason = "activated" if replicas > self._replicas else "inactive for the cooldown period"
            self._scale("KEDA", self._polled, replicas, replicas, reason)

    def _synchronize(self) -> None:
        self._sync_ms += SYNC_MS
        now_ms, activation = self._context.now_ms, self._scaling.activation
        lags = self._polled if activation is not None and activation.caches_metric else None
        if lags is None:
            lags = self._read_lags()
        decided = self._horizontal.synchronize(
            now_ms,
            [scaled_metric(trigger, of) for trigger, of in zip(self._scaling.triggers, lags, strict=True)],
            self._replicas,
            self._pods.existing(),
            self._pods.ready(now_ms, self._is_up),
        )
        self._scale("HPA", lags, decided.recommended, decided.replicas, decided.reason)

    def _scale(self, scaler: str, lags: Sequence[Sequence[int]], recommended: int, replicas: int, reason: str) -> None:
        """Set the replicas, and record the decision unless it repeats the last one."""
        now_ms = self._context.now_ms
        ready = self._pods.ready(now_ms, self._is_up)

        def asked_for(seen: tuple[Sequence[int], LagTrigger]) -> tuple[float, int]:
            of, trigger = seen
            ratio = scaled_metric(trigger, of) / trigger.target
            return ratio if trigger.is_average else ratio * max(1, ready), total_lag(of)

        deciding, trigger = max(zip(lags, self._scaling.triggers, strict=True), key=asked_for)
        lag = total_lag(deciding)
        step = ScalingStep(
            at_ms=now_ms,
            workload=self._scaling.name,
            scaler=scaler,
            lag=lag,
            target_lag=trigger.target * (self._pods.existing() if trigger.is_average else 1),
            recommended=recommended,
            replicas_before=self._replicas,
            replicas=replicas,
            ready=ready,
            reason=reason,
        )
        if self._last_step is None or not step.repeats(self._last_step):
            self._context.recorder.note_scaling(step)
            self._last_step = step
        self._replicas = replicas
        if replicas == step.replicas_before:
            return
        decided = self._added_by if replicas > step.replicas_before else self._removed_by
        decided.update(dict.fromkeys(self._pods_of(step), step))
        change = PodsScaled(self._scaling.name, scaler, step.replicas_before, replicas, lag)
        self._context.recorder.note_change(TimedChange(now_ms, change, self._event))
        self._control_pods()

    def _pods_of(self, step: ScalingStep) -> tuple[str, ...]:
        """Return the pods that a decision may add or remove: a Deployment chooses them itself."""
        if self._scaling.pods.controller is PodController.DEPLOYMENT:
            return self._scaling.clients
        first, last = sorted((step.replicas_before, step.replicas))
        return self._scaling.clients[first:last]

    def _control_pods(self) -> None:
        now_ms, kept = self._context.now_ms, self._pods.kept
        for step in self._pods.advance(now_ms, self._replicas, self._is_up):
            is_created_before = step.client in kept  # A pod that is created now may also start now.
            started_by = (self._created_by if is_created_before else self._added_by).get(step.client)
            decision = started_by if isinstance(step, PodStart) else self._removed_by.get(step.client)
            timed = step.change(self._scaling.pods.volume, self._changes)
            self._note_cause(timed.at_ms, decision)
            self._do_at(TimedChange(timed.at_ms, timed.change, self._event))
        for created in self._pods.kept - kept:
            self._created_by.pop(created, None)
            if created in self._added_by:
                self._created_by[created] = self._added_by[created]

    def _note_cause(self, at_ms: int, decision: ScalingStep | None) -> None:
        if decision is not None:
            event = START if self._event is None else self._event
            self._context.recorder.note_scaled_pod(Cause(event, at_ms), decision)

    def _do_at(self, timed: TimedChange) -> None:
        if timed.at_ms <= self._context.now_ms:
            self._apply(timed)
        else:
            self._context.env.process(self._do_later(timed))

    def _do_later(self, timed: TimedChange) -> Process:
        yield self._context.env.timeout(timed.at_ms - self._context.now_ms)
        self._apply(timed)

    def _read_lags(self) -> list[list[int]]:
        """Return the lag of each partition, for each trigger."""
        self._context.execution.advance(self._context.now_ms)
        return [lag.records(self._context.execution) for lag in self._lag_of]

    def _is_up(self, client: str) -> bool:
        fleet = self._context.fleet
        return fleet.up[fleet.row(client)]


class Autoscaling:
    """The processes of all autoscalers; a run may have none."""

    def __init__(self, context: SimulationContext, apply: Apply) -> None:
        """Create the processes of the autoscalers of the world.

        `apply`: lets a change happen.
        """
        self._context = context
        self._apply = apply
        events, self._changes = context.world.disturbances, change_context(context.world)
        self._scalers = [
            LagScalingProcess(event, number, context, self._changes, apply)
            for number, event in zip(event_numbers(events), events, strict=True)
            if isinstance(event, LagScaling)
        ]

    def start(self) -> None:
        """Start the processes, which run with the environment."""
        for scaler in self._scalers:
            self._context.env.process(scaler.run())

    def play(self, timed: TimedChange) -> None:
        """Apply and record a change of the timeline, unless an autoscaler has stopped or not started the client."""
        match timed.change:
            case PodsReplaced(event=PodEvent() as event):
                self._context.env.process(self._replace_pods(event, timed.event))
                return
            case ClientUp(client=client) if not self._is_wanted(client):
                return
            case ClientDown(client=client) if self._scalers and not self._is_up(client):
                self._apply(timed)  # It may be starting.
                return
        self._apply(timed)
        if str(timed.change):
            self._context.recorder.note_change(timed)

    def _replace_pods(self, event: PodEvent, number: int | None) -> Process:
        """Let an event of pods happen to those of them that run now."""
        event = replace(event, clients=tuple(self._running(event.clients)))
        if not event.clients:
            return
        for planned in sorted(event.pod_changes(self._changes), key=lambda change: change.at_ms):
            if planned.at_ms > self._context.now_ms:
                yield self._context.env.timeout(planned.at_ms - self._context.now_ms)
            self.play(replace(planned, event=number))

    def _running(self, clients: tuple[str, ...]) -> Iterator[str]:
        yield from (client for client in clients if self._is_wanted(client))

    def _is_wanted(self, client: str) -> bool:
        return all(scaler.wants(client) for scaler in self._scalers if scaler.manages(client))

    def _is_up(self, client: str) -> bool:
        return self._context.fleet.up[self._context.fleet.row(client)]
