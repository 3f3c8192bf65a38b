"""Steps in time of the fluid model: while rates are constant, input is processed, and changelogs and copies grow.

Dozens of members join a rebalance at moments of their own, and each of them reports positions. So the steps from one
join to the next are taken together, as soon as anything else happens: with NumPy, or by one compiled kernel, which
saves time from hundreds of tasks on. It does the floating-point operations of `Processing.advance` and `take_step` for
each task and each copy in the same order, so it gives the same numbers to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from assignors.compilation import COMPILED
from assignors.model.columns import IntArray
from simulator.flows.assigned_copies import AssignedCopies, CopyPositions, CopyRates, CopyReads
from simulator.flows.processing import Processing
from simulator.world.layout import FloatArray

_NONE: FloatArray = np.zeros(0, dtype=np.float64)
_NO_READS: FloatArray = np.zeros((2, 0, 0), dtype=np.float64)


class TaskFlows(NamedTuple):
    """The input and the changelogs of T tasks; see `Processing` and `Restoration`."""

    factor: FloatArray
    rate: FloatArray
    backlog: FloatArray
    work: FloatArray
    max_delay: FloatArray
    write_bytes_per_s: FloatArray
    end_bytes: FloatArray


class CopyFlows(NamedTuple):
    """The positions of K assigned copies, and what they read; see `CopyPositions` and `CopyReads`."""

    task: IntArray
    rate: FloatArray
    held: FloatArray
    """shape (S + 1, K); the positions before and after each of S steps, of which the first row is given"""
    max_held: FloatArray
    behind: FloatArray
    """shape (K,); 1 for the copies that have not caught up, else 0; no entries if all have"""
    read_behind: FloatArray
    """shape (S, K); the bytes that copies read in each step to catch up"""
    read_again: FloatArray
    """shape (S, K); the part of them that the copies had held before"""
    read_bytes: FloatArray
    """shape (K,); the bytes that copies read to catch up, in all steps so far"""
    follows: FloatArray
    """shape (K,); 1 for the standbys that have caught up, else 0; no entries if there are none"""
    followed_bytes: FloatArray
    """shape (K,); the bytes that these read, in all steps so far"""


class AssignedFlows(NamedTuple):
    """K assigned copies, their positions, their rates, and what they read; the last three change as time passes."""

    copies: AssignedCopies
    positions: CopyPositions
    rates: CopyRates
    reads: CopyReads


def steps_between(now_ms: int, moments_ms: Sequence[int]) -> tuple[list[float], list[int]]:
    """Return the steps in time from now on to each of some moments, which are in order.

    Returns the seconds of each step, and how many steps come before each moment.
    """
    seconds: list[float] = []
    steps_before: list[int] = []
    for at_ms in moments_ms:
        if at_ms > now_ms:
            seconds.append((at_ms - now_ms) / 1000)
            now_ms = at_ms
        steps_before.append(len(seconds))
    return seconds, steps_before


def pass_time(
    seconds: Sequence[float],
    processing: Processing,
    changelogs: tuple[FloatArray, FloatArray],
    flows: AssignedFlows,
    *,
    compiled: bool = False,
) -> Sequence[FloatArray]:
    """Let input be processed, and copies read or write their changelogs, in steps at constant rates.

    `seconds`: the duration of each of S steps. `changelogs`: the bytes that each task writes for a second of usual
    input, and the length of its changelog, which is changed in place; two arrays of shape (T,). `compiled` says whether
    to use the compiled kernel, with the same result. Returns the positions of the copies before the first step and
    after each, S + 1 arrays of shape (K,).
    """
    if compiled and seconds:
        return _pass_time_compiled(seconds, TaskFlows(*processing.flows(), *changelogs), flows)
    write_bytes_per_s, end_bytes = changelogs
    held = [flows.positions.held]
    for duration_s in seconds:
        end_bytes += write_bytes_per_s * processing.advance(duration_s)
        take_step(duration_s, end_bytes, flows)
        held.append(flows.positions.held)
    return held


def take_step(seconds: float, end_bytes: FloatArray, flows: AssignedFlows) -> None:
    """Let copies read or write their changelogs for some time at constant rates.

    `seconds`: how long. `end_bytes`, shape (T,): the length of each task's changelog at the end.
    """
    copies, positions, rates, reads = flows
    before, max_held = positions.held, positions.max_held
    is_at_maximum = before is max_held
    after = np.minimum(before + rates.rate * seconds, end_bytes.take(copies.task))
    if rates.is_any_behind or rates.has_followers:
        read = after - before
    if rates.is_any_behind:
        behind = ~rates.caught_up
        read_behind = read * behind
        # What a copy reads for the first time, it has not held before.
        again = None if is_at_maximum else np.maximum(np.minimum(after, max_held) - before, 0.0) * behind
        reads.read_bytes[0] += read_behind
        reads.restore(read_behind, again)
    if rates.has_followers:
        reads.read_bytes[1] += read * (rates.caught_up & ~copies.active)
    # Positions only grow as time passes.
    positions.advance_to(after, after if is_at_maximum else np.maximum(max_held, after))


def _pass_time_compiled(seconds: Sequence[float], tasks: TaskFlows, flows: AssignedFlows) -> list[FloatArray]:
    """Let time pass with the compiled kernel, and return the positions, as `pass_time`."""
    copies, positions, rates, reads = flows
    num_steps, is_behind = len(seconds), rates.is_any_behind
    is_at_maximum = positions.held is positions.max_held
    held = np.empty((num_steps + 1, len(copies)), dtype=np.float64)
    held[0] = positions.held
    read_in_steps = np.empty((2, num_steps, len(copies)), dtype=np.float64) if is_behind else _NO_READS
    max_held = positions.max_held.copy()
    copy_flows = CopyFlows(
        task=copies.task,
        rate=rates.rate,
        held=held,
        max_held=max_held,
        behind=(~rates.caught_up).astype(np.float64) if is_behind else _NONE,
        read_behind=read_in_steps[0],
        read_again=read_in_steps[1],
        read_bytes=reads.read_bytes[0],
        follows=(rates.caught_up > copies.active).astype(np.float64) if rates.has_followers else _NONE,
        followed_bytes=reads.read_bytes[1],
    )
    _compiled_kernel()(np.array(seconds, dtype=np.float64), tasks, copy_flows)
    if is_behind:
        for read_behind, read_again in zip(*read_in_steps, strict=True):
            reads.restore(read_behind, None if is_at_maximum else read_again)
    last = held[-1]
    positions.advance_to(last, last if is_at_maximum else max_held)
    return [*held[:-1], last]


@cache
def _compiled_kernel() -> Callable[[FloatArray, TaskFlows, CopyFlows], None]:
    return COMPILED.of(take_steps)


def take_steps(seconds: FloatArray, tasks: TaskFlows, copies: CopyFlows) -> None:
    """Take all steps, one after the other (kernel)."""
    for step in range(len(seconds)):
        process(seconds[step], tasks)
        restore(seconds[step], step, tasks.end_bytes, copies)


def process(seconds: float, tasks: TaskFlows) -> None:
    """Process the input of one step, and let changelogs grow (kernel)."""
    for task in range(len(tasks.rate)):
        waiting = tasks.backlog[task] + tasks.factor[task] * seconds
        processed = tasks.rate[task] * seconds
        processed = min(waiting, processed)
        tasks.work[task] += processed
        waiting -= processed
        tasks.backlog[task] = waiting
        tasks.max_delay[task] = max(tasks.max_delay[task], waiting)
        tasks.end_bytes[task] += tasks.write_bytes_per_s[task] * processed


def restore(seconds: float, step: int, end_bytes: FloatArray, copies: CopyFlows) -> None:
    """Let copies read or write their changelogs in one step (kernel)."""
    before, after = copies.held[step], copies.held[step + 1]
    for copy in range(len(copies.rate)):
        after[copy] = min(end_bytes[copies.task[copy]], before[copy] + copies.rate[copy] * seconds)
    if len(copies.behind):
        behind, again = copies.read_behind[step], copies.read_again[step]
        for copy in range(len(copies.behind)):
            read = (after[copy] - before[copy]) * copies.behind[copy]
            behind[copy] = read
            repeated = max(0.0, min(after[copy], copies.max_held[copy]) - before[copy])
            again[copy] = repeated * copies.behind[copy]
            copies.read_bytes[copy] += read
    if len(copies.follows):
        for copy in range(len(copies.follows)):
            copies.followed_bytes[copy] += (after[copy] - before[copy]) * copies.follows[copy]
    for copy in range(len(copies.rate)):
        copies.max_held[copy] = max(copies.max_held[copy], after[copy])
