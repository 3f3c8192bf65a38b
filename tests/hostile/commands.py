"""Run a command on hostile input in this process, and judge how it ends."""

from __future__ import annotations

import contextlib
import io
import sys
import traceback
import warnings
from pathlib import Path
from unittest import mock

from assignor_sim import cli


def command_failure(place: str | Path, *arguments: str | Path) -> str | None:
    """Run a command; return what is wrong with its end, or None if nothing is.

    It must end with exit code 0 or 1, or with exit code 2 and an error that names the given place.

    Args:
        place: a part of every valid error, such as the path of the hostile file.
        arguments: the command and its arguments.

    Returns:
        The traceback, the missing location, or None.
    """
    out, err = _Encoded(), _Encoded()
    words = [str(argument) for argument in arguments]
    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            mock.patch.object(sys, "argv", ["assignor-sim", *words]),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            cli.app(words, standalone_mode=True)
        code: object = 0
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        return f"{' '.join(words)}\n{traceback.format_exc()}"
    if code not in (0, 1, 2):
        return f"{' '.join(words)}: exit code {code}"
    if code == 2 and str(place) not in err.text:
        return f"{' '.join(words)}: this error does not name {place}: {err.text!r}"
    return None


class _Encoded(io.TextIOWrapper):
    """A stream in UTF-8, as a terminal or a file is: text that cannot be encoded raises."""

    def __init__(self) -> None:
        self._bytes = io.BytesIO()
        super().__init__(self._bytes, encoding="utf-8", write_through=True)

    @property
    def text(self) -> str:
        return self._bytes.getvalue().decode()
