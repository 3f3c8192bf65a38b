"""Options of commands that observe an application, live or in dumps: what clusters and tools do not say about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated

import typer

from assignor_sim.console.client_properties import read_input
from assignor_sim.console.remarks import print_remark

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

_EXAMPLES = {"--config": "num.standby.replicas=1", "--rack": "'shop-1*=az1'"}


def read_configs(streams_config: Path | None, config: Iterable[str] | None) -> dict[str, str]:
    """Return the configs of a properties file and of `--config`, which overrides the file.

    A file of a framework is read without the prefix of its keys, with a note. Raises FormatError if the file is
    invalid, and ObservationError if an option is not `KEY=VALUE`.
    """
    stated: Mapping[str, str] = dict(_parse_pair("--config", text) for text in config or ())
    return {**_read_streams_config(streams_config), **stated}


def _read_streams_config(path: Path | None) -> Mapping[str, str]:
    from scenarios.kafka.formats.lines import FormatError
    from scenarios.kafka.formats.properties import parse_streams_properties

    if path is None:
        return {}
    try:
        properties = parse_streams_properties(read_input(path))
    except FormatError as error:
        raise FormatError(error.line, f"{path}:{error.line}: {error}") from None
    for remark in properties.remarks(str(path)):
        print_remark("note", remark)
    return properties.configs


def parse_racks(rack: Iterable[str] | None) -> list[tuple[str, str | None]]:
    """Return the patterns and racks of `--rack`; None where the rack is empty.

    Raises ObservationError if an option is not `ID=RACK`.
    """
    return [(pattern, name or None) for pattern, name in (_parse_pair("--rack", text) for text in rack or ())]


def _parse_pair(option: str, text: str) -> tuple[str, str]:
    from scenarios.kafka.observation.observation import ObservationError

    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ObservationError(f"{option} {text}: expected KEY=VALUE, as in {_EXAMPLES[option]}")
    return key.strip(), value.strip()
