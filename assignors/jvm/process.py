"""The Java virtual machine of this process, which runs all its Java assignors."""

from __future__ import annotations

import atexit
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from importlib.resources import as_file, files
from typing import Any, Final

from assignors.containment.guarded_call import one_line
from assignors.containment.isolation import AssignorProcess
from assignors.containment.limits import CallLimits
from assignors.errors import UnknownAssignorError

OLDEST_JAVA: Final = 17

INSTALL_JAVA: Final = (
    "install a JDK 17 or newer (a JRE suffices for java: assignors): apt install default-jdk-headless (Debian, "
    "Ubuntu), brew install openjdk (macOS), winget install EclipseAdoptium.Temurin.21.JDK (Windows)"
)

# A program that only pretends to be Java may print thousands of digits, which Python does not convert.
_VERSION = re.compile(r'version "(?:1\.)?([0-9]{1,4})([^"0-9][^"]{0,40})?"')


def java_release(output: str) -> tuple[int, str] | None:
    """Return the release, such as 17, and the version without a leading `1.`, such as 17.0.15; None without one."""
    found = _VERSION.search(output)
    return None if found is None else (int(found[1]), f"{found[1]}{found[2] or ''}")


def java_executable(environment: Mapping[str, str]) -> str | None:
    """Return the path of Java: that of JAVA_HOME, or else the first on PATH; None without one."""
    home = environment.get("JAVA_HOME", "")
    return shutil.which("java", path=os.path.join(home, "bin") if home else environment.get("PATH", ""))


def missing_java(environment: Mapping[str, str]) -> str:
    """Return where there is no Java, and how to get it."""
    home = environment.get("JAVA_HOME", "")
    return f"JAVA_HOME={home} has no bin/java; correct or unset it" if home else f"no java on PATH; {INSTALL_JAVA}"


BRIDGE: Final = "bridge.jar"
"""The Java program, a file of this package."""

_MAIN: Final = "assignorsim.bridge.Server"
_START_S: Final = 60.0
_VERSION_S: Final = 20.0

Json = Mapping[str, Any]


class JavaError(Exception):
    """A Java assignor or its class path failed.

    Attributes:
        java_class: class of the exception.
        message: its message on one line; empty if it has none.
        location: file and line, such as `Mine.java:42`; empty if unknown.
    """

    def __init__(self, error: Json) -> None:
        self.java_class = str(error["class"])
        self.message = one_line(str(error["message"] or ""))
        self.location = one_line(str(error["at"] or ""))
        super().__init__(self.java_class, self.message, self.location)

    def __str__(self) -> str:
        return self.java_class + (f": {self.message}" if self.message else "")


class JavaProcess:
    """A running JVM with the bridge.

    Attributes:
        java: release of Java.
        start_s: time until the JVM answered.
    """

    def __init__(self, memory_bytes: int) -> None:
        """Start the JVM.

        `memory_bytes`: maximum heap.
        """
        command = [
            find_java(),
            f"-Xmx{max(memory_bytes // 2**20, 8)}m",
            "-XX:+UseSerialGC",
            "-XX:-UsePerfData",
            f"-XX:ErrorFile={os.path.join(tempfile.gettempdir(), 'hs_err_pid%p.log')}",
            "-cp",
            bridge_jar(),
            _MAIN,
            bridge_jar(),
        ]
        started = time.perf_counter()
        self._process = AssignorProcess(command)
        self.java = str(json.loads(self._process.exchange(b"", _START_S))["java"])
        self.start_s = time.perf_counter() - started
        self._loaded: set[str] = set()

    @property
    def is_running(self) -> bool:
        """Return whether the JVM can answer requests."""
        return self._process.is_running

    def load(self, key: str, name: str, interface: str, classes: Sequence[str]) -> None:
        """Load an assignor; does nothing if it is loaded.

        `key`: names the assignor in later requests; `interface`: `streams` or `coordinator`; `classes`: jars and class
        folders. Raises JavaError if the class cannot be loaded, or is not an assignor; and CustomAssignorError if the
        JVM ended.
        """
        if key not in self._loaded:
            request = {"kind": "load", "name": key, "class": name, "interface": interface, "classes": list(classes)}
            self.answer(json.dumps(request).encode(), _START_S)
            self._loaded.add(key)

    def answer(self, request: bytes, timeout_s: float) -> Json:
        """Return the answer to a request in JSON.

        Raises JavaError if the assignor threw an exception; and CustomAssignorError if the JVM did not answer in time,
        or ended.
        """
        answer: Json = json.loads(self._process.exchange(request, timeout_s))
        if "error" in answer:
            error = JavaError(answer["error"])
            if error.java_class == "java.lang.OutOfMemoryError":
                self.close()
            raise error
        return answer

    def peak_heap_bytes(self) -> int:
        """Return the peak of the heap."""
        return int(self.answer(b'{"kind": "memory"}', _START_S)["peak_heap_bytes"])

    def close(self) -> None:
        """End the JVM."""
        self._process.close()


LOCK = threading.RLock()
"""Held during each exchange with a JVM."""

_PROCESSES: dict[tuple[int, int], JavaProcess] = {}


def java_process(limits: CallLimits) -> JavaProcess:
    """Return the running JVM of this process with a maximum heap, or start it; the caller holds `LOCK`.

    Raises UnknownAssignorError and CustomAssignorError as `JavaProcess` does.
    """
    key = (os.getpid(), limits.memory_bytes)  # A forked process must not use the pipe of its parent.
    process = _PROCESSES.get(key)
    if process is None or not process.is_running:
        process = _PROCESSES[key] = JavaProcess(limits.memory_bytes)
    return process


def running_processes() -> list[JavaProcess]:
    """Return the running JVMs of this process."""
    return [process for (pid, _), process in _PROCESSES.items() if pid == os.getpid() and process.is_running]


@atexit.register
def stop_java() -> None:
    """End all JVMs of this process; the next call of an assignor starts a new one."""
    with LOCK:
        for process in running_processes():
            process.close()
        _PROCESSES.clear()


@cache
def bridge_jar() -> str:
    """Return the path of the bridge; raise UnknownAssignorError if it is not built; that happens in a checkout only."""
    jar = files(__package__ or "").joinpath(BRIDGE)
    if not jar.is_file():
        raise UnknownAssignorError("the Java bridge is not built (run make bridge, which needs a JDK and Maven)")
    stack = ExitStack()  # A package in a zip file, as on Spark, has no files.
    atexit.register(stack.close)
    return str(stack.enter_context(as_file(jar)))


@cache
def find_java() -> str:
    """Return the path of Java: that of JAVA_HOME, or else the first on PATH.

    Raises UnknownAssignorError if there is none, or it is too old.
    """
    java = java_executable(os.environ)
    if java is None:
        raise UnknownAssignorError(missing_java(os.environ))
    try:
        done = subprocess.run(
            [java, "-version"], capture_output=True, encoding="utf-8", errors="replace", timeout=_VERSION_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnknownAssignorError(f"{java} does not start ({type(error).__name__})") from error
    release = java_release(done.stderr + done.stdout)
    if release is None or release[0] < OLDEST_JAVA:
        found = "prints no version" if release is None else f"is Java {release[0]}"
        raise UnknownAssignorError(f"{java} {found}; {INSTALL_JAVA}")
    return java
