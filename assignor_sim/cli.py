"""The command line: `assignor-sim COMMAND`.

Exit codes: 0 fine, 1 a difference or regression was found, 2 bad input. A mistake of the user's is one clear message,
never a traceback.
"""

from __future__ import annotations

import sys

import typer

from assignor_sim.commands import assign, listing, record, run, schema, validate, verify

app = typer.Typer(
    name="assignor-sim",
    help="Compare Kafka Streams assignors on a simulated cluster before you touch the real one.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=False,
)

SCENARIOS = "Scenarios"
ANSWERS = "Answers"
RESULTS = "Results"

app.command("validate", rich_help_panel=SCENARIOS)(validate.validate)
app.command("schema", rich_help_panel=SCENARIOS)(schema.schema)
app.command("list", rich_help_panel=SCENARIOS)(listing.list_)
app.command("run", rich_help_panel=ANSWERS)(run.run)
app.command("assign", rich_help_panel=ANSWERS)(assign.assign)
app.command("record", rich_help_panel=RESULTS)(record.record)
app.command("verify", rich_help_panel=RESULTS)(verify.verify)


def main() -> None:
    """Run the command line; what Kafka engineers would call bad input ends with exit code 2."""
    try:
        app()
    except BrokenPipeError:
        # Whoever read our output has seen enough, as in `assignor-sim list | head`.
        sys.stderr.close()
        sys.exit(0)
