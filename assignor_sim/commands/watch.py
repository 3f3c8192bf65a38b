"""`assignor-sim watch`: watch a running group, and compare what it does with what is predicted."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assignor_sim.console import options
from assignor_sim.console.messages import DIFFERENT, INTERRUPTED, exit_on_error, print_remark

if TYPE_CHECKING:
    from assignor_sim.watching.outputs import MetricsAddress, StatusCollector
    from scenarios.watch.watch_events import WatchEvent

INTERVAL_S = 30.0
"""Default of `--interval`."""


def watch(
    group: Annotated[str | None, typer.Option(help="application.id or group.id to watch.", metavar="GROUP_ID")] = None,
    bootstrap: options.Bootstrap = None,
    command_config: options.CommandConfig = None,
    interval: Annotated[
        float, typer.Option(help="Seconds between two polls.", min=1, max=3600, metavar="SECONDS")
    ] = INTERVAL_S,
    once: Annotated[bool, typer.Option("--once", help="Poll once; exit with 1 if there is an alarm.")] = False,
    topology: Annotated[
        Path | None, typer.Option(help="Output of the application's Topology.describe().", metavar="FILE")
    ] = None,
    rack: options.Racks = None,
    streams_config: options.StreamsConfig = None,
    config: options.HiddenConfigs = None,
    kafka: options.ClientRelease = None,
    assignor: Annotated[
        str | None,
        typer.Option(
            help="Assignor of the group: a name, package.module:Class, or java:….",
            autocompletion=options.complete_assignor,
        ),
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(help="Serve metrics for Prometheus; on loopback by default.", metavar="[HOST:]PORT"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Append all events to this file, as JSON lines.", metavar="FILE")
    ] = None,
    format_: Annotated[
        options.WatchFormat, typer.Option("--format", help="Format of the events on standard output.")
    ] = options.WatchFormat.TEXT,
    print_dashboard: Annotated[
        bool, typer.Option("--print-dashboard", help="Print a Grafana dashboard for the metrics, and exit.")
    ] = False,
) -> None:
    """Watch a running group: predict each assignment, and report what leaves the prediction. Read-only.

    Exit codes: 0 after SIGTERM; 130 after Ctrl-C; 2 for invalid input; with --once: 0, or 1 on an alarm.

    Example: [bold]assignor-sim watch --bootstrap localhost:9092 --group shop --metrics 9400[/bold]
    """
    if print_dashboard:
        print((files("scenarios") / "watch" / "dashboard.json").read_text(encoding="utf-8"), end="")
        return
    from assignor_sim.watching.group_watcher import GroupWatcher, StopSignals, WatchRequest, watch_group
    from assignor_sim.watching.outputs import StatusCollector, append_events, parse_address, print_events
    from scenarios.kafka.live.client_properties import client_settings
    from scenarios.kafka.observation.observation import ObservationError

    with exit_on_error(OSError):
        if group is None or bootstrap is None:
            raise ObservationError("give the cluster and the group: --bootstrap HOST:PORT --group GROUP_ID")
        request = WatchRequest(
            group,
            topology=None if topology is None else options.read_input(topology),
            configs=options.read_configs(streams_config, config),
            racks=options.parse_racks(rack),
            assignor=assignor,
            kafka=kafka,
        )
        settings = client_settings(options.read_properties(command_config))
        address = None if metrics is None else parse_address(metrics)
        watcher, signals = GroupWatcher(request), StopSignals()
        collector = StatusCollector(watcher.status)

        def emit(events: Sequence[WatchEvent]) -> None:
            collector.publish(watcher.status)
            if out is not None:
                append_events(events, out)
            print_events(events, format_)

        with signals.handled(), _served(address, collector):
            watch_group(watcher, bootstrap, settings, interval, signals, emit, once=once)
    if signals.received == signal.SIGINT:
        raise typer.Exit(INTERRUPTED)
    if once and watcher.has_alarm:
        raise typer.Exit(DIFFERENT)


@contextmanager
def _served(address: MetricsAddress | None, collector: StatusCollector) -> Iterator[None]:
    """Serve metrics for the duration of the block, if there is an address."""
    from assignor_sim.watching.outputs import serve_metrics

    with ExitStack() as stack:
        if address is not None:
            if not address.is_loopback:
                print_remark("warning", f"metrics are served on {address}, without authentication or encryption")
            actual = stack.enter_context(serve_metrics(address, collector))
            print_remark("note", f"metrics: http://{actual}/metrics")
        yield
