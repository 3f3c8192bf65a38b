"""What several commands share: arguments and options, their values and completion, and formats of results."""

from __future__ import annotations

import math
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from assignor_sim.console.messages import exit_with_error, print_remark

if TYPE_CHECKING:
    from typing import TextIO

    from assignors.containment.limits import CallLimits
    from reports.document import Report

_Properties = TypeVar("_Properties")

_SAFE = re.compile(r"[\w.@/][\w.@/%+,:=-]*")
"""Words that a shell neither splits nor expands, without characters that a terminal obeys."""


def complete_scenario(incomplete: str) -> list[str]:
    """Return the shipped scenarios, and the scenario files of the current folder, that begin with a text."""
    from scenarios.shipped import list_scenarios

    return _names_and_files(incomplete, (path.stem for path in list_scenarios()))


def complete_sweep(incomplete: str) -> list[str]:
    """Return the shipped sweeps, and the YAML files of the current folder, that begin with a text."""
    from scenarios.shipped import list_sweeps

    return _names_and_files(incomplete, (path.stem for path in list_sweeps()))


def complete_assignor(incomplete: str) -> list[str]:
    """Return the built-in and installed assignors that begin with a text; after `@`, their releases."""
    from assignors import registry

    names = {name for info in registry.built_in() for name in (info.name, *info.aliases)} | set(registry.installed())
    if "@" in incomplete:
        names = {info.at(release).name for info in registry.built_in() for release in info.releases}
    return _matching(incomplete, names)


def complete_metric(incomplete: str) -> list[str]:
    """Complete the key of a metric."""
    from reports.analysis.metrics import METRIC

    return _matching(incomplete, METRIC)


def complete_strategy(incomplete: str) -> list[str]:
    """Return the strategies for replicas that begin with a text."""
    from assignors.replicas.registry import built_in

    return _matching(incomplete, (info.name for info in built_in()))


def _names_and_files(incomplete: str, names: Iterable[str]) -> list[str]:
    if "/" in incomplete:
        return []  # The shell then completes files.
    files = (path.name for path in Path().iterdir() if path.suffix in (".yaml", ".yml") and path.is_file())
    return _matching(incomplete, [*names, *files])


def _matching(incomplete: str, names: Iterable[str]) -> list[str]:
    """Return names that begin with a text, sorted; the shell inserts them as they are, so only safe ones."""
    return sorted(name for name in set(names) if name.startswith(incomplete) and _SAFE.fullmatch(name))


class WatchFormat(StrEnum):
    """Format of the events of a watch on standard output: lines for people, or JSON lines."""

    TEXT = "text"
    JSONL = "jsonl"


