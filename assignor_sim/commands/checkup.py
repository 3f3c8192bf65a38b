"""`assignor-sim checkup`: grade an application or a consumer group in standard situations; find a better setting."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assignor_sim.console.client_properties import Bootstrap, CommandConfig, read_input, read_properties
from assignor_sim.console.completion import complete_scenario
from assignor_sim.console.exits import DIFFERENT, exit_on_error, print_error
from assignor_sim.console.formats import Format, OutputFormat, print_report
from assignor_sim.console.observed_application import (
    ClientRelease,
    HiddenConfigs,
    Racks,
    StreamsConfig,
    parse_racks,
    read_configs,
)
from assignor_sim.console.spark_options import Conf, Master, PyFiles, requested_session

if TYPE_CHECKING:
    from assignor_sim.api.checkup import Checkup
    from reports.analysis.checkup.report import ReportCard
    from scenarios.load import Scenario


def checkup(
    scenario: Annotated[
        Path | None,
        typer.Argument(
            help="Scenario file, or name of a shipped scenario; or import with --bootstrap or --from.",
            metavar="SCENARIO",
            autocompletion=complete_scenario,
        ),
    ] = None,
    group: Annotated[str | None, typer.Option(help="application.id or group.id to import.", metavar="GROUP_ID")] = None,
    bootstrap: Bootstrap = None,
    from_: Annotated[
        Path | None, typer.Option("--from", help="Folder with the output of Kafka's tools.", metavar="DIR")
    ] = None,
    command_config: CommandConfig = None,
    topology: Annotated[
        Path | None,
        typer.Option(help="With --bootstrap: output of the application's Topology.describe().", metavar="FILE"),
    ] = None,
    rack: Racks = None,
    streams_config: StreamsConfig = None,
    config: HiddenConfigs = None,
    kafka: ClientRelease = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change the scenario first, as in run. Repeatable.", metavar="PATH=VALUE"),
    ] = None,
    today: Annotated[
        str | None,
        typer.Option(help="Label of the current assignor; the scenario's first by default.", metavar="LABEL"),
    ] = None,
    seed: Annotated[int, typer.Option(help="First random seed.", min=0)] = 1,
    seeds: Annotated[int, typer.Option(help="Number of seeds of the final comparison.", min=2)] = 8,
    workers: Annotated[int | None, typer.Option(help="Number of processes; default: one per CPU.", min=1)] = None,
    master: Master = None,
    conf: Conf = None,
    py_files: PyFiles = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Directory for page, JSON and lock file.", metavar="DIR")
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="Write the grades to this file, for --compare.", metavar="LOCK")
    ] = None,
    compare: Annotated[
        Path | None,
        typer.Option(help="Compare with the grades in this file; exit with 1 if one is worse.", metavar="LOCK"),
    ] = None,
    format_: Format = OutputFormat.TABLE,
) -> None:
    """Grade an application or consumer group in deployments, failures and growth; recommend properties and rollout.

    Exit codes: 0; 1 if a grade is worse than in --compare; 2 for invalid input.

    Example: [bold]assignor-sim checkup --bootstrap localhost:9092 --group shop --out checkup[/bold]
    """
    from assignor_sim.api.checkup import checkup as check_up
    from assignor_sim.console.progress import show_progress
    from assignor_sim.console.remarks import print_warnings_and_notes
    from assignor_sim.text_files import check_output
    from assignors.errors import AssignorError
    from pipeline.advise.objective import RecommendError
    from pipeline.errors import SparkError
    from pipeline.pool import PoolError
    from reports.analysis.checkup.report import LockError, read_lock
    from reports.render.checkup import checkup_report
    from scenarios.kafka.formats.lines import FormatError
    from scenarios.kafka.observation.observation import ObservationError
    from scenarios.language.text_files import UnreadableError
    from scenarios.load import ScenarioError
    from simulator.results.files import read_document
    from simulator.results.result_directory import ResultsError, check_writable

    errors = (
        ScenarioError,
        AssignorError,
        RecommendError,
        PoolError,
        SparkError,
        LockError,
        FormatError,
        ObservationError,
        UnreadableError,
        ResultsError,
        OSError,
    )
    with exit_on_error(*errors):
        if out is not None:
            check_writable(out, "checkup")
        check_output(save, "--save")
        if compare is not None:  # Errors in it should not appear after minutes.
            read_lock(read_document(compare), str(compare))
        imports = {
            "--command-config": command_config,
            "--topology": topology,
            "--rack": rack,
            "--streams-config": streams_config,
            "--config": config,
            "--kafka": kafka,
        }
        _check_source(scenario, group, bootstrap, from_, imports)
        with show_progress() as on_progress:
            if scenario is not None:
                from assignor_sim.api.loading import load
                from assignor_sim.console.key_value_options import parse_overrides

                loaded = load(scenario, parse_overrides(set_))
            else:
                on_progress(f"observing '{group}'")
                loaded = _import(
                    str(group),
                    bootstrap,
                    from_,
                    read_properties(command_config),
                    topology,
                    parse_racks(rack),
                    read_configs(streams_config, config),
                    kafka,
                    set_,
                )
            print_warnings_and_notes(loaded)
            with requested_session(master, conf, py_files) as spark:
                found = check_up(
                    loaded,
                    today=today,
                    seed=seed,
                    seeds=seeds,
                    workers=workers,
                    spark=spark,
                    on_progress=on_progress,
                    on_first=_first_answer(),
                )
        print_report(format_, checkup_report(found.report), found.record)
        if out is not None:
            found.save(out)
        if save is not None:
            found.save_lock(save)
        if compare is not None:
            _compare(found, compare)


def _check_source(
    scenario: Path | None, group: str | None, bootstrap: str | None, dumps: Path | None, imports: Mapping[str, object]
) -> None:
    """Check that there is exactly one source of the application.

    Raises ObservationError if there is none, or several; or an option of an import has no import.
    """
    from scenarios.kafka.observation.observation import ObservationError

    sources = [name for name, value in (("SCENARIO", scenario), ("--bootstrap", bootstrap), ("--from", dumps)) if value]
    if len(sources) != 1:
        given = " and ".join(sources) or "nothing"
        raise ObservationError(f"give one of SCENARIO, --bootstrap HOST:PORT and --from DIR, not {given}")
    if scenario is None and group is None:
        raise ObservationError(f"{sources[0]} requires --group GROUP_ID")
    for option, value in {"--group": group, **imports}.items():
        if value and scenario is not None:
            raise ObservationError(f"{option} requires --bootstrap or --from; a scenario states it itself")
    for option in ("--command-config", "--topology"):
        if imports[option] and dumps is not None:
            raise ObservationError(f"{option} requires --bootstrap")


def _import(
    group: str,
    bootstrap: str | None,
    dumps: Path | None,
    properties: Mapping[str, str],
    topology: Path | None,
    racks: list[tuple[str, str | None]],
    configs: Mapping[str, str],
    kafka: str | None,
    overrides: list[str] | None,
) -> Scenario:
    """Import the application; print what was assumed to standard error."""
    from assignor_sim.api.cluster_import import import_cluster
    from assignor_sim.console.key_value_options import parse_overrides
    from assignor_sim.console.remarks import print_remark
    from scenarios.load import loads

    imported = import_cluster(
        group,
        bootstrap=bootstrap,
        dumps=dumps,
        properties=properties,
        topology=None if topology is None else read_input(topology),
        racks=racks,
        replay=False,
        configs=configs,
        kafka=kafka,
    )
    for warning in imported.warnings:
        print_remark("warning", warning)
    for assumption in imported.assumptions:
        print_remark("note", assumption)
    return loads(imported.text, group, overrides=parse_overrides(overrides)) if overrides else imported.scenario


def _first_answer() -> Callable[[ReportCard], None]:
    """Return a function that prints the first report card to a terminal, where people wait for the search."""

    def show(card: ReportCard) -> None:
        from reports.render.checkup import first_card
        from reports.render.report_formats import report_text

        print(report_text(first_card(card)), file=sys.stderr)

    return show if sys.stderr.isatty() else lambda _: None


def _compare(found: Checkup, path: Path) -> None:
    """Print what has changed since a stored checkup; exit with 1 if a grade is worse."""
    from reports.render.checkup import comparison_lines

    comparison = found.compare(path)
    sys.stdout.flush()
    for line in comparison_lines(comparison, str(path)):
        print(line, file=sys.stderr)
    if comparison.is_worse:
        print_error(f"grades are worse than in {path}")
        raise typer.Exit(DIFFERENT)
