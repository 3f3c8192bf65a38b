"""Compiled modules that Python has written incompletely."""

from __future__ import annotations

from traceback import walk_tb


def incomplete_module(error: BaseException | None) -> str | None:
    """Return the file of the compiled module whose import has failed since the file ends too early.

    On a full disk, Python 3.11 keeps the part of a compiled module that could be written
    (https://github.com/python/cpython/issues/126606), and every later import of it ends with EOFError. Returns the path
    of the `.pyc` file; None if the exception has another cause.
    """
    if not isinstance(error, EOFError):
        return None
    for frame, _ in walk_tb(error.__traceback__):
        if frame.f_code.co_name == "get_code" and "bytecode_path" in frame.f_locals:
            return str(frame.f_locals["bytecode_path"])
    return None
