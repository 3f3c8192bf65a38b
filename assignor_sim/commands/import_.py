"""`assignor-sim import`: make a scenario of a running application or group, or of the output of Kafka's tools."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assignor_sim.console import options
from assignor_sim.console.messages import exit_on_error, print_remark
from assignor_sim.console.progress import show_progress

if TYPE_CHECKING:
    from assignor_sim.api.cluster_import import ImportedScenario
    from reports.document import Report

MEASURED_S = 5.0
"""Default of `--seconds`; equals `assignor_sim.api.cluster_import.MEASURED_S`, whose import is slow."""

_STANDARD_OUTPUT = Path("-")


def import_(
    group: Annotated[
        str, typer.Option(help="application.id of the application, or group.id of a consumer group.", metavar="ID")
    ],
    out: Annotated[
        Path, typer.Option("-o", "--output", help="Scenario file to write; - for standard output.", metavar="FILE")
    ],
    bootstrap: options.Bootstrap = None,
    from_: Annotated[
        Path | None,
        typer.Option("--from", help="Folder with the output of Kafka's tools, in files of any name.", metavar="DIR"),
    ] = None,
    command_config: options.CommandConfig = None,
    seconds: Annotated[
        float | None,
        typer.Option(help=f"With --bootstrap: time for measuring produce rates (default: {MEASURED_S:g}).", min=0),
    ] = None,
    topology: options.Topology = None,
    rack: options.Racks = None,
    last: Annotated[
        bool, typer.Option("--last", help="With --from: start from the last rebalance of a leader's log; replay none.")
    ] = False,
    streams_config: options.StreamsConfig = None,
    config: options.HiddenConfigs = None,
    kafka: options.ClientRelease = None,
    client_metrics: Annotated[
        list[str] | None,
        typer.Option(
            help="Client metrics of Prometheus' JMX exporter: file, folder or address. Repeatable.",
            metavar="FILE|DIR|URL",
        ),
    ] = None,
    format_: options.FormatOfTables = options.OutputFormat.TABLE,
) -> None:
    """Make a scenario that starts from the state of a running application: its tasks, lags, placements and rates.

    Of a consumer group without Kafka Streams, it has the members, subscriptions and partitions.

    A leader's log is replayed: clients join and leave as logged, and the logged rebalances are written beside the
    scenario, as NAME.rounds.csv.

    Example: [bold]assignor-sim import --bootstrap localhost:9092 --group shop -o shop.yaml[/bold]
    """
    from assignor_sim.api.cluster_import import import_cluster
    from assignor_sim.text_files import check_output

    with exit_on_error(OSError):
        only_live = {"--command-config": command_config, "--seconds": seconds, "--topology": topology}
        only_dumps = {"--last": last or None}
        _check_options(bootstrap, from_, only_live, only_dumps)
        check_output(out, "-o")
        configs = options.read_configs(streams_config, config)
        racks = options.parse_racks(rack)
        properties, described = (
            options.read_properties(command_config),
            None if topology is None else options.read_input(topology),
        )
        with show_progress() as on_progress:
            on_progress(f"observing '{group}'")
            imported = import_cluster(
                group,
                bootstrap=bootstrap,
                dumps=from_,
                properties=properties,
                seconds=MEASURED_S if seconds is None else seconds,
                topology=described,
                racks=racks,
                replay=not last,
                configs=configs,
                kafka=kafka,
                client_metrics=client_metrics or (),
            )
        _write(out, imported, format_)


def _check_options(
    bootstrap: str | None, from_: Path | None, only_live: Mapping[str, object], only_dumps: Mapping[str, object]
) -> None:
    from scenarios.kafka.observation.observation import ObservationError

    if (bootstrap is None) == (from_ is None):
        raise ObservationError(
            "give either --bootstrap HOST:PORT (a running cluster) or --from DIR (a folder of dumps)"
        )
    unused, source = (only_dumps, "--from") if from_ is None else (only_live, "--bootstrap")
    for option, value in unused.items():
        if value is not None:
            raise ObservationError(f"{option} requires {source}")


def _write(out: Path, imported: ImportedScenario, format_: options.OutputFormat) -> None:
    """Write the scenario; print its summary and remarks, and its warnings to standard error."""
    if out == _STANDARD_OUTPUT:
        print(imported.text, end="")
    else:
        imported.save(out)
    for warning in imported.warnings:
        print_remark("warning", warning)
    stream = sys.stderr if out == _STANDARD_OUTPUT else sys.stdout
    report = _report(out, imported)
    options.print_report(format_, report, lambda: _record(out, imported), stream)


def _report(out: Path, imported: ImportedScenario) -> Report:
    """Return what was imported, and the command that runs it, which is never broken."""
    from assignor_sim.api.cluster_import import rounds_path
    from reports.document import Block, CodeLines, Points, Report, ReportSection, records_table

    counts = {key: value for key, value in _record(out, imported).items() if not isinstance(value, list)}
    files = [] if out == _STANDARD_OUTPUT else [f"scenario: {out}"]
    if files and imported.history is not None:
        files.append(f"{len(imported.history.rebalances)} logged rebalances: {rounds_path(out)}")
    blocks: list[Block] = [
        records_table("imported", {key: key for key in counts}, [counts], ("csv", "markdown")),
        Points([*imported.remarks, *(f"{kind}: {text}" for kind, text in _remarks(imported)), *files]),
        *([CodeLines([shlex.join(["assignor-sim", "run", str(out)])], "sh")] if files else []),
    ]
    return Report(imported.summary, [ReportSection("imported", "", blocks, leads=True)])


def _remarks(imported: ImportedScenario) -> Iterator[tuple[str, str]]:
    yield from (("measured", text) for text in imported.measurements)
    yield from (("assumed", text) for text in imported.assumptions)
    yield from (("note", text) for text in imported.scenario.notes)


def _record(out: Path, imported: ImportedScenario) -> dict[str, Any]:
    from assignor_sim.api.cluster_import import observed_counts, rounds_path

    observation, history = imported.observation, imported.history
    return {
        ("application_id" if observation.consumers is None else "group_id"): observation.application_id,
        "protocol": observation.protocol,
        **observed_counts(observation),
        "scenario": None if out == _STANDARD_OUTPUT else str(out),
        "logged_rebalances": None if history is None else len(history.rebalances),
        "rounds": None if history is None or out == _STANDARD_OUTPUT else str(rounds_path(out)),
        "remarks": list(imported.remarks),
        "measured": list(imported.measurements),
        "assumed": list(imported.assumptions),
        "notes": list(imported.scenario.notes),
        "warnings": list(imported.warnings),
    }
