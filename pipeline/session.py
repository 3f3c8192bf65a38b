"""The Spark session that everything here works in.

Spark is embedded in this process's own Java by default (`local[*]`); `--master` names a cluster instead, and so does
`spark-submit`, whose settings stand.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL = "local[*]"

_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
"""Spark runs one Python worker a core: threads within one would only be in each other's way."""

_SETTINGS = {
    "spark.app.name": "assignor-sim",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.shuffle.partitions": "8",
    **{f"spark.executorEnv.{name}": "1" for name in _ONE_THREAD},
}
_LOCAL_SETTINGS = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
_JAVA_BRIEFLY = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_MOST_SHOWN = 2_000


class SparkError(Exception):
    """Spark does not start, or fails at what it was asked for; says why."""


@contextmanager
def connect(
    master: str | None = None,
    settings: Mapping[str, str] | None = None,
    py_files: Sequence[str] = (),
    *,
    java_works_little: bool = False,
) -> Iterator[SparkSession]:
    """Start Spark, or connect to a cluster, and stop or leave it at the end.

    A session that this process has already, as in a notebook, is used as it is, and left running.

    Args:
        master: Spark's URL of the cluster; if None, what spark-submit was given, else all cores of this machine.
        settings: Spark's own configuration keys, over those set here.
        py_files: what executors need to import, as of `spark-submit --py-files`: .py, .zip, and wheels, which are
            shipped as .zip, as Spark takes no other.
        java_works_little: whether the work is Python's, so that Java on this machine had better start soon than run
            fast: a sweep of 48 runs then takes three quarters of the time.

    Raises:
        SparkError: Spark does not start, or a job of it fails.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession() if master is None else None
    session = running or _start(master, settings or {}, _JAVA_BRIEFLY if java_works_little else "")
    try:
        for file in py_files:
            _ship(session, file)
        yield session
    except (PySparkException, Py4JError) as error:
        raise SparkError(f"Spark failed: {_short(str(error))}") from error
    finally:
        if running is None:
            session.stop()


def _start(master: str | None, settings: Mapping[str, str], java_options: str) -> SparkSession:
    from pyspark import SparkConf
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    submitted = SparkConf()
    wanted = master or submitted.get("spark.master", LOCAL) or LOCAL
    quiet = "-Dlog4j2.configurationFile=" + (Path(__file__).parent / "log4j2.properties").resolve().as_uri()
    ours = {**_SETTINGS, "spark.driver.extraJavaOptions": f"{quiet} {java_options}".strip()}
    if wanted.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        ours |= _LOCAL_SETTINGS
    builder = SparkSession.builder.master(wanted)
    unsaid = {key: value for key, value in ours.items() if not submitted.contains(key)}
    for key, value in {**unsaid, **settings}.items():
        builder = builder.config(key, value)
    with _java_speaks_to_a_file() as said:
        try:
            session = builder.getOrCreate()
        except (PySparkException, RuntimeError, OSError) as error:
            raise SparkError(f"Spark does not start with --master {wanted}: {error}\n{_end(said)}".rstrip()) from error
    session.sparkContext.setLogLevel("ERROR")
    return session


@contextmanager
def _java_speaks_to_a_file() -> Iterator[Path]:
    """Where Java writes to that is started meanwhile: greetings of its own would stand between our lines."""
    ours = os.dup(2)
    # Java goes on writing to the file after its name is gone.
    with tempfile.TemporaryDirectory(prefix="assignor-sim-") as folder:
        said = Path(folder) / "spark.log"
        with said.open("wb") as log:
            os.dup2(log.fileno(), 2)
        try:
            yield said
        finally:
            os.dup2(ours, 2)
            os.close(ours)


def _end(said: Path) -> str:
    return said.read_text(encoding="utf-8", errors="replace")[-_MOST_SHOWN:]


def _short(text: str) -> str:
    """What is said of a failure, without the inner life of Java."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith(("at ", "..."))]
    said = "\n".join(lines)
    return said if len(said) <= _MOST_SHOWN else f"{said[:_MOST_SHOWN]} …"


def _ship(session: SparkSession, file: str) -> None:
    from pyspark import SparkFiles

    if file.endswith(".whl"):
        # Executors fetch it from here for as long as the session lasts; Spark clears this folder at its end.
        folder = Path(SparkFiles.getRootDirectory()) / "shipped"
        folder.mkdir(exist_ok=True)
        file = str(shutil.copyfile(file, folder / f"{Path(file).stem}.zip"))
    session.sparkContext.addPyFile(file)
