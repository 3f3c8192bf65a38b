"""Processing: how fast tasks process their input, and how much input waits.

The input of a task that does not run waits in its backlog. A running task processes its input and its backlog as fast
as its thread can; the tasks of a thread share its capacity.

Amounts are in seconds of usual input: the input of a task in one second at the traffic of the world.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from assignors.model.columns import BoolArray, IntArray, distinct
from simulator.max_min_fairness import max_min_shares
from simulator.world.layout import FloatArray

_NEGLIGIBLE_S = 1e-6
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class ThreadLoad:
    """What a thread has to process, and what it can.

    Attributes:
        client: row of its client.
        thread: its number in the client, from 0 on.
        active_tasks: number of its running active tasks.
        max_records_per_s: what it can process; infinity for no limit.
        delay_s: maximum waiting input of its tasks, in seconds of usual input.
        behind_since_ms: since when less is processed than arrives of one of its tasks; None if it can keep up.
    """

    client: int
    thread: int
    active_tasks: int
    input_records_per_s: float
    max_records_per_s: float
    delay_s: float
    behind_since_ms: int | None


@dataclass(frozen=True, slots=True)
class Overload:
    """A period in which tasks were behind because more arrived for their threads than those process.

    It begins with the first overloaded thread, and ends when all tasks have caught up. The delay is the part of the
    waiting input that overload caused: what waited before, after a downtime, does not count.

    Attributes:
        from_ms: its start.
        until_ms: its end; None if tasks were still behind.
        threads: maximum number of threads that were overloaded at the same time.
        delay_s: maximum delay of a task, in seconds of usual input.
        delay_at_ms: when that was reached.
        task: the row of that task; the following is what held before that time.
        thread: the row of its thread among all threads.
        active_tasks: number of running active tasks of that thread.
        max_records_per_s: what that thread can process.
        all_input_records_per_s: the input of all running tasks.
        all_max_records_per_s: what their threads can process; infinity for no limit.
    """

    from_ms: int
    until_ms: int | None = None
    threads: int = 0
    delay_s: float = 0.0
    delay_at_ms: int = 0
    task: int = 0
    thread: int = 0
    active_tasks: int = 0
    input_records_per_s: float = 0.0
    max_records_per_s: float = 0.0
    all_input_records_per_s: float = 0.0
    all_max_records_per_s: float = 0.0


class OverloadLog:
    """The periods of overload of T tasks."""

    def __init__(self, num_tasks: int) -> None:
        """Create the log without periods."""
        self._delay_s: FloatArray = np.zeros(num_tasks, dtype=np.float64)
        self._noted_ms = 0
        self._periods: list[Overload] = []
        self._current: Overload | None = None

    def note(self, now_ms: int, processing: Processing) -> None:
        """Note what has happened up to now at the rates of the processing, before they change."""
        from_ms, self._noted_ms = self._noted_ms, now_ms
        if now_ms == from_ms:
            return
        behind_s = processing.overload() * ((now_ms - from_ms) / 1000)
        is_growing = bool(behind_s.any())
        if self._current is None and not is_growing:
            return
        current = self._current or Overload(from_ms)
        self._delay_s = np.minimum(self._delay_s + behind_s, processing.backlog_s)
        if is_growing:
            current = processing.note_overload(current, now_ms, self._delay_s)
        if is_growing or (self._delay_s > _NEGLIGIBLE_S).any():
            self._current = current
        else:
            self._periods.append(replace(current, until_ms=now_ms))
            self._current = None

    def periods(self) -> tuple[Overload, ...]:
        """Return the periods up to the last note, by time."""
        return (*self._periods, *(() if self._current is None else (self._current,)))


class Processing:
    """The input of T tasks.

    Attributes:
        backlog_s: shape (T,); the input that waits.
        max_processing_delay_s: shape (T,); the maximum backlog so far.
        rate: shape (T,); seconds of usual input that are processed per second, 0 where the task does not run.
        work_s: shape (T,); the work since the last `take_work`.
        has_instant_work: whether threads without limit have processed backlogs since the last `take_instant_work`.
    """

    def __init__(self, records_per_s: FloatArray, thread_capacity: FloatArray) -> None:
        """Create the processing without backlog and without running tasks.

        `records_per_s`, shape (T,): the usual input of each task. `thread_capacity`, shape (H,): records per second
        that each thread can process, infinity for no limit.
        """
        num_tasks = len(records_per_s)
        self._records_per_s = records_per_s
        self._capacity = thread_capacity
        self._unlimited = np.isinf(thread_capacity)
        self._is_unlimited = bool(self._unlimited.all())
        self._factor: FloatArray = np.ones(num_tasks, dtype=np.float64)
        self._running: BoolArray = np.zeros(num_tasks, dtype=np.bool_)
        self._thread: IntArray = np.zeros(num_tasks, dtype=np.int64)
        self.backlog_s: FloatArray = np.zeros(num_tasks, dtype=np.float64)
        self.max_processing_delay_s: FloatArray = np.zeros(num_tasks, dtype=np.float64)
        self.rate: FloatArray = np.zeros(num_tasks, dtype=np.float64)
        self.work_s: FloatArray = np.zeros(num_tasks, dtype=np.float64)
        self._instant_work_s: FloatArray = np.zeros(num_tasks, dtype=np.float64)
        self.has_instant_work = False
        self._is_steady = self._keeps_up = False
        self._usual_rate = self._rate_without_limit()

    @property
    def limits_threads(self) -> bool:
        """Whether any thread has a limit; without one, `update_rates` needs no threads."""
        return not self._is_unlimited

    def advance(self, seconds: float) -> FloatArray:
        """Let time pass at the current rates, and return the processed work, shape (T,)."""
        arrived = self._factor * seconds
        if self._is_steady:
            self.work_s += arrived
            return arrived
        self.backlog_s += arrived
        # Times are whole milliseconds, so a task may have caught up a little before now.
        processed = np.minimum(self.rate * seconds, self.backlog_s)
        self.work_s += processed
        self.backlog_s -= processed
        np.maximum(self.max_processing_delay_s, self.backlog_s, out=self.max_processing_delay_s)
        return processed

    def flows(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return the arrays that `advance` uses: the input and the rates; and changes: backlog, work and delays."""
        return self._factor, self.rate, self.backlog_s, self.work_s, self.max_processing_delay_s

    def clear_backlog(self) -> None:
        """Remove the backlog and its maximum, as if the application had been running before."""
        self.backlog_s[:] = 0.0
        self.max_processing_delay_s[:] = 0.0

    def set_input(self, factor: float | FloatArray, records_per_s: FloatArray | None = None) -> None:
        """Set the input to a multiple of the usual one.

        `factor`: the multiple for all tasks, or shape (T,). `records_per_s`, shape (T,): the new number of records in a
        second of usual input; None for no change.
        """
        self._factor = np.broadcast_to(np.asarray(factor, dtype=np.float64), self.backlog_s.shape).copy()
        if records_per_s is not None:
            self._records_per_s = records_per_s
        self._usual_rate = self._rate_without_limit()
        self._keeps_up = False
        self.update_rates(self._running, self._thread)

    def update_rates(self, running: BoolArray, thread: IntArray | None) -> None:
        """Recompute how fast each task is processed.

        `running`, shape (T,): which tasks are processed. `thread`, shape (T,): the thread of each task among all
        threads; arbitrary where it does not run. None if no thread has a limit.
        """
        if self._keeps_up and (running == self._running).all():
            return  # What runs has no backlog, and its rate stays the same.
        self._running, usual = running, self._records_per_s
        if thread is not None:
            self._thread = thread
        is_instant = running
        if not self._is_unlimited:
            is_instant = running & (self._unlimited.take(self._thread, mode="clip") | (usual == 0))
        instant_work_s = np.where(is_instant, self.backlog_s, 0.0)
        if instant_work_s.any():
            self.has_instant_work = True
            self.work_s += instant_work_s
            self._instant_work_s += instant_work_s
            self.backlog_s[is_instant] = 0.0
        if self._is_unlimited:
            self.rate = np.where(running, self._usual_rate, 0.0)
        else:
            self.rate = self._limited_rate()
        self._keeps_up = self._is_unlimited and bool((self._usual_rate == self._factor).all())
        # Then all input is processed at once.
        self._is_steady = bool((self.rate == self._factor).all()) and not self.backlog_s.any()

    def _limited_rate(self) -> FloatArray:
        """Return the rate of each task if threads have limits, shape (T,)."""
        running, usual = self._running, self._records_per_s
        shares = np.where(self.backlog_s > _NEGLIGIBLE_S, np.inf, usual * self._factor)
        tasks = np.flatnonzero(running)
        shares[tasks] = max_min_shares(self._capacity, self._thread[tasks], shares[tasks])
        rate: FloatArray = np.where(running, self._factor, 0.0)
        np.divide(shares, usual, out=rate, where=running & (usual > 0))
        return rate

    def _rate_without_limit(self) -> FloatArray:
        """Return the rate of each task on a thread without limit once its backlog is processed, shape (T,)."""
        rate, usual = self._factor.copy(), self._records_per_s
        np.divide(usual * self._factor, usual, out=rate, where=usual > 0)
        return rate

    @property
    def keeps_up(self) -> BoolArray:
        """Shape (T,); whether as much of the input is processed as arrives."""
        keeps: BoolArray = self.rate >= self._factor * (1 - _ROUNDING)
        return keeps

    def overload(self) -> FloatArray:
        """Return by how much each task falls behind per second because its thread is overloaded, shape (T,)."""
        slow = self._running & ~self.keeps_up
        if slow.any():
            # A thread that catches up may process a task more slowly than its input arrives, for the sake of another.
            slow &= self._is_overloaded().take(self._thread, mode="clip")
        behind: FloatArray = np.where(slow, self._factor - self.rate, 0.0)
        return behind

    def note_overload(self, period: Overload, now_ms: int, delay_s: FloatArray) -> Overload:
        """Return a period of overload with what held up to now.

        `delay_s`, shape (T,): the delay of each task that overload has caused.
        """
        is_overloaded, worst = self._is_overloaded(), int(delay_s.argmax())
        period = replace(period, threads=max(period.threads, int(is_overloaded.sum())))
        if delay_s[worst] <= period.delay_s + _NEGLIGIBLE_S:
            return period
        thread, arriving = int(self._thread[worst]), self._thread_input()
        tasks = np.bincount(self._thread[self._running], minlength=len(self._capacity))
        return replace(
            period,
            delay_s=float(delay_s[worst]),
            delay_at_ms=now_ms,
            task=worst,
            thread=thread,
            active_tasks=int(tasks[thread]),
            input_records_per_s=float(arriving[thread]),
            max_records_per_s=float(self._capacity[thread]),
            all_input_records_per_s=float(arriving.sum()),
            all_max_records_per_s=float(self._capacity[tasks > 0].sum()),
        )

    def _is_overloaded(self) -> BoolArray:
        """Return whether more arrives for each thread than it can process, shape (H,)."""
        is_overloaded: BoolArray = self._thread_input() > self._capacity * (1 + _ROUNDING)
        return is_overloaded

    def _thread_input(self) -> FloatArray:
        """Return the input of the running tasks of each thread in records per second, shape (H,)."""
        input_records_per_s = (self._records_per_s * self._factor)[self._running]
        threads = self._thread[self._running]
        return np.asarray(
            np.bincount(threads, weights=input_records_per_s, minlength=len(self._capacity)), dtype=np.float64
        )

    def thread_loads(self, behind_since_ms: IntArray, first_thread: IntArray) -> list[ThreadLoad]:
        """Return the threads that have running tasks, by row; none if no thread has a limit.

        `behind_since_ms`, shape (T,): since when each task is processed more slowly than its input arrives.
        `first_thread`, shape (N + 1,): the row of the first thread of each client.
        """
        tasks = np.flatnonzero(self._running) if self.limits_threads else np.zeros(0, dtype=np.int64)
        loads, is_behind, arriving = [], self.overload() > 0, self._thread_input()
        for thread in distinct(self._thread[tasks]).tolist():
            of_thread = tasks[self._thread[tasks] == thread]
            behind = of_thread[is_behind[of_thread]]
            client = int(np.searchsorted(first_thread, thread, side="right")) - 1
            loads.append(
                ThreadLoad(
                    client,
                    thread - int(first_thread[client]),
                    len(of_thread),
                    float(arriving[thread]),
                    float(self._capacity[thread]),
                    float(self.backlog_s[of_thread].max()),
                    int(behind_since_ms[behind].min()) if len(behind) else None,
                )
            )
        return loads

    def next_change_s(self) -> float:
        """Return the seconds until the next task has no backlog, infinity if none catches up."""
        behind = self._running & (self.backlog_s > _NEGLIGIBLE_S)
        if not behind.any():
            return math.inf
        closing = self.rate - self._factor
        behind &= closing > 0
        return float((self.backlog_s[behind] / closing[behind]).min(initial=np.inf))

    def take_work(self) -> FloatArray:
        """Return the work since the last call, shape (T,)."""
        taken = self.work_s
        self.work_s = np.zeros(len(taken), dtype=np.float64)
        return taken

    def take_instant_work(self) -> FloatArray:
        """Return the work that threads without limit processed instantly since the last call, shape (T,)."""
        taken, self.has_instant_work = self._instant_work_s, False
        self._instant_work_s = np.zeros(len(taken), dtype=np.float64)
        return taken
