"""`assignor-sim import`: make a scenario of a running application, or of what Kafka's tools printed about one."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assignor_sim.console.exits import exit_on_error

if TYPE_CHECKING:
    from scenarios.kafka.observation.history import RebalanceHistory
    from scenarios.kafka.observation.observation import Observation

MEASURED_S = 5.0
"""How long it is measured what is produced if nobody says."""

_STANDARD_OUTPUT = Path("-")


def import_(
    group: Annotated[str, typer.Option(help="The application's application.id.", metavar="APP_ID")],
    out: Annotated[
        Path, typer.Option("-o", "--output", help="The scenario to write; - is standard output.", metavar="FILE")
    ],
    bootstrap: Annotated[
        str | None, typer.Option(help="Look at this cluster; nothing in it is changed.", metavar="HOST:PORT")
    ] = None,
    from_: Annotated[
        Path | None,
        typer.Option("--from", help="Read what Kafka's tools printed, in files of any name.", metavar="DIR"),
    ] = None,
    command_config: Annotated[
        Path | None, typer.Option(help="With --bootstrap: how to connect, as Kafka's tools take it.", metavar="FILE")
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(help=f"With --bootstrap: how long to measure what is produced ({MEASURED_S:g}).", min=0),
    ] = None,
    topology: Annotated[
        Path | None,
        typer.Option(help="With --bootstrap: what the application's Topology.describe() prints.", metavar="FILE"),
    ] = None,
    rack: Annotated[
        list[str] | None,
        typer.Option(help="With --from: the rack of clients, as in 'shop-1*=az1'. May be repeated.", metavar="ID=RACK"),
    ] = None,
    last: Annotated[
        bool, typer.Option("--last", help="With --from: go on from the last round of a leader's log; replay none.")
    ] = False,
    streams_config: Annotated[Path | None, typer.Option(help="The application's properties.", metavar="FILE")] = None,
    config: Annotated[
        list[str] | None,
        typer.Option(help="A config of the application that is not to be seen. May be repeated.", metavar="KEY=VALUE"),
    ] = None,
) -> None:
    """Make a scenario that starts from where a running application is: its tasks, lags, placements and rates.

    A leader's log makes a trace: who came and went is replayed, and the rounds that were logged are kept beside the
    scenario, as NAME.rounds.csv.

    Example: [bold]assignor-sim import --bootstrap localhost:9092 --group shop -o shop.yaml[/bold]
    """
    from scenarios.kafka.formats.lines import FormatError
    from scenarios.kafka.observation.errors import ObservationError
    from scenarios.language.errors import ScenarioError
    from scenarios.language.text_files import UnreadableError

    with exit_on_error(ObservationError, ScenarioError, FormatError, UnreadableError, OSError):
        only_live = {"--command-config": command_config, "--seconds": seconds, "--topology": topology}
        only_dumps = {"--rack": rack, "--last": last or None}
        _refuse_what_does_not_fit(bootstrap, from_, only_live, only_dumps)
        configs = {**_properties(streams_config), **dict(_pair("--config", text) for text in config or ())}
        if from_ is not None:
            seen, trace, remarks = _of_dumps(from_, group, configs, rack or (), replays=not last)
        elif bootstrap is not None:
            measured_s = MEASURED_S if seconds is None else seconds
            seen = _of_cluster(bootstrap, group, command_config, measured_s, topology, configs)
            trace, remarks = None, []
        _write(out, seen, trace, remarks)


def _refuse_what_does_not_fit(
    bootstrap: str | None, from_: Path | None, only_live: Mapping[str, object], only_dumps: Mapping[str, object]
) -> None:
    from scenarios.kafka.observation.errors import ObservationError

    if (bootstrap is None) == (from_ is None):
        raise ObservationError(
            "give one of --bootstrap HOST:PORT, a running cluster, and --from DIR, a folder of dumps"
        )
    strange, source = (only_dumps, "--from") if from_ is None else (only_live, "--bootstrap")
    for option, value in strange.items():
        if value is not None:
            raise ObservationError(f"{option} goes with {source}")


def _of_cluster(
    bootstrap: str,
    group: str,
    command_config: Path | None,
    seconds: float,
    topology: Path | None,
    configs: Mapping[str, str],
) -> Observation:
    from assignor_sim.console.progress import show_progress
    from scenarios.kafka.live.observe import observe_cluster

    described = None if topology is None else _text(topology)
    properties = _properties(command_config)
    with show_progress() as on_progress:
        on_progress(f"looking at '{group}'")
        return observe_cluster(
            bootstrap, group, properties=properties, seconds=seconds, topology=described, configs=configs
        )


def _of_dumps(
    folder: Path, group: str, configs: Mapping[str, str], racks: Sequence[str], replays: bool
) -> tuple[Observation, RebalanceHistory | None, list[str]]:
    from scenarios.kafka.dumps.observe import DumpOptions, observe_dumps

    placed = [(pattern, rack or None) for pattern, rack in (_pair("--rack", text) for text in racks)]
    found = observe_dumps(folder, group, DumpOptions(configs, placed, replays))
    remarks = [f"read: {', '.join(f'{file} ({kind})' for file, kind in sorted(found.kinds.items()))}"]
    if found.ignored:
        remarks.append(f"ignored: {', '.join(found.ignored)}")
    return found.observation, found.history, remarks


def _write(out: Path, seen: Observation, trace: RebalanceHistory | None, remarks: Sequence[str]) -> None:
    """Write the scenario once it is known to be one, and say what it is."""
    from scenarios.kafka.observation.rebalances_csv import rebalances_csv
    from scenarios.kafka.observation.scenario_writer import list_assumptions, scenario_text
    from scenarios.load import loads

    text = scenario_text(seen, trace)
    scenario = loads(text, "the imported scenario")
    if out == _STANDARD_OUTPUT:
        print(text, end="")
    else:
        _replace(out, text)
    say = sys.stderr if out == _STANDARD_OUTPUT else sys.stdout
    print(_summary(seen), file=say)
    for remark in remarks:
        print(remark, file=say)
    for assumption in list_assumptions(seen):
        print(f"assumed: {assumption}", file=say)
    for note in scenario.notes:
        print(f"noted: {note}", file=say)
    if out == _STANDARD_OUTPUT:
        return
    print(f"scenario: {out}")
    if trace is not None:
        rounds = out.with_suffix(".rounds.csv")
        _replace(rounds, rebalances_csv(seen, trace))
        print(f"the {len(trace.rebalances)} rounds that were logged: {rounds}")
    print(shlex.join(["assignor-sim", "run", str(out)]))


def _summary(seen: Observation) -> str:
    threads = [thread for process in seen.processes for thread in process.threads]
    active, standby = (sum(len(getattr(thread, role)) for thread in threads) for role in ("active", "standby"))
    racks = {broker.rack for broker in seen.brokers if broker.rack is not None}
    return (
        f"{seen.application_id} ({seen.protocol}): {_count(len(seen.processes), 'client')} with "
        f"{_count(len(threads), 'thread')}, {_count(active, 'active task')}, {_count(standby, 'standby')}, "
        f"{_count(len(seen.topics), 'topic')} on {_count(len(seen.brokers), 'broker')} in {_count(len(racks), 'rack')}"
    )


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _properties(path: Path | None) -> Mapping[str, str]:
    from scenarios.kafka.formats.lines import FormatError
    from scenarios.kafka.formats.properties import parse_properties

    if path is None:
        return {}
    try:
        return parse_properties(_text(path))
    except FormatError as error:
        raise FormatError(error.line, f"{path}:{error.line}: {error}") from None


def _text(path: Path) -> str:
    from scenarios.language.text_files import MAX_IMPORT_BYTES, UnreadableError, read_text

    try:
        return read_text(path, MAX_IMPORT_BYTES, f"longer than {MAX_IMPORT_BYTES:,} bytes")
    except UnreadableError as error:
        raise UnreadableError(f"'{path}': {error}") from None


def _pair(option: str, text: str) -> tuple[str, str]:
    from scenarios.kafka.observation.errors import ObservationError

    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ObservationError(f"{option} takes KEY=VALUE, such as {_EXAMPLES[option]}")
    return key.strip(), value.strip()


_EXAMPLES = {"--config": "num.standby.replicas=1", "--rack": "'shop-1*=az1'"}


def _replace(path: Path, text: str) -> None:
    """Write a file whole, or leave it as it is."""
    made = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        made.write_text(text, encoding="utf-8")
        made.replace(path)
    finally:
        made.unlink(missing_ok=True)
