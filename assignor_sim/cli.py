"""The command line: `assignor-sim COMMAND`.

Exit codes: 0 success, 1 a difference or regression, 2 invalid input, with a message but no traceback.
"""

from __future__ import annotations

import errno
import sys

import typer

from assignor_sim.commands import (
    aggregate,
    assign,
    compare,
    diff,
    explain,
    frontier,
    generate,
    import_,
    ingest,
    listing,
    plan,
    recommend,
    record,
    releases,
    report,
    run,
    schema,
    show,
    sweep,
    validate,
    verify,
)
from assignor_sim.console.encoding import tolerate_encodings
from assignor_sim.console.exits import BAD_INPUT
from assignor_sim.console.streams import discard_output, replace_closed_streams

app = typer.Typer(
    name="assignor-sim",
    help="Compare Kafka Streams assignors on a simulated cluster before you touch the real one.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=False,
)

SCENARIOS = "Scenarios"
SIMULATION = "Simulation"
RESULTS = "Results"
PIPELINE = "Pipeline"

app.command("validate", rich_help_panel=SCENARIOS)(validate.validate)
app.command("schema", rich_help_panel=SCENARIOS)(schema.schema)
app.command("list", rich_help_panel=SCENARIOS)(listing.list_)
app.command("import", rich_help_panel=SCENARIOS)(import_.import_)
app.command("run", rich_help_panel=SIMULATION)(run.run)
app.command("assign", rich_help_panel=SIMULATION)(assign.assign)
app.command("frontier", rich_help_panel=SIMULATION)(frontier.frontier)
app.command("plan", rich_help_panel=SIMULATION)(plan.plan)
app.command("releases", rich_help_panel=SIMULATION)(releases.releases)
app.command("recommend", rich_help_panel=SIMULATION)(recommend.recommend)
app.command("report", rich_help_panel=RESULTS)(report.report)
app.command("show", rich_help_panel=RESULTS)(show.show)
app.command("diff", rich_help_panel=RESULTS)(diff.diff)
app.command("explain", rich_help_panel=RESULTS)(explain.explain)
app.command("compare", rich_help_panel=RESULTS)(compare.compare)
app.command("record", rich_help_panel=RESULTS)(record.record)
app.command("verify", rich_help_panel=RESULTS)(verify.verify)
app.command("ingest", rich_help_panel=PIPELINE)(ingest.ingest)
app.add_typer(generate.generate, name="generate", rich_help_panel=PIPELINE)
app.command("sweep", rich_help_panel=PIPELINE)(sweep.sweep)
app.command("aggregate", rich_help_panel=PIPELINE)(aggregate.aggregate)


def main() -> None:
    """Run the command line."""
    replace_closed_streams()
    tolerate_encodings()
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        # The reader has closed the pipe, as in `assignor-sim list | head`.
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:
        if error.filename is not None or error.errno not in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO):
            raise
        print(f"error: standard output cannot be written: {error.strerror}", file=sys.stderr)
        discard_output()
        sys.exit(BAD_INPUT)