class OutputFormat(StrEnum):
    """Output format: a table for people, JSON or CSV for scripts, or Markdown for documents."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"


Format = Annotated[OutputFormat, typer.Option("--format", help="Output format.")]
FormatOfTables = Annotated[OutputFormat, typer.Option("--format", help="Output format; csv has the first table.")]

ScenarioFile = Annotated[
    Path,
    typer.Argument(
        help="Scenario file, or name of a shipped scenario.", metavar="SCENARIO", autocompletion=complete_scenario
    ),
]
ScenarioFiles = Annotated[
    list[Path],
    typer.Argument(
        help="Scenario files, directories of them, or names of shipped ones.",
        metavar="SCENARIO…",
        autocompletion=complete_scenario,
    ),
]
ScenarioSeed = Annotated[int | None, typer.Option(help="Random seed; the scenario's first by default.", min=0)]
Changes = Annotated[
    list[str] | None, typer.Option("--set", help="Change the scenario. Repeatable.", metavar="PATH=VALUE")
]
FirstChanges = Annotated[
    list[str] | None,
    typer.Option("--set", help="Change the scenario first, as in run. Repeatable.", metavar="PATH=VALUE"),
]
AssignorsInPlace = Annotated[
    list[str] | None, typer.Option(help="Assignor in place of the scenario's, as in run. Repeatable.")
]
Today = Annotated[
    str | None, typer.Option(help="Label of the current assignor; the scenario's first by default.", metavar="LABEL")
]
ComparedMetrics = Annotated[list[str] | None, typer.Option(help="Key of a metric to compare. Repeatable.")]
Force = Annotated[bool, typer.Option("--force", help="Run even if the estimated time or memory exceeds its limit.")]
Workers = Annotated[int | None, typer.Option(help="Number of processes; default: one per CPU.", min=1)]

ResultDirectory = Annotated[Path, typer.Argument(help="Result directory of run --out.", metavar="DIR")]
RunSeed = Annotated[int | None, typer.Option(help="Seed of the run; the first by default.")]
Columns = Annotated[
    str | None,
    typer.Option(help="Metrics to show, by key, separated by commas (keys: list metrics).", metavar="KEYS"),
]
Wide = Annotated[bool, typer.Option("--wide", help="One row per assignor, however wide; for less -S.")]

AssignorTimeout = Annotated[
    float | None,
    typer.Option(
        help="Time limit of each call of a custom assignor (default: 300; 0 for none).", min=0, metavar="SECONDS"
    ),
]
Isolate = Annotated[
    bool, typer.Option("--isolate", help="Run each custom assignor in a process of its own, with a memory limit.")
]
AssignorMemory = Annotated[
    float | None,
    typer.Option(help="With --isolate: memory that a custom assignor may allocate (default: 4).", metavar="GIB"),
]

Bootstrap = Annotated[
    str | None, typer.Option(help="Running cluster to observe; it is not changed.", metavar="HOST:PORT")
]
CommandConfig = Annotated[
    Path | None,
    typer.Option(help="With --bootstrap: client properties, in the format of Kafka's tools.", metavar="FILE"),
]
Topology = Annotated[
    Path | None, typer.Option(help="With --bootstrap: output of the application's Topology.describe().", metavar="FILE")
]
Racks = Annotated[
    list[str] | None,
    typer.Option(help="Rack of clients that report none, as in 'shop-1*=az1'. Repeatable.", metavar="ID=RACK"),
]
StreamsConfig = Annotated[Path | None, typer.Option(help="Properties file of the clients.", metavar="FILE")]
HiddenConfigs = Annotated[
    list[str] | None,
    typer.Option(help="Config of the clients that the cluster does not expose. Repeatable.", metavar="KEY=VALUE"),
]
ClientRelease = Annotated[
    str | None, typer.Option(help="Kafka release of the clients, such as 3.9.1.", metavar="RELEASE")
]

Master = Annotated[
    str | None,
    typer.Option(help="Spark master URL, local\\[N] or sc://HOST:PORT; all local cores by default.", metavar="URL"),
]
Conf = Annotated[list[str] | None, typer.Option(help="Spark config. Repeatable.", metavar="KEY=VALUE")]
PyFiles = Annotated[
    list[str] | None,
    typer.Option(help="Wheel, .zip or .py that the executors need. Repeatable.", metavar="FILE"),
]


def command_line() -> str:
    """Return the current command line, quoted for a shell; bytes that are not UTF-8 are replaced."""
    arguments = [os.fsencode(argument).decode("utf-8", "replace") for argument in sys.argv[1:]]
    return shlex.join(["assignor-sim", *arguments])


def split_pair(option: str, text: str, expected: str) -> tuple[str, str]:
    """Return the two sides of a text such as KEY=VALUE; exit with code 2, and what is expected, without both."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        exit_with_error(f"{option} {text}: expected {expected}")
    return key, value


def parse_overrides(texts: Sequence[str] | None) -> list[tuple[str, str]]:
    """Return pairs of path and value; exit with code 2 if a text has another form."""
    return [split_pair("--set", text, "PATH=VALUE, as in clients[0].count=6") for text in texts or ()]


def parse_seconds(option: str, text: str | None) -> float | None:
    """Return a duration in seconds; None if there is none; exit with code 2 if the text is not a duration."""
    from scenarios.language.units import parse_duration_ms

    try:
        return None if text is None else parse_duration_ms(text) / 1000
    except ValueError as error:
        exit_with_error(f"{option}: {error}")


def parse_configs(option: str, texts: Sequence[str]) -> dict[str, Any]:
    """Return configs as YAML values, by key; exit with code 2 if a text is not KEY=VALUE."""
    from ruamel.yaml import YAML

    configs = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not (key and equals):
            exit_with_error(f"{option}: expected KEY=VALUE, found {text!r}")
        configs[key] = YAML(typ="safe").load(value)
    return configs


class ColumnError(ValueError):
    """A key of `--columns` is unknown."""


def parse_columns(text: str | None) -> list[str]:
    """Return the keys of `--columns`; raise ColumnError if a key is not that of a metric."""
    if text is None:
        return []
    from reports.analysis.metrics import ALL_METRICS
    from simulator.results.run_metrics import metric_hint

    keys = [key.strip() for key in text.split(",") if key.strip()]
    for key in keys:
        if key not in ALL_METRICS:
            raise ColumnError(f"--columns: {key}: unknown metric ({metric_hint(key, list(ALL_METRICS))})")
    if not keys:
        raise ColumnError("--columns: names no metric (as in --columns active_moves,restored_bytes)")
    return list(dict.fromkeys(keys))


