"""Calls that end the process, or replace it, without a word: a command would seem to have succeeded."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

_NAMES: Final = ("_exit", "execv", "execve")
"""The functions of `os` that do it; the others of the family `exec` call these."""

_LOCK = threading.Lock()
_CALLS: dict[int, int] = {}
"""Number of contexts by process: a process that the limited code forks may end itself."""


class ProcessExit(BaseException):
    """Code tried to end this process; not an `Exception`, so that `except Exception` in it does not catch it."""


@contextmanager
def no_process_exit() -> Iterator[None]:
    """Raise `ProcessExit` where Python code of a `with` block would end this process.

    Code in C can still end it. The working directory is the same afterwards, so that relative outputs keep their place.
    Threads that are started in the block do not keep the process alive. Raises ProcessExit if the code called
    `sys.exit`, `os._exit` or a function of the family `os.exec`.
    """
    process, folder = os.getpid(), _working_directory()
    with _LOCK:
        _CALLS[process] = _CALLS.get(process, 0) + 1
        for name, function in _REFUSING.items():
            setattr(os, name, function)
        setattr(threading.Thread, "start", _start_as_daemon)  # noqa: B010 - a type checker refuses the assignment
    try:
        yield
    except SystemExit as error:
        code = error.code
        shown = "" if code is None else str(code) if isinstance(code, int) else ascii(code)
        raise ProcessExit(f"called sys.exit({shown})").with_traceback(error.__traceback__) from error
    finally:
        if folder is not None and _working_directory() != folder:
            with suppress(OSError):  # It may have been removed.
                os.chdir(folder)
        with _LOCK:
            _CALLS[process] -= 1
            if not _CALLS[process]:
                for name, function in _REAL.items():
                    setattr(os, name, function)
                setattr(threading.Thread, "start", _REAL_START)  # noqa: B010


def _working_directory() -> str | None:
    """Return the working directory; None if it was removed."""
    try:
        return os.getcwd()
    except OSError:
        return None


def _refusing(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(real)
    def refuse(*arguments: Any) -> Any:
        # Code that has imported the function within the context may call it after that.
        if not _CALLS.get(os.getpid()):
            return real(*arguments)
        shown = str(arguments[0]) if arguments and isinstance(arguments[0], int) else "…"
        raise ProcessExit(f"called os.{name}({shown})")

    return refuse


def _start_as_daemon(thread: threading.Thread) -> None:
    with suppress(RuntimeError):  # It has been started before, or was not initialized; starting it says so.
        thread.daemon = True
    _REAL_START(thread)


_REAL_START: Final = threading.Thread.start
_REAL: Final[dict[str, Callable[..., Any]]] = {name: getattr(os, name) for name in _NAMES}
_REFUSING: Final = {name: _refusing(name, real) for name, real in _REAL.items()}
