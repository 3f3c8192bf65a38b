"""Java processes of killed commands are ended, and a Java process that ends is one error in one line."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline.errors import SparkError
from pipeline.session import connect, end_orphans
from simulator.results.temporary_folder import temporary_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LINUX_ONLY = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are found on Linux only")
pytestmark = [pytest.mark.spark, LINUX_ONLY]


def start(folder: str) -> subprocess.Popen[bytes]:
    """Start a process with an argument of Java."""
    code = "import time; print(flush=True); time.sleep(60)"
    process = subprocess.Popen(
        [sys.executable, "-c", code, f"-Djava.io.tmpdir={folder}", "SparkSubmit"], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    return process


def test_java_with_one_compiler_has_room_for_the_code_of_many_jobs(spark: SparkSession) -> None:
    pools = spark._jvm.java.lang.management.ManagementFactory.getMemoryPoolMXBeans()
    code = sum(pool.getUsage().getMax() for pool in pools if pool.getName().startswith("Code"))
    assert code >= 240 << 20


def test_java_without_its_folder_is_ended_and_others_are_kept() -> None:
    own = temporary_folder()
    orphan, used, foreign = start(f"{own.parent}/4711-gone"), start(str(own)), start(f"{tempfile.gettempdir()}/gone")
    try:
        end_orphans()
        assert orphan.wait(10) == -9
        assert used.poll() is None
        assert foreign.poll() is None
    finally:
        for process in (orphan, used, foreign):
            process.kill()
            process.communicate()


KILL_JAVA = """
import sys, threading, time
from pyspark import SparkContext
from pipeline.session import connect
from pipeline.errors import SparkError

def kill():
    SparkContext._gateway.proc.kill()

try:
    with connect("local[1]") as spark:
        rows = spark.range(3)
        rows.count()
        if sys.argv[1] == "during a call":
            threading.Timer(0.5, kill).start()
            rows.foreach(lambda _: time.sleep(60))
        else:
            kill()
            SparkContext._gateway.proc.wait()
            rows.count()
except SparkError as error:
    print(f"error: {error}")
with connect("local[1]") as spark:
    print(spark.range(5).count())
"""


@pytest.mark.parametrize("when", ["during a call", "between calls"])
@pytest.mark.slow
def test_java_that_is_killed_is_one_error_and_the_next_session_works(tmp_path: Path, when: str) -> None:
    done = subprocess.run([sys.executable, "-c", KILL_JAVA, when], capture_output=True, text=True, cwd=tmp_path)
    assert "Traceback" not in done.stderr
    error, count = done.stdout.splitlines()
    assert error.startswith("error: Java ended while Spark ran")
    assert count == "5"


DROP_INTERRUPT = """
import os, signal, time
from pyspark import SparkContext
from pipeline.session import connect

class Deleted:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)

try:
    with connect("local[1]") as spark:
        object = Deleted()
        del object
        SparkContext._gateway.proc.terminate()
        SparkContext._gateway.proc.wait()
        spark.range(3).count()
except KeyboardInterrupt:
    print("interrupted")
with connect("local[1]") as spark:
    print(spark.range(5).count())
"""


@pytest.mark.slow
def test_interrupt_that_python_drops_is_no_error_of_spark(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", DROP_INTERRUPT], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.splitlines() == ["interrupted", "5"]
    assert "Traceback" not in done.stderr


REPEAT_INTERRUPT = """
import os, signal, sys, time, weakref
from pipeline.session import java_ends_at_interrupt

class Deleted:
    pass

def interrupt(_):
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(1_000):
        pass

def fail(_):
    raise ValueError("own")

try:
    with java_ends_at_interrupt():
        for callback in (fail, interrupt):
            object = Deleted()
            reference = weakref.ref(object, callback)
            del object
        print("goes on")
        time.sleep(60)
        print("is over")
except KeyboardInterrupt:
    print("interrupted")
"""


def test_interrupt_that_python_drops_is_repeated() -> None:
    """Spark deletes objects of Java in such callbacks, and then waits for its jobs."""
    done = subprocess.run([sys.executable, "-c", REPEAT_INTERRUPT], capture_output=True, text=True)
    assert done.stdout.splitlines() == ["goes on", "interrupted"]
    assert "ValueError: own" in done.stderr
    assert "KeyboardInterrupt" not in done.stderr


def test_connection_that_is_lost_while_it_is_closed_is_not_logged() -> None:
    """Ctrl-C in a terminal ends Java, to which py4j then sends that the interrupted call has ended."""
    code = """
import logging, socket, sys
from types import SimpleNamespace
from py4j.clientserver import ClientServerConnection, JavaParameters, PythonParameters
from pipeline.session import java_ends_at_interrupt

def lose():
    connection = ClientServerConnection(JavaParameters(), PythonParameters(), SimpleNamespace(pool=None), None)
    ours, java = socket.socketpair()
    connection.init_socket_from_python_server(ours, ours.makefile("rb"))
    java.close()
    connection.shutdown_socket(1, 2)

logging.basicConfig(stream=sys.stdout)  # py4j's own lines on the root logger do it, too.
lose()
print("before", flush=True)
with java_ends_at_interrupt():
    lose()
lose()
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "BrokenPipeError" in done.stdout, "py4j no longer logs it, so that nothing need be dropped"
    assert done.stdout.endswith("before\n")


@pytest.mark.slow
def test_call_of_java_that_ctrl_c_leaves_unread_is_not_logged(tmp_path: Path) -> None:
    """A thread still waits for Java, or an object of Java is deleted, while Java ends."""
    code = """
import logging, signal, threading, time
from contextlib import suppress
from pipeline import session
from py4j.protocol import Py4JError
from pyspark import SparkContext

logging.basicConfig()
session._JAVA_END_S = 0.5

def call(sending):
    sending.set()
    with suppress(Py4JError):
        print("answer", java.currentTimeMillis())

try:
    with session.connect("local[1]", fast_start=True) as spark:
        java = spark._jvm.java.lang.System
        java.currentTimeMillis()
        SparkContext._gateway.proc.send_signal(signal.SIGSTOP)
        sending = threading.Event()
        thread = threading.Thread(target=call, args=[sending], daemon=True)
        thread.start()
        sending.wait()
        time.sleep(0.5)
        raise KeyboardInterrupt
except KeyboardInterrupt:
    print("interrupted")
thread.join()
logging.error("own", exc_info=ConnectionResetError("own"))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.splitlines() == ["interrupted"]
    assert done.stderr.splitlines() == ["ERROR:root:own", "ConnectionResetError: own"]


def test_missing_package_of_spark_connect_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "grpc", None)
    message = (
        r"^--master sc://host: Spark Connect needs more packages: pip install 'assignor-sim\[connect\]' \(.*grpc.*\)$"
    )
    with pytest.raises(SparkError, match=message), connect("sc://host"):
        pass


def test_missing_java_is_one_error_with_what_to_install(tmp_path: Path) -> None:
    code = """
from pipeline.errors import SparkError
from pipeline.session import connect

try:
    with connect("local[1]"):
        pass
except SparkError as error:
    print(error)
"""
    environment = {"PATH": str(tmp_path), "HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env=environment)
    [line] = done.stdout.splitlines()
    assert line.startswith("Spark needs Java: no java on PATH; install a JDK 17 or newer")
    assert "apt install default-jdk-headless" in line