def call_limits(timeout_s: float | None, isolate: bool, memory_gib: float | None) -> CallLimits:
    """Return the limits that options select; exit with code 2 if they contradict each other."""
    from assignors.containment.limits import DEFAULT_MEMORY_BYTES, DEFAULT_TIMEOUT_S, CallLimits

    if memory_gib is not None and not (isolate and 0 < memory_gib < math.inf):
        exit_with_error("--assignor-memory: requires --isolate and a number above 0")
    if timeout_s is not None and math.isnan(timeout_s):
        exit_with_error("--assignor-timeout: expected seconds, 0 for no limit")
    return CallLimits(
        DEFAULT_TIMEOUT_S if timeout_s is None else timeout_s or math.inf,
        isolate,
        DEFAULT_MEMORY_BYTES if memory_gib is None else max(1, round(memory_gib * 2**30)),
    )


def read_input(path: Path) -> str:
    """Return the text of a file; raise UnreadableError if the file cannot be read; the message names it."""
    from scenarios.language.text_files import MAX_IMPORT_BYTES, UnreadableError, read_text

    try:
        return read_text(path, MAX_IMPORT_BYTES, f"longer than {MAX_IMPORT_BYTES:,} bytes")
    except UnreadableError as error:
        raise UnreadableError(f"'{error.place(path)}': {error}") from None


def read_properties(path: Path | None) -> Mapping[str, str]:
    """Return the properties in a file; none without a file.

    Raises FormatError if the file is invalid, and UnreadableError if the file cannot be read.
    """
    from scenarios.kafka.formats.properties import parse_properties

    return {} if path is None else _parse_file(path, parse_properties)


def read_configs(streams_config: Path | None, config: Iterable[str] | None) -> dict[str, str]:
    """Return the configs of a properties file and of `--config`, which overrides the file.

    A file of a framework is read without the prefix of its keys, with a note. Raises FormatError if the file is
    invalid.
    """
    from scenarios.kafka.formats.properties import parse_streams_properties

    expected = "KEY=VALUE, as in num.standby.replicas=1"
    stated = {
        key.strip(): value.strip() for key, value in (split_pair("--config", text, expected) for text in config or ())
    }
    if streams_config is None:
        return stated
    properties = _parse_file(streams_config, parse_streams_properties)
    for remark in properties.remarks(str(streams_config)):
        print_remark("note", remark)
    return {**properties.configs, **stated}


def _parse_file(path: Path, parse: Callable[[str], _Properties]) -> _Properties:
    """Return what a file contains; an error names the file and the line."""
    from scenarios.kafka.formats.lines import FormatError

    try:
        return parse(read_input(path))
    except FormatError as error:
        raise FormatError(error.line, f"{path}:{error.line}: {error}") from None


def parse_racks(rack: Iterable[str] | None) -> list[tuple[str, str | None]]:
    """Return the patterns and racks of `--rack`; None where the rack is empty."""
    pairs = (split_pair("--rack", text, "KEY=VALUE, as in 'shop-1*=az1'") for text in rack or ())
    return [(pattern.strip(), name.strip() or None) for pattern, name in pairs]


def parse_spark_conf(conf: Sequence[str] | None) -> dict[str, str]:
    """Return Spark configs by key; exit with code 2 if a text is not `spark.KEY=VALUE`."""
    configs = dict(text.partition("=")[::2] for text in conf or ())
    for text in conf or ():
        if not re.match(r"spark\.[^=]*=", text):
            exit_with_error(f"--conf {text}: expected KEY=VALUE, as in spark.executor.memory=4g")
    return configs


@contextmanager
def requested_session(master: str | None, conf: Sequence[str] | None, py_files: Sequence[str] | None) -> Iterator[Any]:
    """Provide a session if an option of Spark is given; without one, the command runs in processes of this machine.

    Yields the `SparkSession`, or None.
    """
    if master is None and not conf and not py_files:
        yield None
        return
    from pipeline.session import connect

    with connect(master, parse_spark_conf(conf), py_files or (), fast_start=True) as session:
        yield session


def print_report(
    format_: OutputFormat, report: Report, record: Callable[[], Any], stream: TextIO | None = None
) -> None:
    """Print a report to a stream, by default standard output; `record` returns the JSON-serializable record."""
    from reports.render.report_formats import render_report

    print(render_report(report, record, format_.value), end="", file=stream)
