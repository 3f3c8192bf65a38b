"""The options of commands that work on Spark."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from assignor_sim.console.exits import BAD_INPUT

Master = Annotated[
    str | None,
    typer.Option(
        help="Spark's URL of a cluster, or local\\[N]; all cores of this machine if not given.", metavar="URL"
    ),
]
Conf = Annotated[
    list[str] | None, typer.Option(help="One of Spark's own settings. May be repeated.", metavar="KEY=VALUE")
]
PyFiles = Annotated[
    list[str] | None,
    typer.Option(help="A wheel, .zip or .py that the executors need. May be repeated.", metavar="FILE"),
]


def parse_spark_conf(conf: Sequence[str] | None) -> dict[str, str]:
    """Spark's settings from `--conf key=value`; ends with exit code 2 if that is no such thing."""
    settings = {}
    for text in conf or ():
        key, equals, value = text.partition("=")
        if not equals or not key.startswith("spark."):
            print(f"--conf {text}: expected KEY=VALUE, as in spark.executor.memory=4g", file=sys.stderr)
            raise typer.Exit(BAD_INPUT)
        settings[key] = value
    return settings
