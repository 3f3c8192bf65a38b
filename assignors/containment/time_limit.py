"""A time limit for code that does not cooperate."""

from __future__ import annotations

import ctypes
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_REPEAT_S = 0.5
"""Interval at which `TimeUp` is raised again: code with a bare `except:` swallows it."""


class TimeUp(BaseException):
    """The time is up; not an `Exception`, so that `except Exception` in the limited code does not catch it."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `TimeUp` in the code of a `with` block when its time is up.

    A signal interrupts the main thread, also while it sleeps or reads. Other threads are interrupted at their next
    bytecode. Neither interrupts an operation of the interpreter or of a C library, such as `10**10**10`.

    Args:
        seconds: the limit; infinity for none.

    Yields:
        Nothing.

    Raises:
        TimeUp: the time was up.
    """
    if seconds > threading.TIMEOUT_MAX:
        yield
    elif threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer"):
        with _alarm(seconds):
            yield
    else:
        with _watchdog(seconds):
            yield


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    is_active = True

    def interrupt(number: int, frame: FrameType | None) -> None:
        if is_active:
            raise TimeUp

    former_handler = signal.signal(signal.SIGALRM, interrupt)
    former_timer = signal.setitimer(signal.ITIMER_REAL, seconds, _REPEAT_S)
    try:
        yield
    finally:
        is_active = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former_handler)
        if former_timer[0]:
            signal.setitimer(signal.ITIMER_REAL, *former_timer)


@contextmanager
def _watchdog(seconds: float) -> Iterator[None]:
    thread_id = ctypes.c_ulong(threading.get_ident())
    lock, ended = threading.Lock(), threading.Event()

    def watch() -> None:
        wait_s = seconds
        while not ended.wait(wait_s):
            with lock:
                if not ended.is_set():
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(thread_id, ctypes.py_object(TimeUp))
            wait_s = _REPEAT_S

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        with lock:
            ended.set()
            # Withdraw an exception that has not been raised yet.
            ctypes.pythonapi.PyThreadState_SetAsyncExc(thread_id, None)
