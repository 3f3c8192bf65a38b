"""`assignor-sim checkup`: grade an application or a consumer group in standard situations; find a better setting."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assignor_sim.console import options
from assignor_sim.console.messages import (
    DIFFERENT,
    VERBOSITY,
    exit_on_error,
    exit_with_error,
    print_error,
    print_remark,
    print_warnings_and_notes,
)
from assignor_sim.console.progress import show_progress

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
            autocompletion=options.complete_scenario,
        ),
    ] = None,
    group: Annotated[str | None, typer.Option(help="application.id or group.id to import.", metavar="GROUP_ID")] = None,
    bootstrap: options.Bootstrap = None,
    from_: Annotated[
        Path | None, typer.Option("--from", help="Folder with the output of Kafka's tools.", metavar="DIR")
    ] = None,
    command_config: options.CommandConfig = None,
    topology: options.Topology = None,
    rack: options.Racks = None,
    streams_config: options.StreamsConfig = None,
    config: options.HiddenConfigs = None,
    kafka: options.ClientRelease = None,
    set_: options.FirstChanges = None,
    today: options.Today = None,
    seed: Annotated[int, typer.Option(help="First random seed.", min=0)] = 1,
    seeds: Annotated[int, typer.Option(help="Number of seeds of the final comparison.", min=2)] = 8,
    budget: Annotated[
        str | None,
        typer.Option(help="Time after which no further setting or seed is tried, such as 60s.", metavar="DURATION"),
    ] = None,
    workers: options.Workers = None,
    master: options.Master = None,
    conf: options.Conf = None,
    py_files: options.PyFiles = None,
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
    format_: options.Format = options.OutputFormat.TABLE,
) -> None:
    """Grade an application or consumer group in deployments, failures and growth; recommend properties and rollout.

    Exit codes: 0; 1 if a grade is worse than in --compare; 2 for invalid input.

    Example: [bold]assignor-sim checkup --bootstrap localhost:9092 --group shop --out checkup[/bold]
    """
    from assignor_sim.api.checkup import checkup as check_up
    from assignor_sim.text_files import check_output
    from reports.analysis.checkup.report import read_lock
    from reports.render.checkup import checkup_report
    from simulator.results.files import read_document
    from simulator.results.result_directory import check_writable

    budget_s = options.parse_seconds("--budget", budget)
    if budget_s == 0:
        exit_with_error("--budget: 0 is no time; write a duration such as 60s")
    with exit_on_error(OSError):
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

                loaded = load(scenario, options.parse_overrides(set_))
            else:
                on_progress(f"observing '{group}'")
                loaded = _import(
                    str(group),
                    bootstrap,
                    from_,
                    options.read_properties(command_config),
                    topology,
                    options.parse_racks(rack),
                    options.read_configs(streams_config, config),
                    kafka,
                    set_,
                )
            print_warnings_and_notes(loaded)
            with options.requested_session(master, conf, py_files) as spark:
                found = check_up(
                    loaded,
                    today=today,
                    seed=seed,
                    seeds=seeds,
                    budget_s=budget_s,
                    workers=workers,
                    spark=spark,
                    on_progress=on_progress,
                    on_first=_first_answer(),
                )
        options.print_report(format_, checkup_report(found.report), found.record)
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
    from scenarios.load import loads

    imported = import_cluster(
        group,
        bootstrap=bootstrap,
        dumps=dumps,
        properties=properties,
        topology=None if topology is None else options.read_input(topology),
        racks=racks,
        replay=False,
        configs=configs,
        kafka=kafka,
    )
    for warning in imported.warnings:
        print_remark("warning", warning)
    for assumption in imported.assumptions:
        print_remark("note", assumption)
    return loads(imported.text, group, overrides=options.parse_overrides(overrides)) if overrides else imported.scenario


def _first_answer() -> Callable[[ReportCard], None]:
    """Return a function that prints the first report card to standard error, before the search."""

    def show(card: ReportCard) -> None:
        from reports.render.checkup import first_card
        from reports.render.report_formats import report_text

        print(report_text(first_card(card)), file=sys.stderr)

    return show if not VERBOSITY.quiet else lambda _: None


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
