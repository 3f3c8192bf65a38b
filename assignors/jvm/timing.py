"""The time and the memory of an assignor in Java, by the rules of JMH: fresh JVMs, warm-up, several iterations."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from assignors.errors import CustomAssignorError
from assignors.jvm.assignor import JavaAssignor
from assignors.jvm.process import JavaError, JavaProcess
from assignors.model.state import ApplicationState


@dataclass(frozen=True, slots=True)
class TimingPlan:
    """How to time.

    Attributes:
        forks: number of JVMs.
        warmup_ms: how long the assignor works on a state before it is timed.
        iterations: how often it is timed on a state in each JVM.
        iteration_ms: how long it works in each iteration.
    """

    forks: int
    warmup_ms: int
    iterations: int
    iteration_ms: int


@dataclass(frozen=True, slots=True)
class TimedCalls:
    """Calls in one JVM: the means of its iterations.

    Attributes:
        ns: nanoseconds for each call, by iteration.
        allocated_bytes: what a call allocates on the heap, in bytes, by iteration.
    """

    ns: tuple[float, ...]
    allocated_bytes: tuple[float, ...]


def time_calls(assignor: JavaAssignor, states: Sequence[ApplicationState], plan: TimingPlan) -> list[TimedCalls]:
    """Time an assignor on states, one after the other, in a new JVM.

    Only the assignor counts, and not the conversion of its input and of its answer. Raises CustomAssignorError if it
    throws, or does not answer in time.
    """
    java, limits = assignor.java, assignor.limits
    process = JavaProcess(limits.memory_bytes)
    try:
        process.load(java.key, java.name, java.interface, java.classes)
        return [_timed(process, assignor, state, plan) for state in states]
    except JavaError as error:
        raise CustomAssignorError(f"{java.name} raised {error}") from error
    finally:
        process.close()


def _timed(process: JavaProcess, assignor: JavaAssignor, state: ApplicationState, plan: TimingPlan) -> TimedCalls:
    request = {
        "kind": "time",
        "name": assignor.java.key,
        "problem": json.loads(assignor.request(state)),
        "warmup_ms": plan.warmup_ms,
        "iterations": plan.iterations,
        "iteration_ms": plan.iteration_ms,
    }
    # The conversions take up to as long as the assignor; each call has the time limit of one.
    seconds = 2 * (plan.warmup_ms + plan.iterations * plan.iteration_ms) / 1_000
    limit_s = assignor.limits.timeout_s * (1 + plan.iterations) + seconds
    answer = process.answer(json.dumps(request).encode(), limit_s)
    return TimedCalls(
        tuple(nanos / calls for calls, nanos, _ in answer["iterations"]),
        tuple(allocated / calls for calls, _, allocated in answer["iterations"]),
    )
