"""The Spark session of all jobs.

By default, Spark runs in a Java process on this machine (`local[*]`). `--master` selects a cluster; so does
`spark-submit`, whose settings take precedence. With `--master sc://…`, Spark runs in a Spark Connect server.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from assignors.jvm.process import java_executable, missing_java
from pipeline.connect_session import SQL_SETTINGS, connect_to_server, is_connect_url
from pipeline.errors import MAX_CHARS, SparkError, without_stack_frames
from pipeline.python_daemon import daemon_settings
from simulator.results.interrupts import repeated_interrupts
from simulator.results.temporary_folder import temporary_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_JAVA_END_S = 10.0
"""Time that Java has to stop Spark after Ctrl-C, before it is killed."""
_JAVA_LAST_STEPS_S = 2.0
"""Time between the end of Java's connections and that of its process."""

_PY4J_LOGGERS = (None, "py4j.clientserver", "py4j.java_gateway")
"""Loggers of py4j, which also uses the root logger; filters of a logger do not apply to those below it."""


@contextmanager
def java_ends_at_interrupt() -> Iterator[None]:
    """End the Java process at Ctrl-C, without a request to it: the interrupted one may be unanswered.

    A terminal sends Ctrl-C to Java, too, so an error of Spark after Ctrl-C follows from it. Raises KeyboardInterrupt if
    the user pressed Ctrl-C.
    """
    interrupts: list[int] = []
    _unlog_lost_calls()
    try:
        with _recorded_interrupts(interrupts):
            yield
    except KeyboardInterrupt:
        end_java()
        raise
    except SparkError:
        if not interrupts:
            raise
        end_java()
        raise KeyboardInterrupt from None


@contextmanager
def _recorded_interrupts(interrupts: list[int]) -> Iterator[None]:
    """Append a number to `interrupts` at each Ctrl-C, before the handler of this process is called.

    One that Python drops is repeated.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return

    def record(number: int, frame: FrameType | None) -> None:
        interrupts.append(number)
        handler(number, frame)

    signal.signal(signal.SIGINT, record)
    try:
        with repeated_interrupts():
            yield
    finally:
        signal.signal(signal.SIGINT, handler)


def _unlog_lost_calls() -> None:
    """Drop py4j's tracebacks of calls of Java that have lost their connection, until this process ends.

    Objects of Java that are deleted after it has ended, and threads that still wait for it, call it, too.
    """
    for name in _PY4J_LOGGERS:
        logging.getLogger(name).addFilter(_is_no_lost_call)


def _is_no_lost_call(record: logging.LogRecord) -> bool:
    """Return False for a call by py4j that Ctrl-C ends here or, where the terminal sends it to Java too, over there.

    A lost connection is an exception as well, which the session reports in one line, unless it is lost while py4j
    closes it.
    """
    import py4j
    from py4j.protocol import Py4JNetworkError

    lost = KeyboardInterrupt | Py4JNetworkError | ConnectionError
    is_by_py4j = record.pathname.startswith(os.path.dirname(py4j.__file__))
    return not (is_by_py4j and record.exc_info and isinstance(record.exc_info[1], lost))


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay Ctrl-C to the end of the block, and keep PySpark's temporary files in the folder of this process.

    A Java process whose start is interrupted does not find the folder for its port, and then never ends. The handler of
    this process is restored: Spark's sends a request to Java while another one may be unanswered. Raises
    KeyboardInterrupt if the user has pressed Ctrl-C.
    """
    interrupts: list[int] = []
    in_main_thread = threading.current_thread() is threading.main_thread()
    handler, folder = signal.getsignal(signal.SIGINT), tempfile.tempdir
    tempfile.tempdir = str(temporary_folder())
    if in_main_thread:
        signal.signal(signal.SIGINT, lambda number, frame: interrupts.append(number))
    try:
        yield
    finally:
        tempfile.tempdir = folder
        if in_main_thread and handler is not None:
            signal.signal(signal.SIGINT, handler)
    if interrupts:
        raise KeyboardInterrupt


def end_orphans() -> None:
    """End the Java processes of killed commands whose temporary folders have been removed.

    Java ends with its command unless it is still starting when its folder is removed. Processes are found on Linux
    only.
    """
    shared = os.fsencode(temporary_folder().parent)
    pattern = re.compile(rb"-Djava\.io\.tmpdir=(" + re.escape(shared) + rb"/[^\0 \"]+)")
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # It has ended, or belongs to another user.
            found = pattern.search(file.read_bytes())
            if found and not os.path.exists(found[1]):
                os.kill(int(file.parent.name), signal.SIGKILL)


def java_has_ended() -> bool:
    """Return whether Java has ended or is about to: its connections close before its process can be awaited."""
    from pyspark import SparkContext

    process = getattr(SparkContext._gateway, "proc", None)
    if process is None:
        return False
    with suppress(subprocess.TimeoutExpired):
        process.wait(_JAVA_LAST_STEPS_S)
    return process.poll() is not None


def end_java() -> None:
    """End the Java process of PySpark, and let the next session start another one."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    process = getattr(SparkContext._gateway, "proc", None)
    if process is None:  # It is not started, or it is that of spark-submit.
        return
    context = SparkContext._active_spark_context
    if context is not None and context._accumulatorServer is not None:
        # It prints a traceback when Java closes the connection.
        context._accumulatorServer.handle_error = lambda *_: None  # type: ignore[method-assign]
    process.terminate()
    try:
        process.wait(_JAVA_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None


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
