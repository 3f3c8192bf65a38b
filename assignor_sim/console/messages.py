"""What commands print to standard error: errors in one form, warnings and notes; and their exit codes.

An error reads `error: file:line: path: what (what would be right)`.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn, TextIO

import typer

if TYPE_CHECKING:
    from scenarios.load import Scenario
    from scenarios.run_estimate import RunEstimate


@dataclass(slots=True)
class Verbosity:
    """How much is printed: without warnings and notes if `quiet`, and each step if `verbose`."""

    quiet: bool = False
    verbose: bool = False


VERBOSITY = Verbosity()
"""The verbosity of this process, set once by the options of the command line."""

_INDENT: Final = "  "
_UNIT: Final = re.compile(r"(?:ms|s|min|h|d|[kMGTPE]?B(?:/s)?|%)[.,:;)]*")


def print_message(message: str, stream: TextIO | None = None) -> None:
    """Print a message of one line to a stream (default: standard error), wrapped if that is a terminal."""
    file = sys.stderr if stream is None else stream
    print(fitted(message, file), file=file)


def fitted(message: str, stream: TextIO) -> str:
    """Return a message of one line as it is printed to a stream: wrapped if that is a terminal."""
    return wrapped(message, shutil.get_terminal_size().columns) if stream.isatty() else message


def wrapped(message: str, width: int) -> str:
    """Return a message in lines of up to `width` characters; further lines are indented, more than the first.

    What is quoted, such as an option to copy, is never broken, and neither are names longer than a line, nor a figure
    and its unit.
    """
    text = message.lstrip(" ")
    indent = " " * (len(message) - len(text))
    lines, line = [], ""
    for word in _words(text):
        if line.strip() and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = indent + _INDENT + word
        else:
            line = f"{line} {word}" if line else indent + word
    return "\n".join([*lines, line])


def _words(message: str) -> list[str]:
    """Split a message at spaces outside quotes; an apostrophe within a word is no quote."""
    words: list[str] = []
    is_open = False
    for part in message.split(" "):
        if is_open or (words and _UNIT.fullmatch(part) and words[-1][-1:].isdigit()):
            words[-1] += f" {part}"
        else:
            words.append(part)
        start = part.lstrip("([")
        is_open = (is_open or start.startswith("'")) and not part.rstrip(".,:;)]").endswith("'", 1 if is_open else 2)
    return words if not is_open else message.split(" ")


DIFFERENT: Final = 1
"""A difference, a regression or an unmet expectation; or no feasible result."""

BAD_INPUT: Final = 2

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


_INPUT_ERROR: Final = re.compile(
    "(Aggregate|Assignor|Bill|Column|Corpus|CostReport|Explanation|Faults|Format|Frontier|Generate|Ingest|Lock|"
    "Observation|Pool|Problem|Recommend|Results|RunLookup|Scenario|Schedule|Spark|StoredResults|StoredScenario|Sweep|"
    "Table|Tolerance|UnknownRelease|Unreadable)Error"
)
"""The project's exceptions whose messages are for users; by name, since the import of their modules is slow."""


@contextmanager
def exit_on_error(*kinds: type[Exception]) -> Iterator[None]:
    """Print exceptions about the input, and those of the given kinds, to standard error, and exit with code 2.

    Not if the reader of the output has closed it: the program then ends without an error.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except Exception as error:
        names = (kind.__name__ for kind in type(error).__mro__)
        if not isinstance(error, kinds) and not any(map(_INPUT_ERROR.fullmatch, names)):
            raise
        exit_with_error(error)


def print_remark(kind: str, text: str) -> None:
    """Print a warning or note to standard error, unless the command is quiet."""
    if not VERBOSITY.quiet:
        print_message(f"{kind}: {text}")


def print_notes(scenario: Scenario, *, named: bool = False) -> None:
    """Print what was inferred from a scenario's files; `named` adds the name of the scenario."""
    name = f"{scenario.name}: " if named else ""
    for note in scenario.notes:
        print_remark("note", f"{name}{note}")


def print_warnings_and_notes(scenario: Scenario) -> None:
    """Print a scenario's warnings and notes."""
    for warning in scenario.warnings:
        print_remark("warning", warning)
    print_notes(scenario)


def announce(estimate: RunEstimate, *, may_exceed: bool, options: str) -> None:
    """Print the estimate of long runs; exit with code 2 if it exceeds a limit.

    `may_exceed` says whether the runs may start above a limit; `options`: the options that allow it, for the message.
    """
    if estimate.is_long:
        print_remark("note", f"estimate: {estimate}")
    if estimate.excess is not None and not may_exceed:
        exit_with_error(f"{estimate.excess}; run a smaller scenario, or use {options}")
