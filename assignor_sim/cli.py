"""The command line: `assignor-sim COMMAND`.

Exit codes: 0 success; 1 a difference, a regression or an unmet expectation; 2 invalid input, with a message but no
traceback; 3 a failed run.
"""

from __future__ import annotations

import errno
import sys
from importlib.metadata import version
from pathlib import PurePath
from typing import Annotated, Any, Final

import typer

from assignor_sim.commands import (
    aggregate,
    assign,
    bill,
    checkup,
    compare,
    diff,
    doctor,
    explain,
    frontier,
    fuzz,
    generate,
    import_,
    incident,
    ingest,
    init,
    listing,
    plan,
    recommend,
    record,
    releases,
    report,
    review,
    run,
    schema,
    show,
    sweep,
    validate,
    verify,
    watch,
)
from assignor_sim.console.compiled_modules import incomplete_module
from assignor_sim.console.exits import (
    BAD_INPUT,
    INTERRUPTED,
    UsageError,
    exit_with_error,
    exit_with_usage_error,
    print_error,
)
from assignor_sim.console.help_page import CommandWithHelp, GroupWithHelp
from assignor_sim.console.standard_streams import discard_output, replace_closed_streams, tolerate_encodings
from assignor_sim.console.verbosity import set_verbosity
from simulator.results.files import CANNOT_WRITE
from simulator.results.interrupts import repeated_interrupts

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
    ("init", init.init, START),
    ("list", listing.list_, START),
    ("run", run.run, START),
    ("import", import_.import_, START),
    ("validate", validate.validate, START),
    ("doctor", doctor.doctor, START),
    ("show", show.show, UNDERSTAND),
    ("explain", explain.explain, UNDERSTAND),
    ("incident", incident.incident, UNDERSTAND),
    ("diff", diff.diff, UNDERSTAND),
    ("report", report.report, UNDERSTAND),
    ("releases", releases.releases, UNDERSTAND),
    ("watch", watch.watch, UNDERSTAND),
    ("checkup", checkup.checkup, DECIDE),
    ("compare", compare.compare, DECIDE),
    ("recommend", recommend.recommend, DECIDE),
    ("frontier", frontier.frontier, DECIDE),
    ("bill", bill.bill, DECIDE),
    ("sweep", sweep.sweep, DECIDE),
    ("aggregate", aggregate.aggregate, DECIDE),
    ("record", record.record, TEST),
    ("verify", verify.verify, TEST),
    ("review", review.review, TEST),
    ("fuzz", fuzz.fuzz, TEST),
    ("assign", assign.assign, TEST),
    ("plan", plan.plan, BROKERS),
    ("ingest", ingest.ingest, DATA),
    ("schema", schema.schema, DATA),
)
"""Each command with its panel of the help: what the reader wants to do."""

for _name, _command, _panel in COMMANDS:
    app.command(_name, cls=CommandWithHelp, rich_help_panel=_panel)(_command)
app.add_typer(generate.generate, name="generate", rich_help_panel=DATA)


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
    set_verbosity(quiet=quiet, verbose=verbose)


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
