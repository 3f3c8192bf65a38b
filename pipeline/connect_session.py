"""Sessions of Spark Connect: Spark runs in a server, and this process starts no Java.

The server is a program of its own, often on another machine. It must see the folders of the commands under the same
names, and its executors need this project, as those of any cluster do.
"""

from __future__ import annotations

import logging
import os
import shutil
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pipeline.errors import SparkError, without_stack_frames
from simulator.results.temporary_folder import temporary_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SQL_SETTINGS = {
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.shuffle.partitions": "8",
}
"""Settings of every session; a client of Spark Connect can set no others."""

_START_TIMEOUT_S: Final = 10.0
_RETRIES: Final = 5
_MAX_WAIT_MS: Final = 4_000
"""Retries of a request without an answer take 8 seconds in all; PySpark's take 10 minutes by default."""

_MODE: Final = ("SPARK_CONNECT_MODE_ENABLED", "SPARK_REMOTE")
"""Environment variables by which PySpark remembers the kind of the last session."""

_MISSING: Final = "--master {url}: Spark Connect needs more packages: pip install 'assignor-sim[connect]' ({error})"
_NO_ANSWER: Final = (
    "the Spark Connect server at {url} does not answer; check host and port, and that the server runs (its log says "
    "why it ended)"
)
_SCHEME: Final = "sc://"


def is_connect_url(master: str | None) -> bool:
    """Return whether the URL of a cluster is that of a Spark Connect server."""
    return (master or "").startswith(_SCHEME)


def is_connect(spark: SparkSession) -> bool:
    """Return whether a session is one of Spark Connect, which has no Java process and no `sparkContext`."""
    return type(spark).__module__.startswith("pyspark.sql.connect.")


def runs_on_this_machine(spark: SparkSession) -> bool:
    """Return whether Spark runs in processes of this machine, so that any of its folders will do."""
    return not is_connect(spark) and str(spark.sparkContext.master).startswith("local")


@contextmanager
def connect_to_server(url: str, settings: Mapping[str, str], py_files: Sequence[str]) -> Iterator[SparkSession]:
    """Open a session of a Spark Connect server; close it at the end, which ends its jobs.

    `url`: `sc://HOST:PORT`, with parameters such as `;token=…` as PySpark accepts them. `settings`: Spark configuration
    of the session; that of the server cannot be changed. `py_files`: Python code for the executors; wheels are shipped
    as .zip. Raises SparkError if a package is missing, the server does not answer, or a job fails; and
    KeyboardInterrupt if the user pressed Ctrl-C.
    """
    previous_mode = {name: os.environ.get(name) for name in _MODE}
    try:
        with warnings.catch_warnings():
            # Lost servers are reported in one line, after the last retry.
            warnings.filterwarnings("ignore", r"\[RETRIES_EXCEEDED\]")
            session = _open(url)
            try:
                with _errors_of(url):
                    for key, value in {**SQL_SETTINGS, **settings}.items():
                        session.conf.set(key, value)
                    for file in py_files:
                        session.addArtifacts(_as_zip(file), pyfile=True)
                    yield session
            except KeyboardInterrupt:
                with suppress(Exception):  # Whatever fails here, the session ends below.
                    session.interruptAll()
                raise
            finally:
                _close(session)
    finally:
        for name, mode in previous_mode.items():
            os.environ.pop(name, None)
            if mode is not None:
                os.environ[name] = mode


def _open(url: str) -> Any:
    """Open a session as soon as the server answers.

    Raises SparkError if a package is missing, the URL is invalid, or the server does not answer.
    """
    from pyspark.errors import PySparkException

    try:
        import grpc
        from pyspark.sql import SparkSession
        from pyspark.sql.connect.client import DefaultChannelBuilder
        from pyspark.sql.connect.client.retries import DefaultPolicy
    except ImportError as error:  # PySpark raises it, too, for packages that are too old.
        raise SparkError(_MISSING.format(url=url, error=str(error).splitlines()[0])) from error
    try:
        channel = DefaultChannelBuilder(url).toChannel()
        try:
            grpc.channel_ready_future(channel).result(_START_TIMEOUT_S)
        finally:
            channel.close()
        session: Any = SparkSession.builder.remote(url).create()
    except grpc.FutureTimeoutError as error:
        raise SparkError(_NO_ANSWER.format(url=_without_parameters(url))) from error
    except (PySparkException, grpc.RpcError, ValueError) as error:
        raise SparkError(f"--master {_without_parameters(url)}: {_one_line(error)}") from error
    session.client.set_retry_policies([DefaultPolicy(max_retries=_RETRIES, max_backoff=_MAX_WAIT_MS)])
    return session


@contextmanager
def _errors_of(url: str) -> Iterator[None]:
    """Turn errors of the client into `SparkError`: a job fails, or the server does not answer."""
    import grpc
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, grpc.RpcError) as error:
        if "StatusCode.UNAVAILABLE" in str(error):
            raise SparkError(_NO_ANSWER.format(url=_without_parameters(url))) from error
        raise SparkError(f"Spark failed: {_one_line(error)}") from error


def _close(session: Any) -> None:
    """Close a session; a server that has ended needs no retry and no message."""
    session.client.set_retry_policies([])
    logger = logging.getLogger("pyspark.sql.connect.client.logging")
    disabled, logger.disabled = logger.disabled, True
    try:
        session.stop()
    finally:
        logger.disabled = disabled


def _as_zip(file: str) -> str:
    """Return the path of Python code in a format that Spark accepts: that of a wheel is .zip."""
    if not file.endswith(".whl"):
        return file
    return str(shutil.copyfile(file, temporary_folder() / f"{Path(file).stem}.zip"))


def _without_parameters(url: str) -> str:
    """Return a URL without its parameters, which may contain a token."""
    return url.split(";", 1)[0].rstrip("/")


def _one_line(error: Exception) -> str:
    """Return the message of an error without the stack frames of the server."""
    return " ".join(without_stack_frames(str(error).split("JVM stacktrace:")[0]).split())
