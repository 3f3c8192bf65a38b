"""The Java process of Spark: it ends at Ctrl-C, is not interrupted while it starts, and outlives no command."""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from pipeline.errors import SparkError
from simulator.results.interrupts import repeated_interrupts
from simulator.results.temporary_folder import temporary_folder

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
