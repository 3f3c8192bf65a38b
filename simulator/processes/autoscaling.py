"""The autoscalers of a run, and what they change for the events of the pods that they scale."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from simulator.processes.lag_scaling import Apply, LagScalingProcess
from simulator.processes.simulation_context import Process, SimulationContext
from simulator.timeline import pod_event_changes
from simulator.world.changes import ClientDown, ClientUp, PodsReplaced, TimedChange
from simulator.world.event_labels import event_numbers
from simulator.world.lag_scaling import LagScaling
from simulator.world.pod_events import PodEvent


class Autoscaling:
    """The processes of all autoscalers; a run may have none."""

    def __init__(self, context: SimulationContext, apply: Apply) -> None:
        """Create the processes of the autoscalers of the world.

        Args:
            context: the objects of the run.
            apply: lets a change happen.
        """
        self._context = context
        self._apply = apply
        events = context.world.disturbances
        self._scalers = [
            LagScalingProcess(event, number, context, apply)
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
            case PodsReplaced(event=event):
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
        for planned in sorted(pod_event_changes(self._context.world, event), key=lambda change: change.at_ms):
            if planned.at_ms > self._context.now_ms:
                yield self._context.env.timeout(planned.at_ms - self._context.now_ms)
            self.play(replace(planned, event=number))

    def _running(self, clients: tuple[str, ...]) -> Iterator[str]:
        yield from (client for client in clients if self._is_wanted(client))

    def _is_wanted(self, client: str) -> bool:
        return all(scaler.wants(client) for scaler in self._scalers if scaler.manages(client))

    def _is_up(self, client: str) -> bool:
        return self._context.fleet.up[self._context.fleet.row(client)]
