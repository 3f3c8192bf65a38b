"""Options of the commands that use Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from assignor_sim.console.exits import BAD_INPUT, print_error

Master = Annotated[
    str | None,
    typer.Option(help="Spark master URL, local\\[N] or sc://HOST:PORT; all local cores by default.", metavar="URL"),
]
Conf = Annotated[list[str] | None, typer.Option(help="Spark config. Repeatable.", metavar="KEY=VALUE")]
PyFiles = Annotated[
    list[str] | None,
    typer.Option(help="Wheel, .zip or .py that the executors need. Repeatable.", metavar="FILE"),
]


def parse_spark_conf(conf: Sequence[str] | None) -> dict[str, str]:
    """Return Spark configs by key; exit with code 2 if a text is not `spark.KEY=VALUE`."""
    configs = {}
    for text in conf or ():
        key, equals, value = text.partition("=")
        if not equals or not key.startswith("spark."):
            print_error(f"--conf {text}: expected KEY=VALUE, as in spark.executor.memory=4g")
            raise typer.Exit(BAD_INPUT)
        configs[key] = value
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
