"""Java programs of this project beside released jars, with timeouts, which never outlive this process."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO

from assignors.errors import UnknownAssignorError
from assignors.jvm.loading import Dependency, jars_of

BUILD = Path(__file__).resolve().parents[1] / "build" / "java"
COMPILER_OPTIONS = ("--release", "17", "-Xlint:all,-processing,-classfile", "-encoding", "UTF-8")
COMPILER_TIMEOUT_S = 300
ORACLE_OPTIONS = ("-Xmx2g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
ORACLE_TIMEOUT_S = 3_600

# Fast start: no program runs long enough to benefit from the optimizing compiler.
JAVA_OPTIONS = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Djava.net.preferIPv4Stack=true",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss.SSS",
)


class ClusterError(RuntimeError):
    """A failure of Kafka, Java or Maven; the message contains the path of the log."""


@dataclass(frozen=True, slots=True)
class JavaProgram:
    """Sources, and the artifacts that they use.

    Attributes:
        name: folder of its classes; one for each release of the artifacts.
        sources: folders with `.java` files, and with resources below `resources`.
    """

    name: str
    sources: tuple[Path, ...]
    artifacts: tuple[Dependency, ...]


def build_classpath(program: JavaProgram) -> str:
    """Return the Java class path of a program, classes first; compile it if its sources or jars have changed.

    Raises ClusterError if Maven or a JDK is missing, or fails, for example because a release does not exist.
    """
    jars = find_jars(program.artifacts)
    target = BUILD / program.name
    target.mkdir(parents=True, exist_ok=True)
    with _one_at_a_time():
        files = sorted(file for folder in program.sources for file in folder.rglob("*.java"))
        used = hashlib.sha256(os.pathsep.join(jars).encode())
        for file in files:
            used.update(file.read_bytes())
        stamp = target / "inputs"
        if not stamp.exists() or stamp.read_text() != used.hexdigest():
            stamp.unlink(missing_ok=True)
            _compile(files, target / "classes", jars)
            stamp.write_text(used.hexdigest())
    resources = [str(found) for folder in program.sources for found in folder.rglob("resources")]
    return os.pathsep.join([str(target / "classes"), *resources, *jars])


def find_jars(artifacts: Sequence[Dependency]) -> Sequence[str]:
    """Return the jars of artifacts and of all that they depend on.

    Raises ClusterError if Maven is missing or fails, for example because a release does not exist.
    """
    with _one_at_a_time():
        try:
            return jars_of(artifacts)
        except UnknownAssignorError as error:
            raise ClusterError(str(error)) from error


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Wait for other processes, which would write the same files."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with (BUILD / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _compile(files: Sequence[Path], classes: Path, jars: Sequence[str]) -> None:
    """Compile source files into an empty folder; raise ClusterError if a JDK is missing, or the files have an error."""
    shutil.rmtree(classes, ignore_errors=True)
    command = [find_executable("javac", "a JDK, version 17 or newer"), *COMPILER_OPTIONS]
    done = subprocess.run(
        [*command, "-cp", os.pathsep.join(jars), "-d", str(classes), *map(str, files)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=COMPILER_TIMEOUT_S,
    )
    if done.returncode != 0:
        raise ClusterError(f"javac: exit code {done.returncode}:\n{done.stderr[-4_000:]}")


def find_main_class(classpath: str, simple_name: str) -> str:
    """Return the full name of Kafka's class `simple_name`, whose package depends on the release.

    Raises ClusterError if the Kafka jars on the class path do not have exactly one such class.
    """
    suffix = f"/{simple_name}.class"
    names = [name for name in _kafka_classes(classpath) if name.endswith(suffix)]
    if len(names) != 1:
        raise ClusterError(f"expected one class {simple_name} in Kafka's jars, found: {', '.join(names) or 'none'}")
    return names[0].removesuffix(".class").replace("/", ".")


def run_java(
    classpath: str, main_class: str, arguments: Sequence[str], *, cwd: Path, log: Path, timeout_s: float, heap_mb: int
) -> str:
    """Run a Java program and return its standard output; standard error is appended to `log`.

    Raises ClusterError if it exits with a code other than 0, or takes longer than `timeout_s` seconds and is killed.
    """
    command_line = f"{main_class} {' '.join(arguments)}"
    with tempfile.TemporaryFile() as output:
        process = start_java(classpath, main_class, arguments, cwd=cwd, log=log, heap_mb=heap_mb, output=output)
        try:
            code = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise ClusterError(f"{command_line}: timeout after {timeout_s:g} s; {log}:\n{tail(log)}") from None
        finally:
            stop_java([process], timeout_s=5)
        output.seek(0)
        printed = output.read().decode()
    if code != 0:
        raise ClusterError(f"{command_line}: exit code {code}; output:\n{printed[-2000:]}\n{log}:\n{tail(log)}")
    return printed


def ask_java(classpath: str, main_class: str, text: str, arguments: Sequence[str] = ()) -> list[str]:
    """Run a Java program with a text on its standard input; return the lines that it prints.

    Raises ClusterError if a JDK is missing, or the program exits with a code other than 0.
    """
    done = subprocess.run(
        [find_executable("java", "a JDK, version 17 or newer"), *ORACLE_OPTIONS, main_class, *arguments],
        input=text,
        env={**os.environ, "CLASSPATH": classpath},
        capture_output=True,
        encoding="utf-8",
        timeout=ORACLE_TIMEOUT_S,
    )
    if done.returncode != 0:
        output = "\n".join(done.stderr.splitlines()[-20:])
        raise ClusterError(f"{main_class} exited with code {done.returncode}:\n{output}")
    return done.stdout.splitlines()


def start_java(
    classpath: str,
    main_class: str,
    arguments: Sequence[str],
    *,
    cwd: Path,
    log: Path,
    heap_mb: int,
    output: IO[bytes] | None = None,
    options: Sequence[str] = (),
) -> subprocess.Popen[bytes]:
    """Start a Java program that exits when this process exits, for whatever reason.

    The program exits when its standard input is closed (`assignorsim.Tethered`): keep the returned object and leave its
    `stdin` open. Standard error is appended to `log`, and so is standard output unless `output` is given. `classpath`:
    Java class path; `main_class`: full name of the main class; `cwd`: working directory; `output`: file for standard
    output; `options`: additional options of the JVM.
    """
    java = find_executable("java", "a JDK, version 17 or newer")
    # A killed program leaves the native libraries that it has unpacked; its folder is removed.
    own = (f"-Xmx{heap_mb}m", f"-Djava.io.tmpdir={cwd.absolute()}")
    command = [java, *own, *JAVA_OPTIONS, *options, "assignorsim.Tethered", main_class, *arguments]
    with log.open("ab") as errors:
        return subprocess.Popen(
            command,
            cwd=cwd,
            env={**os.environ, "CLASSPATH": classpath},
            stdin=subprocess.PIPE,
            stdout=output or errors,
            stderr=errors,
            start_new_session=True,
        )


def stop_java(processes: Sequence[subprocess.Popen[bytes]], timeout_s: float) -> None:
    """Terminate all `processes`; kill those that do not exit within `timeout_s` seconds each."""
    for process in processes:
        process.terminate()
    for process in processes:
        _wait_or_kill(process, timeout_s)
        if process.stdin is not None:
            process.stdin.close()


def tail(log: Path, lines: int = 20) -> str:
    """Return the last `lines` lines of a log file."""
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])


def find_executable(name: str, what: str) -> str:
    """Return the path of a program; `what` describes what to install if it is missing.

    Raises ClusterError if the program is not on the PATH.
    """
    path = shutil.which(name)
    if path is None:
        raise ClusterError(f"'{name}' is not on the PATH; install {what}")
    return path


def _wait_or_kill(process: subprocess.Popen[bytes], timeout_s: float) -> int:
    """Return the exit code of `process`; kill it if it does not exit within `timeout_s` seconds."""
    try:
        return process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
    except BaseException:
        process.kill()
        process.wait()
        raise


@cache
def _kafka_classes(classpath: str) -> tuple[str, ...]:
    """Return the names of all class files in Kafka's own jars."""
    jars = [Path(entry) for entry in classpath.split(os.pathsep) if Path(entry).name.startswith("kafka")]
    names: list[str] = []
    for jar in jars:
        with zipfile.ZipFile(jar) as archive:
            names.extend(name for name in archive.namelist() if name.endswith(".class"))
    return tuple(names)
