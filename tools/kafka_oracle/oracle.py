"""Kafka's own assignors in a Java process that reads one problem per line and writes one answer per line."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from tools.artifacts import streams_oracle
from tools.java import ClusterError, build_classpath, find_executable

RUNS = Path("out/parity")


def write_problems(path: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    """Write a compressed problem file whose header has no file name and time; equal problems give equal files."""
    content = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    path.write_bytes(gzip.compress(content.encode(), mtime=0))


MAIN_CLASS = "org.apache.kafka.streams.processor.internals.assignment.Oracle"
OLDEST_KAFKA = (3, 8)
"""First release with the pluggable interface of KIP-924, which the Java program requires."""

ANSWER_OPTIONS = ("-Xmx2g", "-XX:+UseSerialGC")
ANSWER_LIMIT_S = 300
AHEAD = 16
"""Number of problems sent before the first answer is read, so that neither process waits for the other."""

Json = dict[str, Any]


class Oracle(Protocol):
    """A source of correct answers."""

    def ask(self, problems: Iterable[Json]) -> Iterator[tuple[Json, Json]]:
        """Yield each problem with its answers, `{"sorted": …, "production": …}`, in the order of the problems."""


class KafkaOracle:
    """The assignors of one Kafka release.

    A context manager: the Java process ends with it, and with this process. `kafka_version`: release of
    `org.apache.kafka:kafka-streams` on Maven Central.
    """

    def __init__(
        self,
        kafka_version: str,
        mode: Sequence[str] = ("answer",),
        *,
        main_class: str = MAIN_CLASS,
        options: Sequence[str] = ANSWER_OPTIONS,
        limit_s: float = ANSWER_LIMIT_S,
        classes: Sequence[Path] = (),
        java: str | None = None,
        kafka_classpath: str | None = None,
    ) -> None:
        """Prepare the Java process.

        Args:
            mode: Arguments of the Java program.
            main_class: Main class of the Java program.
            limit_s: Time limit of one problem.
            classes: Jars or class folders of custom assignors, which problems name by class.
            java: Java executable; by default the one on the PATH.
            kafka_classpath: Class path of Kafka and the Java program; by default built with Maven.
        """
        check_version(kafka_version)
        self._classes = classes
        self.kafka_version = kafka_version
        self._kafka_classpath = kafka_classpath
        java = java or find_executable("java", "a JDK, version 17 or newer")
        self._command = [java, *options, main_class, *mode]
        self._limit_s = limit_s

    def __enter__(self) -> Self:
        classpath = self._kafka_classpath
        if classpath is None:
            classpath = build_classpath(streams_oracle(self.kafka_version))
        environment = {**os.environ, "CLASSPATH": os.pathsep.join([classpath, *map(str, self._classes)])}
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8")
        self._process = subprocess.Popen(
            self._command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            encoding="utf-8",
            start_new_session=True,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        self._errors.close()

    @property
    def is_running(self) -> bool:
        """Return whether the Java process runs; only valid within the context."""
        return self._process.poll() is None

    def ask(self, problems: Iterable[Json]) -> Iterator[tuple[Json, Json]]:
        """Yield each problem with its answers, `{"sorted": …, "production": …}`, in the order of the problems.

        Raises TimeoutError if Kafka exceeds the time limit of one problem; the process is killed. Raises ClusterError
        if the process exits by itself, for example because a line is not a problem.
        """
        pending: deque[Json] = deque()
        for problem in problems:
            self._send(problem)
            pending.append(problem)
            if len(pending) > AHEAD:
                yield pending[0], self._receive(pending.popleft())
        while pending:
            yield pending[0], self._receive(pending.popleft())

    def _send(self, problem: Json) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(problem) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._exit_error("a problem") from None

    def _receive(self, problem: Json) -> Json:
        assert self._process.stdout is not None
        name = str(problem.get("id", "a problem"))
        late = threading.Event()
        watch = threading.Timer(self._limit_s, self._kill_late, [late])
        watch.daemon = True
        watch.start()
        line = self._process.stdout.readline()
        watch.cancel()
        if late.is_set():
            raise TimeoutError(f"Kafka {self.kafka_version} took longer than {self._limit_s:g} s for {name}")
        if not line:
            raise self._exit_error(name)
        answer: Json = json.loads(line)
        return answer

    def _kill_late(self, late: threading.Event) -> None:
        late.set()
        self._process.kill()

    def _exit_error(self, name: str) -> ClusterError:
        """Return an error with the end of the output of the exited process."""
        self._process.wait()
        self._errors.seek(0)
        output = "\n".join(self._errors.read().splitlines()[-20:])
        return ClusterError(f"Kafka {self.kafka_version}: the oracle exited at {name}; output:\n{output}")


def check_version(kafka_version: str) -> None:
    """Check that the Java program supports a release.

    Raises ClusterError if the release is older than 3.8, or not a version.
    """
    numbers = kafka_version.split(".")
    if not (len(numbers) == 3 and all(number.isdecimal() for number in numbers)):
        raise ClusterError(f"'{kafka_version}' is not a version of Kafka (such as 3.9.1)")
    if tuple(map(int, numbers[:2])) < OLDEST_KAFKA:
        raise ClusterError(
            f"Kafka {kafka_version} is too old: the Java program needs the assignor interface of Kafka 3.8 or newer"
        )
