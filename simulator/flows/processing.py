"""Processing: what tasks have done of their input, and how much of it waits.

While a task is not running, its input piles up. A task that runs takes what comes in, and catches up as fast as its
thread can, which the thread's tasks share.

Amounts are in seconds of usual input: what comes in to a task in a second when traffic is as the world says.
"""

from __future__ import annotations

import numpy as np

from assignors.model.columns import BoolArray, IntArray
from simulator.max_min_fairness import max_min_shares
from simulator.world.layout import FloatArray

_NOTHING_S = 1e-6


class Processing:
    """The input of T tasks.

    Attributes:
        waiting_s: shape (T,); the input that waits.
        max_processing_delay_s: shape (T,); the most that ever did.
        rate: shape (T,); seconds of usual input processed in a second, 0 where the task does not run.
        work_s: shape (T,); what was processed since it was last taken.
    """

    def __init__(self, records_per_s: FloatArray, thread_capacity: FloatArray) -> None:
        """Begin with nothing waiting and nothing running.

        Args:
            records_per_s: shape (T,); the usual input of each task.
            thread_capacity: shape (H,); records per second that each thread can process, infinity for no limit.
        """
        num_tasks = len(records_per_s)
        self._records_per_s = records_per_s
        self._capacity = thread_capacity
        self._unlimited = np.isinf(thread_capacity)
        self._factor: FloatArray = np.ones(num_tasks, dtype=np.float64)
        self._running: BoolArray = np.zeros(num_tasks, dtype=np.bool_)
        self._thread: IntArray = np.zeros(num_tasks, dtype=np.int64)
        self.waiting_s: FloatArray = np.zeros(num_tasks, dtype=np.float64)
        self.max_processing_delay_s: FloatArray = np.zeros(num_tasks, dtype=np.float64)
        self.rate: FloatArray = np.zeros(num_tasks, dtype=np.float64)
        self.work_s: FloatArray = np.zeros(num_tasks, dtype=np.float64)
        self._at_once_s: FloatArray = np.zeros(num_tasks, dtype=np.float64)

    def advance(self, seconds: float) -> FloatArray:
        """Let time pass at the current rates; return what was processed meanwhile, shape (T,)."""
        self.waiting_s += self._factor * seconds
        # Time is in whole milliseconds, so a task may have caught up a little before now.
        done = np.minimum(self.rate * seconds, self.waiting_s)
        self.work_s += done
        self.waiting_s -= done
        np.maximum(self.max_processing_delay_s, self.waiting_s, out=self.max_processing_delay_s)
        return done

    def catch_up(self) -> None:
        """Let nothing wait, as if nothing ever had: the application has been running before."""
        self.waiting_s[:] = 0.0
        self.max_processing_delay_s[:] = 0.0

    def scale(self, factor: float | FloatArray, records_per_s: FloatArray | None = None) -> None:
        """So many times the usual input comes in from now on.

        Args:
            factor: one for all tasks, or shape (T,).
            records_per_s: shape (T,); how many records a second of usual input is from now on; None if as before.
        """
        self._factor = np.broadcast_to(np.asarray(factor, dtype=np.float64), self.waiting_s.shape)
        if records_per_s is not None:
            self._records_per_s = records_per_s
        self.settle(self._running, self._thread)

    def settle(self, running: BoolArray, thread: IntArray) -> None:
        """Find out how fast each task goes from here on.

        Args:
            running: shape (T,).
            thread: shape (T,); the thread that each task runs on; anything where it does not run.
        """
        self._running, self._thread = running, thread
        tasks = np.flatnonzero(running)
        threads = thread[tasks]
        at_once = tasks[self._unlimited[threads] | (self._records_per_s[tasks] == 0)]
        self.work_s[at_once] += self.waiting_s[at_once]
        self._at_once_s[at_once] += self.waiting_s[at_once]
        self.waiting_s[at_once] = 0.0
        usual = self._records_per_s[tasks]
        behind = self.waiting_s[tasks] > _NOTHING_S
        coming = self._factor[tasks]
        demand = np.where(behind, np.inf, usual * coming)
        shares = max_min_shares(self._capacity, threads, demand)
        self.rate = np.zeros(len(running), dtype=np.float64)
        self.rate[tasks] = np.divide(shares, usual, out=coming, where=usual > 0)

    def next_change_s(self) -> float:
        """In how many seconds the next task will have caught up, infinity if none will."""
        closing = self.rate - self._factor
        behind = self._running & (self.waiting_s > _NOTHING_S) & (closing > 0)
        return float((self.waiting_s[behind] / closing[behind]).min(initial=np.inf))

    def take_work(self) -> FloatArray:
        """What was processed since the last time, shape (T,)."""
        taken = self.work_s
        self.work_s = np.zeros(len(taken), dtype=np.float64)
        return taken

    def take_at_once(self) -> FloatArray:
        """Return the work since the last call that took no time, on threads without limit, shape (T,)."""
        taken = self._at_once_s
        self._at_once_s = np.zeros(len(taken), dtype=np.float64)
        return taken
