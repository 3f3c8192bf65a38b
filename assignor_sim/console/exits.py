"""Exit codes of the commands, and errors in one form: `error: file:line: path: what (what would be right)`."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
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

_ADDRESS = re.compile(r"(?<![\w/])((?:s3[an]?|gs|abfss?|wasbs?|hdfs|viewfs|https?):)/(?=[^/\s])")
"""The beginning of an address that has lost a slash, as in a `Path`."""


def print_error(error: Exception | str) -> None:
    """Print an error to standard error; further lines are errors, too, unless they are indented or items of a list."""
    from reports.analysis.text import printable

    for text in _ADDRESS.sub(r"\1//", _message(error)).split("\n"):
        line = printable(text)  # An error repeats arguments and names, which may contain escape sequences.
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
    message = usage_message(getattr(error, "format_message", error.__str__)())
    command = "" if context is None else context.command_path.removeprefix(context.find_root().command_path).strip()
    hint = "" if "did you mean" in message else f" (help: {_PROGRAM} {f'{command} ' if command else ''}--help)"
    exit_with_error(f"{f'{command}: ' if command else ''}{message}{hint}")


def usage_message(message: str) -> str:
    """Return a message of the argument library in the form of other errors: what, then what would be right.

    Messages of an unknown form keep their words.
    """
    text = message.rstrip(".").replace("\n", " ")
    for pattern, write in _USAGE_MESSAGES:
        if found := re.fullmatch(pattern, text):
            return write(*found.groups())
    return f"{text[:1].lower()}{text[1:]}"


def _invalid_value(option: str, problem: str) -> str:
    """Return what is wrong with the value of an option or argument."""
    if found := re.fullmatch(r"(?:Value error, )?('.*') is not one of (.*)", problem):
        from scenarios.language.errors import did_you_mean

        value, choices = found[1].strip("'"), re.findall(r"'([^']*)'", found[2])
        return f"{option}: unknown value '{value}' ({did_you_mean(value, choices)})"
    if found := re.fullmatch(r"Input should be (?:a valid )?(.*?)(?:, unable to parse .*)?", problem):
        expected = found[1].replace("greater than or equal to", "at least").replace("less than or equal to", "at most")
        article = "" if expected.startswith("at ") else "an " if expected[0] in "aeiou" else "a "
        return f"{option}: must be {article}{expected}"
    return f"{option}: {problem[:1].lower()}{problem[1:]}"


def _unknown_option(option: str, known: str | None) -> str:
    close = "" if known is None else f" (did you mean {known.replace(', ', ' or ')}?)"
    return f"unknown option {option}{close}"


def _unknown_command(command: str, close: str | None) -> str:
    return f"unknown command {command}" + ("" if close is None else f" (did you mean {close}?)")


_USAGE_MESSAGES: Final[tuple[tuple[str, Callable[..., str]], ...]] = (
    (r"Invalid value for '?([^':]+)'?: (.*)", _invalid_value),
    (
        r"No such option: (\S+)(?: \(Possible options: (.*)\)| Did you mean (.*)\?)?",
        lambda option, *known: _unknown_option(option, known[0] or known[1]),
    ),
    (r"No such command ('.*?')(?:\. Did you mean (.*)\?)?", _unknown_command),
    (r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)", "unexpected argument: {}".format),
    (r"Option '(.*)' requires an argument", "{}: requires a value".format),
)
"""Messages of the argument library, and what is printed instead."""


@contextmanager
def exit_on_error(*kinds: type[Exception]) -> Iterator[None]:
    """Print exceptions of the given kinds to standard error and exit with code 2, but not if the output is closed."""
    try:
        yield
    except BrokenPipeError:
        raise  # The program ends without an error when the reader of its output has closed it.
    except kinds as error:
        exit_with_error(error)
