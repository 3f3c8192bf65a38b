"""The command line: `assignor-sim COMMAND`.

Exit codes: 0 success; 1 a difference, a regression or an unmet expectation; 2 invalid input, with a message but no
traceback; 3 a failed run. Standard streams may be closed, or lack some characters, as Windows' code page 1252 does.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys
from importlib.metadata import version
from pathlib import PurePath
from traceback import walk_tb
from typing import Annotated, Any, Final

import typer

from assignor_sim.commands import (
    assign,
    bill,
    checkup,
    doctor,
    import_,
    incident,
    ingest,
    listing,
    plan,
    recommend,
    review,
    run,
    scenario_files,
    stored_results,
    sweep,
    verify,
    watch,
)
from assignor_sim.console.help_page import CommandWithHelp, GroupWithHelp
from assignor_sim.console.messages import (
    BAD_INPUT,
    INTERRUPTED,
    VERBOSITY,
    UsageError,
    exit_with_error,
    exit_with_usage_error,
    print_error,
)
from simulator.results.files import CANNOT_WRITE
from simulator.results.interrupts import repeated_interrupts

_CHARACTERS: Final = "─│├└▁▂▃▄▅▆▇█–−×·÷→←≈•⚠µ²³⁶⁹“”’"
_STAND_INS: Final = {
    **dict(zip(_CHARACTERS, '-|++_.-=+*%#--x*/><~*!u2369""\'', strict=True)),
    **{"…": "...", "≤": "<=", "≥": ">=", "±": "+/-"},
}
_HANDLER: Final = "assignor_sim.stand_in"


def tolerate_encodings() -> None:
    """Let standard output and error replace characters that their encoding lacks, instead of raising an error."""
    codecs.register_error(_HANDLER, _replace)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_HANDLER)


def _replace(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(_STAND_INS.get(character, "?") for character in missing), error.end


def replace_closed_streams() -> None:
    """Discard what is printed to a standard stream that was closed before the start, as in `assignor-sim list >&-`."""
    for number, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, os.O_WRONLY)
            if handle != number:
                os.dup2(handle, number)
                os.close(handle)
            file = io.FileIO(number, "w", closefd=False)
            setattr(sys, name, io.TextIOWrapper(file, encoding="utf-8"))


def discard_output() -> None:
    """Discard what is left in the buffer of standard output, which the interpreter would write at its end."""
    handle = os.open(os.devnull, os.O_WRONLY)
    os.dup2(handle, 1)
    os.close(handle)


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


app = typer.Typer(
    name="assignor-sim",
    cls=GroupWithHelp,
    help="Try a Kafka Streams rebalance before production does: compare assignors on a simulated cluster.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

START = "Start"
UNDERSTAND = "Understand"
DECIDE = "Decide"
TEST = "Test"
BROKERS = "Brokers"
DATA = "Data"

COMMANDS: Final = (
    ("init", scenario_files.init, START),
    ("list", listing.list_, START),
    ("run", run.run, START),
    ("import", import_.import_, START),
    ("validate", scenario_files.validate, START),
    ("doctor", doctor.doctor, START),
    ("show", stored_results.show, UNDERSTAND),
    ("explain", stored_results.explain, UNDERSTAND),
    ("incident", incident.incident, UNDERSTAND),
    ("diff", stored_results.diff, UNDERSTAND),
    ("report", stored_results.report, UNDERSTAND),
    ("releases", listing.releases, UNDERSTAND),
    ("watch", watch.watch, UNDERSTAND),
    ("checkup", checkup.checkup, DECIDE),
    ("compare", review.compare, DECIDE),
    ("recommend", recommend.recommend, DECIDE),
    ("frontier", bill.frontier, DECIDE),
    ("bill", bill.bill, DECIDE),
    ("sweep", sweep.sweep, DECIDE),
    ("aggregate", sweep.aggregate, DECIDE),
    ("record", verify.record, TEST),
    ("verify", verify.verify, TEST),
    ("review", review.review, TEST),
    ("fuzz", review.fuzz, TEST),
    ("assign", assign.assign, TEST),
    ("plan", plan.plan, BROKERS),
    ("ingest", ingest.ingest, DATA),
    ("schema", scenario_files.schema, DATA),
)
"""Each command with its panel of the help: what the reader wants to do."""

for _name, _command, _panel in COMMANDS:
    app.command(_name, cls=CommandWithHelp, rich_help_panel=_panel)(_command)
app.add_typer(ingest.generate, name="generate", rich_help_panel=DATA)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"assignor-sim {version('assignor-sim')}")
        raise typer.Exit


@app.callback()
def options(
    version_: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no warnings and notes.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Print each step to standard error.")] = False,
) -> None:
    """Compare assignors on a simulated cluster.

    Exit codes: 0 success; 1 difference, regression or unmet expectation; 2 invalid input; 3 failed run.
    """
    VERBOSITY.quiet, VERBOSITY.verbose = quiet, verbose


@app.command("help", cls=CommandWithHelp, rich_help_panel=START)
def help_(
    context: typer.Context,
    command: Annotated[str | None, typer.Argument(help="Command; all by default.", metavar="COMMAND")] = None,
) -> None:
    """Show the help of a command.

    Example: [bold]assignor-sim help run[/bold]
    """
    from scenarios.language.errors import did_you_mean

    root = context.find_root()
    if command is None:
        print(root.get_help(), end="")
        return
    group: Any = root.command
    found = group.get_command(root, command)
    if found is None:
        exit_with_error(f"help {command}: unknown command ({did_you_mean(command, group.list_commands(root))})")
    print(found.get_help(typer.Context(found, parent=root, info_name=command)), end="")


def main() -> None:
    """Run the command line."""
    replace_closed_streams()
    tolerate_encodings()
    try:
        try:
            with repeated_interrupts():
                sys.exit(app(standalone_mode=False))
        finally:
            sys.stdout.flush()
    except UsageError as error:
        exit_with_usage_error(error)
    except (typer.Abort, KeyboardInterrupt) as error:
        if (module := incomplete_module(error.__cause__)) is not None:
            exit_with_error(f"{module}: is incomplete, as after a full disk (remove it; Python writes it again)")
        if isinstance(error.__cause__, EOFError):  # The argument library takes it for the end of an answer.
            raise error.__cause__ from None
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # The reader has closed the pipe, as in `assignor-sim list | head`.
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            name = PurePath(str(error.filename)).name[:60]
            exit_with_error(f"{name}…: {str(error.strerror).lower()}; choose a shorter one")
        if error.filename is not None or error.errno not in CANNOT_WRITE:
            raise
        print_error(f"standard output cannot be written: {error.strerror}")
        discard_output()
        sys.exit(BAD_INPUT)
