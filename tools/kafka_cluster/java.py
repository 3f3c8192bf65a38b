"""Kafka's jars through Maven, and Java programs with timeouts that never outlive this process."""

import fcntl
import os
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import IO

HERE = Path(__file__).resolve().parent
MAVEN_TIMEOUT_S = 900
"""Enough to download Kafka and its dependencies (about 200 MB) once."""

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


def build_classpath(
    kafka_version: str, project: Path = HERE, properties: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Return the Java class path of a Kafka release and a project's programs; run Maven if it is out of date.

    Args:
        kafka_version: Release of Kafka.
        project: Folder with a `pom.xml` that builds in `target/VERSION` and writes its class path there.
        properties: Other properties of the `pom.xml`; a function of the release.

    Raises:
        ClusterError: Maven is missing or fails, for example because the release does not exist.
    """
    return maven_classpath(project, kafka_version, {"kafka.version": kafka_version, **properties}, "Kafka")


def maven_classpath(project: Path, version: str, properties: Mapping[str, str], what: str) -> str:
    """Return the Java class path of a project and its dependencies; run Maven if it is out of date.

    Args:
        project: Folder with a `pom.xml` that builds in `target/VERSION` and writes its class path there.
        version: Version of the main dependency.
        properties: Properties of the `pom.xml`; a function of the version.
        what: Name of the main dependency, for messages.

    Raises:
        ClusterError: Maven is missing or fails, for example because the version does not exist.
    """
    target = project / "target" / version
    listing = target / "classpath.txt"
    target.mkdir(parents=True, exist_ok=True)
    with _one_maven_at_a_time():
        _compile(project, target, listing, properties, f"{what} {version}")
    return os.pathsep.join([str(target / "classes"), listing.read_text().strip()])


@contextmanager
def _one_maven_at_a_time() -> Iterator[None]:
    """Wait for Maven of other processes, which would write the same files."""
    folder = HERE / "target"
    folder.mkdir(exist_ok=True)
    with (folder / "maven.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _compile(project: Path, target: Path, listing: Path, properties: Mapping[str, str], what: str) -> None:
    """Run Maven if a class path is out of date.

    Raises:
        ClusterError: Maven is missing or fails.
    """
    if not _is_fresh(listing, project):
        log = target / "maven.log"
        defined = [f"-D{name}={value}" for name, value in properties.items()]
        command = [find_executable("mvn", "Maven"), "-B", "-ntp", *defined, "compile"]
        with log.open("wb") as output:
            code = _wait_or_kill(
                subprocess.Popen(command, cwd=project, stdin=subprocess.DEVNULL, stdout=output, stderr=output),
                MAVEN_TIMEOUT_S,
            )
        if code != 0:
            listing.unlink(missing_ok=True)
            raise ClusterError(f"Maven could not provide {what} (exit code {code}):\n{tail(log)}")
        listing.touch()  # Maven does not rewrite the file if the class path is unchanged.


def find_main_class(classpath: str, simple_name: str) -> str:
    """Return the full name of Kafka's class `simple_name`, whose package depends on the release.

    Raises:
        ClusterError: The Kafka jars on the class path do not have exactly one such class.
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

    Raises:
        ClusterError: It exits with a code other than 0, or takes longer than `timeout_s` seconds and is killed.
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
    `stdin` open. Standard error is appended to `log`, and so is standard output unless `output` is given.

    Args:
        classpath: Java class path.
        main_class: Full name of the main class.
        arguments: Arguments of the program.
        cwd: Working directory.
        log: Log file.
        heap_mb: Maximum heap.
        output: File for standard output.
        options: Additional options of the JVM.
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

    Raises:
        ClusterError: The program is not on the PATH.
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


def _is_fresh(listing: Path, project: Path) -> bool:
    """Return whether Maven need not run: `listing` is newer than all sources, and every jar in it still exists."""
    if not listing.exists():
        return False
    sources = [project / "pom.xml", *sorted((project / "src").rglob("*.java"))]
    newest_ns = max(source.stat().st_mtime_ns for source in sources)
    jars = listing.read_text().strip().split(os.pathsep)
    return listing.stat().st_mtime_ns > newest_ns and all(Path(jar).exists() for jar in jars)


@cache
def _kafka_classes(classpath: str) -> tuple[str, ...]:
    """Return the names of all class files in Kafka's own jars."""
    jars = [Path(entry) for entry in classpath.split(os.pathsep) if Path(entry).name.startswith("kafka")]
    names: list[str] = []
    for jar in jars:
        with zipfile.ZipFile(jar) as archive:
            names.extend(name for name in archive.namelist() if name.endswith(".class"))
    return tuple(names)
