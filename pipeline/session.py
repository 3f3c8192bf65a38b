"""The Spark session of all jobs.

By default, Spark runs in a Java process on this machine (`local[*]`). `--master` selects a cluster; so does
`spark-submit`, whose settings take precedence. With `--master sc://…`, Spark runs in a Spark Connect server.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from assignors.jvm.process import java_executable, missing_java
from pipeline.connect_session import SQL_SETTINGS, connect_to_server, is_connect_url
from pipeline.errors import MAX_CHARS, SparkError, without_stack_frames
from pipeline.java_process import end_java, end_orphans, java_ends_at_interrupt, java_has_ended, uninterrupted
from pipeline.python_daemon import daemon_settings
from simulator.results.temporary_folder import temporary_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL = "local[*]"

_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
"""Spark runs one Python worker per core; more threads per worker would compete for cores."""

_SETTINGS = {
    "spark.app.name": "assignor-sim",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    **SQL_SETTINGS,
    **{f"spark.executorEnv.{name}": "1" for name in _ONE_THREAD},
}
_LOCAL_SETTINGS = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
_FAST_START_JAVA = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC"
"""With one compiler, Java would keep 48 MB of code, and a session of many jobs ends once that is full."""

_JAVA_HAS_ENDED = (
    "Java ended while Spark ran; the system may have ended it for lack of memory (see dmesg). "
    "Use fewer cores, as in --master 'local[1]'"
)


@contextmanager
def connect(
    master: str | None = None,
    settings: Mapping[str, str] | None = None,
    py_files: Sequence[str] = (),
    *,
    fast_start: bool = False,
) -> Iterator[SparkSession]:
    """Start Spark or connect to a cluster; stop or disconnect at the end.

    An active session of this process, as in a notebook, is used as it is and stays active. `master`: Spark URL of the
    cluster, or `sc://HOST:PORT` of a Spark Connect server; by default that of spark-submit, or else all cores of this
    machine. `settings`: Spark configuration, overriding the settings of this module. `py_files`: Python code for the
    executors, as in `spark-submit --py-files`: .py, .zip, and wheels, which are shipped as .zip because Spark does not
    accept wheels. `fast_start` says whether to start Java faster at the expense of its peak speed, for jobs that mostly
    run Python; a sweep of 48 runs then takes three quarters of the time. Raises SparkError if Spark does not start or
    does not answer, or a job fails.
    """
    from pyspark.sql import SparkSession

    if master is not None and is_connect_url(master):
        with connect_to_server(master, settings or {}, py_files) as remote:
            yield remote
        return
    running = SparkSession.getActiveSession() if master is None else None
    with ExitStack() as stack:
        if running is None:
            stack.enter_context(java_ends_at_interrupt())
            session = _start(master, settings or {}, _FAST_START_JAVA if fast_start else "", py_files)
            stack.push(lambda kind, *_: None if kind is KeyboardInterrupt else _stop(session))
        else:
            session = running
        stack.enter_context(_spark_errors())
        for file in py_files:
            _ship(session, file)
        yield session


@contextmanager
def _spark_errors() -> Iterator[None]:
    """Turn errors of Spark in a job into `SparkError`."""
    from py4j.protocol import Py4JError, Py4JNetworkError
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JNetworkError, ConnectionError) as error:
        if java_has_ended():
            raise SparkError(_JAVA_HAS_ENDED) from error
        raise SparkError(f"Spark does not answer: {error}") from error
    except (PySparkException, Py4JError) as error:
        raise SparkError(f"Spark failed: {without_stack_frames(str(error))}") from error


def _stop(session: SparkSession) -> None:
    """Stop Spark; if its Java process has ended, forget it, so that the next session starts another one."""
    from py4j.protocol import Py4JNetworkError

    try:
        session.stop()
    except (Py4JNetworkError, ConnectionError):
        end_java()


def _start(master: str | None, settings: Mapping[str, str], java_options: str, py_files: Sequence[str]) -> SparkSession:
    """Start a session; settings of spark-submit override those of this module.

    Raises SparkError if Spark does not start.
    """
    from py4j.protocol import Py4JError
    from pyspark import SparkConf
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    end_orphans()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    submitted = SparkConf()
    chosen_master = master or submitted.get("spark.master", LOCAL) or LOCAL
    quiet = "-Dlog4j2.configurationFile=" + (Path(__file__).parent / "log4j2.properties").resolve().as_uri()
    # Java unpacks native libraries there, and leaves them if it is killed.
    folder = f'"-Djava.io.tmpdir={temporary_folder()}"'
    project_settings = {**_SETTINGS, "spark.driver.extraJavaOptions": f"{quiet} {folder} {java_options}".strip()}
    if chosen_master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        project_settings |= {**_LOCAL_SETTINGS, "spark.local.dir": str(temporary_folder())}
        project_settings |= {} if submitted.contains("spark.submit.pyFiles") else daemon_settings(py_files)
    builder = SparkSession.builder.master(chosen_master)
    defaults = {key: value for key, value in project_settings.items() if not submitted.contains(key)}
    for key, value in {**defaults, **settings}.items():
        builder = builder.config(key, value)
    with _redirected_stderr() as java_log, uninterrupted():
        try:
            session = builder.getOrCreate()
        except (PySparkException, Py4JError, RuntimeError, OSError) as error:
            if java_executable(os.environ) is None:
                raise SparkError(f"Spark needs Java: {missing_java(os.environ)}") from error
            raise SparkError(
                f"Spark does not start with --master {chosen_master}: {without_stack_frames(str(error))}\n"
                f"{_tail(java_log)}".rstrip()
            ) from error
    session.sparkContext.setLogLevel("ERROR")
    return session


@contextmanager
def _redirected_stderr() -> Iterator[Path]:
    """Redirect the standard error of the Java process to a file, to keep its start messages out of the output."""
    saved_stderr = os.dup(2)
    # Java continues to write to the file after it is unlinked.
    with tempfile.TemporaryDirectory(dir=temporary_folder()) as folder:
        java_log = Path(folder) / "spark.log"
        with java_log.open("wb") as log:
            os.dup2(log.fileno(), 2)
        try:
            yield java_log
        finally:
            os.dup2(saved_stderr, 2)
            os.close(saved_stderr)


def _tail(java_log: Path) -> str:
    return java_log.read_text(encoding="utf-8", errors="replace")[-MAX_CHARS:]


def _ship(session: SparkSession, file: str) -> None:
    """Add Python code to the search path of the executors; a wheel as .zip."""
    from pyspark import SparkFiles

    if file.endswith(".whl"):
        # Executors download it from here during the session; Spark deletes this folder at the end.
        folder = Path(SparkFiles.getRootDirectory()) / "shipped"
        folder.mkdir(exist_ok=True)
        file = str(shutil.copyfile(file, folder / f"{Path(file).stem}.zip"))
    session.sparkContext.addPyFile(file)
