"""Exit codes of the commands, and errors in one form: `error: file:line: path: what (what would be right)`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, NoReturn

import typer

from assignor_sim.console.wrapping import print_message

DIFFERENT: Final = 1
"""A difference, a regression or an unmet expectation; or no feasible result."""

BAD_INPUT: Final = 2
"""Invalid input or usage."""

RUN_FAILED: Final = 3
"""A run failed: its assignor failed, or it was stopped; other runs are complete."""

INTERRUPTED: Final = 130
"""Ctrl-C: 128 + SIGINT, as shells report it."""


UsageError: Final[type[Exception]] = next(
    kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException"
)
"""The base class of errors in options and arguments; depending on its release, typer has its own copy of click."""

_PROGRAM = "assignor-sim"
_MODULE = "python -m assignor_sim"


def print_error(error: Exception | str) -> None:
    """Print an error to standard error; further lines are errors, too, unless they are indented or items of a list."""
    for line in _message(error).splitlines():
        print_message(line if line.startswith((" ", "- ")) else f"error: {line}")


def _message(error: Exception | str) -> str:
    """Return the message; that of the system without its number, and with the file first as in other errors."""
    if isinstance(error, OSError) and type(error).__str__ is OSError.__str__ and error.strerror:
        return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"
    return str(error)


def exit_with_error(error: Exception | str, code: int = BAD_INPUT) -> NoReturn:
    """Print an error to standard error and exit."""
    print_error(error)
    sys.exit(code)


def exit_with_usage_error(error: Exception) -> NoReturn:
    """Print an error of options or arguments in the form of other errors, and exit."""
    context: Any = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":  # The help is its text, and is already printed.
        sys.exit(BAD_INPUT)
    message = getattr(error, "format_message", error.__str__)().rstrip(".").replace("\n", " ")
    command = "" if context is None else context.command_path.removeprefix(_MODULE).removeprefix(_PROGRAM).strip()
    hint = "" if "Did you mean" in message else f" (help: {_PROGRAM} {f'{command} ' if command else ''}--help)"
    exit_with_error(f"{f'{command}: ' if command else ''}{message[:1].lower()}{message[1:]}{hint}")


@contextmanager
def exit_on_error(*kinds: type[Exception]) -> Iterator[None]:
    """Print exceptions of the given kinds to standard error and exit with code 2."""
    try:
        yield
    except kinds as error:
        exit_with_error(error)
