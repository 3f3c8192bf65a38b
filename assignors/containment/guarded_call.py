"""A call of code that may do anything: raise, exit, print, hang, or exhaust the memory."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import FrozenInstanceError
from types import TracebackType
from typing import TypeVar

from assignors.containment.time_limit import TimeUp, time_limit
from assignors.errors import AssignorError, ChangedStateError, CustomAssignorError
from assignors.process_exits import ProcessExit, no_process_exit

_MAX_CHARS = 300
_PROJECT = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_LIBRARY = os.path.dirname(os.__file__) + os.sep

Result = TypeVar("Result")


def guarded_call(function: Callable[[], Result], timeout_s: float, purpose: str = "") -> Result:
    """Call a function, and turn everything it does other than returning into an `AssignorError`.

    What it prints to standard output appears on standard error: standard output has the results of the command.

    Args:
        function: the function.
        timeout_s: its time limit.
        purpose: what it does, for messages; empty for computing an assignment.

    Returns:
        Its result.

    Raises:
        ChangedStateError: the function tried to change the state.
        CustomAssignorError: the function raised an exception, called `sys.exit` or `os._exit`, exceeded the time limit,
            or ran out of memory.
        AssignorError: the function raised it.
        KeyboardInterrupt: the user pressed Ctrl-C.
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
