"""The process of an isolated assignor: builds it, and answers requests for assignments.

The process that started it kills it when a call takes too long. If that process has died, this one ends because the
pipe is closed, or, if the assignor never returns to the interpreter, by a timer of the system.
"""

from __future__ import annotations

import math
import os
import pickle
import select
import signal
import sys
import threading
from multiprocessing.connection import Connection
from typing import Any

from assignors.containment.contained import InProcessHost, Recipe
from assignors.containment.guarded_call import guarded_call, one_line
from assignors.errors import AssignorError
from assignors.flow import FlowEffort, flow_cache
from assignors.model.assignment import TaskAssignor
from assignors.recording import Exchange, LeaderWork, PlacementStep, Recorder

_GRACE_S = 5.0
"""Time that the other process has to kill this one before the timer does."""


def main(timeout_s: float, memory_bytes: int) -> None:
    """Answer requests until the pipe is closed.

    `timeout_s`: time limit of a call; `memory_bytes`: memory that the assignor may allocate.
    """
    requests, answers = take_pipe()
    end_with_parent(requests.fileno())
    _limit_memory(memory_bytes)
    assignor: TaskAssignor | None = None
    with flow_cache():
        while True:
            try:
                request = requests.recv_bytes()
            except (EOFError, OSError):
                return
            _start_timer(timeout_s + _GRACE_S)
            try:
                assignor, result = _answer(request, assignor)
                answer: tuple[Any, ...] = ("result", result)
            except AssignorError as error:
                answer = ("error", type(error).__name__, [one_line(str(argument)) for argument in error.args])
            except MemoryError:
                answer = ("error", "CustomAssignorError", ["ran out of memory"])
            _start_timer(0)
            answers.send(answer)


def _answer(request: bytes, assignor: TaskAssignor | None) -> tuple[TaskAssignor, Any]:
    """Return the assignor from now on, and the answer."""
    kind, *arguments = guarded_call(lambda: pickle.loads(request), math.inf, "while it was imported")
    if kind == "build":
        recipe: Recipe = guarded_call(lambda: pickle.loads(arguments[0]), math.inf, "while it was imported")
        return guarded_call(recipe.build, math.inf, "while it was built"), None
    assert assignor is not None
    state, wants_steps = arguments
    calls = _CallLog(wants_steps)
    columns = InProcessHost(assignor, math.inf).compute(state, calls)
    parts = (columns.active, columns.standby, columns.followup_rebalance_delay_ms, columns.thread)
    return assignor, (parts, calls.calls)


class _CallLog(Recorder):
    """Keeps the calls, which the other process repeats."""

    def __init__(self, wants_steps: bool) -> None:
        self.wants_steps = wants_steps
        self.calls: list[tuple[str, tuple[Any, ...]]] = []

    def flow(self, effort: FlowEffort, times: int = 1) -> None:
        self.calls.append(("flow", (effort, times)))

    def work(self, kind: LeaderWork, count: float) -> None:
        self.calls.append(("work", (kind, count)))

    def step(self, step: PlacementStep) -> None:
        self.calls.append(("step", (step,)))

    def exchange(self, exchange: Exchange) -> None:
        self.calls.append(("exchange", (exchange,)))


def take_pipe() -> tuple[Connection, Connection]:
    """Return the pipe, and leave the assignor an empty standard input, and standard error as standard output."""
    requests, answers = os.dup(0), os.dup(1)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    os.dup2(2, 1)
    return Connection(requests, writable=False), Connection(answers, readable=False)


def end_with_parent(pipe: int) -> None:
    """Exit when the other end of a pipe is closed, also during a call."""

    def watch() -> None:
        poller = select.poll()
        poller.register(pipe, 0)  # Reports only that the other end is closed.
        poller.poll()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _limit_memory(memory_bytes: int) -> None:
    """Limit what the process allocates from now on; Linux only, where a limit of the data includes mapped memory."""
    if not sys.platform.startswith("linux"):
        return
    import resource

    with open("/proc/self/statm", encoding="ascii") as file:
        data_pages = int(file.read().split()[5])
    limit = data_pages * resource.getpagesize() + memory_bytes
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


def _start_timer(seconds: float) -> None:
    """Let the system end this process after some seconds; 0 to stop the timer."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)
