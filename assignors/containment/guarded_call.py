"""A call of code that may do anything: raise, exit, print, hang, or exhaust the memory."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import FrozenInstanceError
from types import FrameType, TracebackType
from typing import TypeVar

from assignors.errors import AssignorError, ChangedStateError, CustomAssignorError
from assignors.process_exits import ProcessExit, no_process_exit

_REPEAT_S = 0.5
"""Interval at which `TimeUp` is raised again: code with a bare `except:` swallows it."""


class TimeUp(BaseException):
    """The time is up; not an `Exception`, so that `except Exception` in the limited code does not catch it."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `TimeUp` in the code of a `with` block when its time is up.

    A signal interrupts the main thread, also while it sleeps or reads. Other threads are interrupted at their next
    bytecode. Neither interrupts an operation of the interpreter or of a C library, such as `10**10**10`. `seconds`: the
    limit; infinity for none.
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


_MAX_CHARS = 300
_PROJECT = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_LIBRARY = os.path.dirname(os.__file__) + os.sep

Result = TypeVar("Result")


def guarded_call(function: Callable[[], Result], timeout_s: float, purpose: str = "") -> Result:
    """Call a function, and turn everything it does other than returning into an `AssignorError`.

    What it prints to standard output appears on standard error: standard output has the results of the command.
    `timeout_s`: its time limit. `purpose`: what it does, for messages; empty for computing an assignment. Raises
    ChangedStateError if the function tried to change the state; CustomAssignorError if the function raised an
    exception, called `sys.exit` or `os._exit`, exceeded the time limit, or ran out of memory; AssignorError if the
    function raised it; and KeyboardInterrupt if the user pressed Ctrl-C.
    """
    suffix = f" {purpose}" if purpose else ""
    try:
        with redirect_stdout(sys.stderr), no_process_exit(), time_limit(timeout_s):
            return function()
    except (AssignorError, KeyboardInterrupt):
        raise
    except TimeUp as error:
        raise CustomAssignorError(
            f"took longer than {timeout_s:g} s{suffix}{_location(error.__traceback__)}; "
            "allow more with --assignor-timeout"
        ) from None
    except ProcessExit as error:
        raise CustomAssignorError(f"{one_line(str(error))}{suffix}{_location(error.__traceback__)}") from error
    except MemoryError as error:
        raise CustomAssignorError(f"ran out of memory{suffix}{_location(error.__traceback__)}") from error
    except BaseException as error:
        text = one_line(_text_of(error))
        kind = type(error).__name__ + (f": {text}" if text else "")
        raised = f"raised {kind}{suffix}{_location(error.__traceback__)}"
        if _is_change_of_state(error):
            raise ChangedStateError(f"changed the state, which is read-only: {raised}") from error
        raise CustomAssignorError(raised) from error


def one_line(text: str) -> str:
    """Return a text of unknown origin on one line, shortened, without control characters."""
    printable = "".join(char if char.isprintable() else " " for char in text[: 4 * _MAX_CHARS])
    joined = " ".join(printable.split())
    return joined if len(joined) <= _MAX_CHARS else f"{joined[:_MAX_CHARS]} …"


def _is_change_of_state(error: BaseException) -> bool:
    text = _text_of(error)
    return (
        isinstance(error, FrozenInstanceError)
        or (isinstance(error, ValueError) and "read-only" in text)
        or (isinstance(error, TypeError | AttributeError) and "mappingproxy" in text)
    )


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return ""


def _location(trace: TracebackType | None) -> str:
    """Return the innermost line outside of this project, in brackets; empty if there is none."""
    places = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(trace)]
    custom = [place for place in places if not os.path.abspath(place[0]).startswith(_PROJECT)]
    of_python = (_LIBRARY, "<frozen ")
    own = [place for place in custom if "site-packages" not in place[0] and not place[0].startswith(of_python)]
    file, line = (own or custom or [("", 0)])[-1]
    return f" ({one_line(os.path.basename(file))}:{line})" if file else ""
