"""Custom assignors that fail, each in its own way, after they have answered correctly for a while."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import os
import random
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import assignor_sim as sim
from assignors.model.assignment import AssignmentColumns


def default_assignment(state: sim.ApplicationState) -> sim.TaskAssignment:
    return sim.HighAvailability().assign(state)


class Correct:
    def assign(self, state: sim.ApplicationState) -> sim.TaskAssignment:
        return default_assignment(state)


class Printing(Correct):
    def assign(self, state: sim.ApplicationState) -> sim.TaskAssignment:
        print("assigning", len(state.tasks))
        return default_assignment(state)


@dataclass
class Failing:
    """Fails in a rebalance in which a client has joined, so the first rebalance succeeds."""

    def assign(self, state: sim.ApplicationState) -> sim.TaskAssignment:
        if len(state.clients) > 3:
            return self.fail(state)
        return default_assignment(state)

    def fail(self, state: sim.ApplicationState) -> Any:
        raise NotImplementedError


class Raising(Failing):
    def fail(self, state: sim.ApplicationState) -> Any:
        return {}["\x1b[31mno such\nkey"]


class Unprintable(Failing):
    def fail(self, state: sim.ApplicationState) -> Any:
        class BrokenError(Exception):
            def __str__(self) -> str:
                raise ValueError

        raise BrokenError


class Exiting(Failing):
    def fail(self, state: sim.ApplicationState) -> Any:
        sys.exit(3)


class Recursive(Failing):
    def fail(self, state: sim.ApplicationState) -> Any:
        return self.fail(state)


class Endless(Failing):
    def fail(self, state: sim.ApplicationState) -> Any:
        while True:
            pass


class Stubborn(Failing):
    def fail(self, state: sim.ApplicationState) -> Any:
        while True:
            with contextlib.suppress(Exception):
                time.sleep(0.01)


class Sleeping(Failing):
    def fail(self, state: sim.ApplicationState) -> Any:
        time.sleep(3600)


class Greedy(Failing):
    def fail(self, state: sim.ApplicationState) -> Any:
        kept = []
        while True:
            kept.append(bytearray(2**26))


class NotDeterministic(Failing):
    """Answers at random: in the rebalance of 4 clients, which is call 2, or in a later one."""

    def fail(self, state: sim.ApplicationState) -> Any:
        clients = list(state.kafka_streams_states)
        tasks: dict[Any, dict[Any, Any]] = {client: {} for client in clients}
        for task in state.all_tasks:
            tasks[random.choice(clients)][task] = sim.TaskType.ACTIVE
        return sim.TaskAssignment(sim.KafkaStreamsAssignment(client, tasks[client]) for client in clients)


class Counting(Failing):
    """Depends on how often it was called."""

    calls = 0

    def fail(self, state: sim.ApplicationState) -> Any:
        self.calls += 1
        clients = list(state.kafka_streams_states)
        chosen = clients[self.calls % len(clients)]
        tasks = dict.fromkeys(state.all_tasks, sim.TaskType.ACTIVE)
        return sim.TaskAssignment(sim.KafkaStreamsAssignment(c, tasks if c == chosen else {}) for c in clients)


def _changing(change: Callable[[Any], object]) -> type[Failing]:
    class Changing(Failing):
        def fail(self, state: sim.ApplicationState) -> Any:
            change(state)
            return default_assignment(state)

    return Changing


def _clear_lags(state: Any) -> None:
    state.lags[:] = 0


def _move_racks(state: Any) -> None:
    state.partitions.in_rack[:] = True


def _unlock(state: Any) -> None:
    state.clients.threads.setflags(write=True)
    state.clients.threads[0] = 99


def _forget_client(state: Any) -> None:
    del state.kafka_streams_states[next(iter(state.kafka_streams_states))]


def _tag(state: Any) -> None:
    next(iter(state.kafka_streams_states.values())).client_tags["zone"] = "1"


def _tag_columns(state: Any) -> None:
    state.clients.tags[0]["zone"] = "1"


def _replace_configs(state: Any) -> None:
    state.assignment_configs = None


CHANGES = (_clear_lags, _move_racks, _unlock, _forget_client, _tag, _tag_columns, _replace_configs)
CHANGING = [_changing(change) for change in CHANGES]


class Late(Failing):
    """Requests a follow-up rebalance in an age of the world."""

    def fail(self, state: sim.ApplicationState) -> Any:
        first, *others = default_assignment(state).assignment
        late = sim.KafkaStreamsAssignment(first.process_id, first.tasks, 10**30)
        return sim.TaskAssignment([late, *others])


class LateInColumns(Failing):
    def fail(self, state: sim.ApplicationState) -> Any:
        columns = AssignmentColumns.of(state, default_assignment(state))
        return dataclasses.replace(columns, followup_rebalance_delay_ms=2**52 + 1).to_assignment(state)


class VeryLate(Late):
    """The latest possible request changes nothing within the run."""

    def fail(self, state: sim.ApplicationState) -> Any:
        columns = AssignmentColumns.of(state, default_assignment(state))
        return dataclasses.replace(columns, followup_rebalance_delay_ms=2**52).to_assignment(state)


class Wandering(Correct):
    """Changes the working directory when it is built, and in each call."""

    def __init__(self) -> None:
        os.chdir("/")

    def assign(self, state: sim.ApplicationState) -> sim.TaskAssignment:
        os.chdir(os.path.dirname(__file__))
        return default_assignment(state)


class LeavingThreads(Correct):
    """Leaves a thread that works for ten minutes."""

    def assign(self, state: sim.ApplicationState) -> sim.TaskAssignment:
        threading.Thread(target=time.sleep, args=(600,), daemon=False).start()
        return default_assignment(state)


class WrongType(Failing):
    def fail(self, state: sim.ApplicationState) -> Any:
        return {"client": ["0_0"]}


class BrokenConstructor(Correct):
    def __init__(self) -> None:
        raise RuntimeError("no license")


class Crashing(Failing):
    def fail(self, state: sim.ApplicationState) -> Any:
        ctypes.string_at(0)


class ExitingAtOnce(Failing):
    def fail(self, state: sim.ApplicationState) -> Any:
        with contextlib.suppress(Exception):
            os._exit(0)


class Replacing(Failing):
    def fail(self, state: sim.ApplicationState) -> Any:
        os.execlp("true", "true")


class Forking(Failing):
    """A process that it forks may end itself."""

    def fail(self, state: sim.ApplicationState) -> Any:
        child = os.fork()
        if not child:
            os._exit(5)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
        raise ValueError("its child has ended")


class ExitingInC(Failing):
    def fail(self, state: sim.ApplicationState) -> Any:
        ctypes.CDLL(None)._exit(7)


class Unresponsive(Failing):
    """Computes for years in one operation of the interpreter, which no exception interrupts."""

    def fail(self, state: sim.ApplicationState) -> Any:
        return 10**10**10
