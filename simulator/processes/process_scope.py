"""The processes of a group under one protocol, which end together when the group is converted to another protocol."""

from __future__ import annotations

import simpy
from simpy.events import URGENT

from simulator.processes.simulation_context import Process


def timer_of_broker(env: simpy.Environment, delay_ms: int) -> simpy.Event:
    """Return an event after a delay; the coordinator's timers come before other events of their millisecond."""
    event = env.event()
    event._ok, event._value = True, None
    env.schedule(event, URGENT, delay_ms)
    return event


class ProcessScope:
    """Starts processes, and ends all of them at once."""

    def __init__(self, env: simpy.Environment) -> None:
        self._env = env
        self._has_ended = False

    def start(self, process: Process) -> None:
        """Start a process; its events carry no values."""
        self._env.process(self._run(process))

    def end(self) -> None:
        """End all processes: each of them does nothing at its next event."""
        self._has_ended = True

    def _run(self, process: Process) -> Process:
        for event in process:
            yield event
            if self._has_ended:
                return
