"""`assignor-sim incident`: rebuild the rebalances of a past night, and say what would have changed."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assignor_sim.console import options
from assignor_sim.console.messages import exit_on_error
from assignor_sim.console.progress import show_progress

if TYPE_CHECKING:
    from reports.analysis.incident import IncidentReport

_DEFAULT_ASSIGNORS = ("high_availability", "sticky_task_assignor")
"""Assignors that a page compares by default, except for the one of the night."""


def incident(
    group: Annotated[str, typer.Option(help="application.id, or group.id of a consumer group.", metavar="GROUP")],
    from_: Annotated[
        Path,
        typer.Option(
            "--from",
            help="Folder with segments of __consumer_offsets or what Kafka's tools print of them, and logs.",
            metavar="DIR",
        ),
    ],
    since: Annotated[
        str | None, typer.Option(help="Start, as in '2026-11-23 02:00' (UTC without an offset).", metavar="TIME")
    ] = None,
    until: Annotated[str | None, typer.Option(help="End; by default the last record.", metavar="TIME")] = None,
    task: Annotated[
        str | None, typer.Option(help="History of one task or partition, as in 0_3 or orders-3.", metavar="TASK")
    ] = None,
    assignor: Annotated[
        list[str] | None,
        typer.Option(help="Another assignor to compare. Repeatable.", autocompletion=options.complete_assignor),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Another setting to compare, by itself, as in application.configs.KEY=VALUE. Repeatable.",
            metavar="PATH=VALUE",
        ),
    ] = None,
    rack: options.Racks = None,
    streams_config: options.StreamsConfig = None,
    config: Annotated[
        list[str] | None,
        typer.Option(
            help="Config of the application or the consumers, or group.* of the brokers, that is not recorded. "
            "Repeatable.",
            metavar="KEY=VALUE",
        ),
    ] = None,
    kafka: Annotated[
        str | None,
        typer.Option(
            help="Kafka release of the clients, or of the brokers if they assign, such as 3.9.1.",
            metavar="RELEASE",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Scenario file with the recorded events to write.", metavar="FILE"),
    ] = None,
    page: Annotated[Path | None, typer.Option(help="HTML page of the night to write.", metavar="FILE")] = None,
    format_: options.FormatOfTables = options.OutputFormat.TABLE,
) -> None:
    """Rebuild and explain each rebalance of a past night, and replay the night with other assignors and settings.

    The group is an application of Kafka Streams or a consumer group; its records show which, and its protocol.

    Sources are segments of __consumer_offsets, what kafka-dump-log.sh or kafka-console-consumer.sh print of them, and
    logs of the application at INFO.

    Example: [bold]assignor-sim incident --from night --group shop[/bold]
    """
    from assignor_sim.api.incident import IncidentOptions, investigate
    from assignor_sim.text_files import check_output, write_text

    with exit_on_error(OSError):
        check_output(out, "-o")
        check_output(page, "--page")
        investigation = IncidentOptions(
            since_ms=_parse_time("--since", since),
            until_ms=_parse_time("--until", until),
            configs=options.read_configs(streams_config, config),
            racks=options.parse_racks(rack),
            kafka=kafka,
            assignors=assignor or (),
            changes=options.parse_overrides(set_),
            default_assignors=_DEFAULT_ASSIGNORS if page is not None else (),
        )
        with show_progress() as on_progress:
            investigated = investigate(from_, group, investigation, on_progress)
        if task is not None:
            _check_task(investigated.report, task)
        _print(investigated.report, task, format_)
        if out is not None:
            write_text(out, investigated.scenario)
        if page is not None:
            from reports.render.incident import incident_report
            from reports.render.report_formats import report_page

            write_text(page, report_page(incident_report(investigated.report)))


def _print(report: IncidentReport, task: str | None, format_: options.OutputFormat) -> None:
    from reports.analysis.incident import night_findings, report_record
    from reports.render.incident import incident_report, task_report, task_rows

    if task is None:
        options.print_report(format_, incident_report(report), lambda: report_record(report, night_findings(report)))
    else:
        options.print_report(format_, task_report(report, task), lambda: task_rows(report, task))


def _check_task(report: IncidentReport, task: str) -> None:
    from scenarios.kafka.observation.observation import ObservationError

    tasks = list(report.rebalances[-1].owners)
    noun = "partition" if report.is_consumer_group else "task"
    known = {task for rebalance in report.rebalances for task in rebalance.owners}
    if task not in known:
        raise ObservationError(
            f"--task: '{task}' is not a recorded {noun} of '{report.group}' ({tasks[0]} to {tasks[-1]})"
        )


def _parse_time(option: str, text: str | None) -> int | None:
    """Return a time in ms since 1970, in UTC without an offset; raise ObservationError if the text is not a time."""
    from scenarios.kafka.observation.observation import ObservationError

    if text is None:
        return None
    try:
        time = datetime.fromisoformat(text.strip())
        aware = time if time.tzinfo else time.replace(tzinfo=UTC)
        return round(aware.timestamp() * 1_000)
    except (ValueError, OverflowError):
        raise ObservationError(f"{option}: '{text}' is not a time such as '2026-11-23 02:00'") from None
