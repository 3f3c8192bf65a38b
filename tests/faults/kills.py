"""Kill commands at random moments, and check what they leave."""

from __future__ import annotations

import hashlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import IO

from tests.assignor_sim.conftest import SMALL
from tests.faults.changes import ChangeCounter

SWEEP = """\
scenario: small.yaml
factors:
  - {name: standbys, path: application.configs.num.standby.replicas, values: [0, 1]}
seeds: [1, 2]
"""
READINGS = "timestamp,topic,partition,bytes_in_total,messages_in_total\n" + "".join(
    f"{time_s},orders,{partition},{(time_s // 60) * (partition + 1) * 60_000},{time_s * 10}\n"
    for time_s in range(1_700_000_000, 1_700_003_600, 60)
    for partition in range(6)
)
ROOT = Path(__file__).parents[2]
ORPHAN_S = 60.0
"""Time that Java and its Python processes have to end after the command was killed."""
END_S = 120.0
"""Time that a command has to end after a signal, or three times its duration if that is longer; then SIGKILL."""
SAMPLE = 0.15
"""Share of the moments after which the command is called again, whatever it has left."""
NEXT_START = "from simulator.results.temporary_folder import temporary_folder; temporary_folder()"
"""What each command that needs a temporary folder does first."""

Snapshot = Mapping[str, list[str]]


@dataclass(frozen=True)
class Command:
    """A command that replaces what an earlier one has written.

    Attributes:
        name: its name.
        arguments: its arguments.
        before: arguments of the commands that write the old state.
        output: what it writes, relative to the working folder.
        resumes: whether a part of the new state may be left, which the next call completes.
        is_slow: whether it starts Java, so that it is called again only after a sample of the moments.
    """

    name: str
    arguments: tuple[str, ...]
    before: tuple[tuple[str, ...], ...]
    output: str
    resumes: bool = False
    is_slow: bool = False


_RUN = ("run", "small.yaml", "--out", "out")
_SWEEP = ("sweep", "sweep.yaml", "--out", "swept", "--resume", "--master", "local[1]")
_AGGREGATE = ("aggregate", "swept", "--master", "local[1]")
_INGEST = ("ingest", "readings.csv", "--out", "in", "--master", "local[1]")
_ADD = ("ingest", "--add", "--out", "in", "--master", "local[1]")

COMMANDS = (
    Command("run", _RUN, ((*_RUN, "--seed", "7"),), "out"),
    Command("record", ("record", "small.yaml"), (("record", "small.yaml", "--assignor", "sticky"),), "."),
    Command("report", ("report", "out", "-o", "page.html"), (_RUN, ("schema", "-o", "page.html")), "page.html"),
    Command("sweep", _SWEEP, (), "swept", resumes=True, is_slow=True),
    Command("aggregate", (*_AGGREGATE, "--baseline", "sticky"), (_SWEEP,), "swept/aggregate", is_slow=True),
    Command("ingest", _INGEST, (("ingest", "older.csv", "--out", "in", "--master", "local[1]"),), "in", is_slow=True),
    Command("ingest --add", (*_ADD, "readings.csv"), ((*_ADD, "older.csv"),), "in", is_slow=True),
)


@dataclass(frozen=True)
class Moment:
    """What happened after a command was killed.

    Attributes:
        command: name of the command.
        signal: name of the signal.
        at_change: whether it was sent at a change of a file, not after a time.
        when: number of the change, or seconds.
        ended: whether the command had ended before.
        state: `old`, `new`, or `part` where that is allowed.
        resumed: whether the command was called again.
        wrong: what is wrong.
    """

    command: str
    signal: str
    at_change: bool
    when: float
    ended: bool
    state: str
    resumed: bool
    wrong: tuple[str, ...]


class KillTest:
    """Kills one command at random moments.

    Args:
        command: the command.
        folder: a new folder for its files.
    """

    def __init__(self, command: Command, folder: Path) -> None:
        self.command = command
        self._folder = folder
        self._old = folder / "old"
        self._place = place = folder / "work"  # Always the same one: results contain absolute paths.
        place.mkdir(parents=True)
        (place / "small.yaml").write_text(SMALL)
        (place / "sweep.yaml").write_text(SWEEP)
        (place / "readings.csv").write_text(READINGS)
        (place / "older.csv").write_text(READINGS[: len(READINGS) // 2].rpartition("\n")[0])
        for arguments in command.before:
            self._call(place, arguments)
        shutil.copytree(place, self._old)
        old = snapshot(place / command.output)
        started = time.monotonic()
        with ChangeCounter(place) as changes:
            self._call(place, command.arguments)
            self.duration_s = time.monotonic() - started
            changes.wait(sys.maxsize, lambda: True, ORPHAN_S)
            self.changes = changes.count
        self._snapshots = {"old": old, "new": snapshot(place / command.output)}
        shutil.rmtree(place)
        assert self._snapshots["old"] != self._snapshots["new"], "the command changes nothing"

    def try_moment(self, rng: random.Random, number_of_signal: signal.Signals) -> Moment:
        """Kill the command at a moment, check what it leaves, and on a sample call it again.

        Half of the moments are those at which files change, half are random moments of the duration.
        """
        place, temporary = self._place, self._folder / "tmp"
        shutil.copytree(self._old, place)
        temporary.mkdir()
        at_change = rng.random() < 0.5
        when = rng.randint(1, self.changes) if at_change else self.duration_s * rng.uniform(0.02, 1.05)
        # Terminals send Ctrl-C to all processes of the command.
        kill = os.killpg if number_of_signal is signal.SIGINT and rng.random() < 0.5 else os.kill
        is_in_sample = rng.random() < SAMPLE
        ended, code, err = self._kill(at_change, when, lambda pid: kill(pid, number_of_signal))
        wrong = []
        # Without its handler, before main and after it, Python ends by the signal, which shells report as 130, too.
        if number_of_signal is signal.SIGINT and code not in (0, 130, -signal.SIGINT):
            wrong.append(f"exit code {code}: {err[-2000:]}")
        if "Traceback" in err and "in <module>\n    from assignor_sim" not in err:
            wrong.append(f"traceback: {err[-2000:]}")
        wrong += [f"a process is left: {process}" for process in end_processes(temporary)]
        state = self._state()
        if state == "part" and not self.command.resumes:
            wrong.append("neither the old state nor the new one")
        # Where nothing is left beside the old state, the next call is the same as the first one.
        resumed = is_in_sample or (not self.command.is_slow and (state == "part" or bool(self._hidden())))
        if resumed:
            self._call(place, self.command.arguments, temporary)
            if self._state() != "new":
                wrong.append("the next call does not write the new state")
            if self._hidden():
                wrong.append(f"left: {self._hidden()}")
        else:
            subprocess.run([sys.executable, "-c", NEXT_START], env=_environment(temporary), check=True)
        left = [str(path.relative_to(temporary)) for path in temporary.rglob("*")]
        if left:
            wrong.append(f"left in the temporary folder: {left[:5]}")
        shutil.rmtree(place)
        shutil.rmtree(temporary)
        return Moment(
            self.command.name, number_of_signal.name, at_change, round(when, 2), ended, state, resumed, tuple(wrong)
        )

    def _kill(self, at_change: bool, when: float, kill: Callable[[int], None]) -> tuple[bool, int, str]:
        """Start the command and kill it; return whether it had ended, its exit code and its standard error."""
        with tempfile.TemporaryFile("w+") as err, ChangeCounter(self._place) as changes:
            process = self._start(self._place, self._folder / "tmp", self.command.arguments, err)
            if at_change:
                changes.wait(int(when), lambda: process.poll() is not None, 20 * self.duration_s)
            else:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(when)
            ended = process.poll() is not None
            if not ended:
                kill(process.pid)
            try:
                process.wait(max(END_S, 3 * self.duration_s))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            err.seek(0)
            return ended, process.returncode, err.read()

    def _state(self) -> str:
        now = snapshot(self._place / self.command.output)
        return next((name for name, state in self._snapshots.items() if state == now), "part")

    def _hidden(self) -> list[str]:
        """Return the hidden files and folders that are not there before."""
        return [str(path) for path in self._place.rglob(".*") if not path.name.endswith(".crc")]

    def _start(self, place: Path, temporary: Path, arguments: tuple[str, ...], err: IO[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "assignor_sim", *arguments],
            cwd=place,
            stdout=subprocess.DEVNULL,
            stderr=err,
            env=_environment(temporary),
            start_new_session=True,
        )

    def _call(self, place: Path, arguments: tuple[str, ...], temporary: Path | None = None) -> None:
        with tempfile.TemporaryDirectory() as own, tempfile.TemporaryFile("w+") as err:
            code = self._start(place, temporary or Path(own), arguments, err).wait()
            if code != 0:
                err.seek(0)
                raise AssertionError(f"{arguments} ends with {code}: {err.read()}")
            assert not end_processes(temporary or Path(own))


def _environment(temporary: Path) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0"}


def end_processes(temporary: Path) -> list[str]:
    """Wait until all processes end whose temporary folder is this one; end those that do not, and return them."""
    deadline = time.monotonic() + ORPHAN_S
    while (left := _processes(temporary)) and time.monotonic() < deadline:
        time.sleep(0.05)
    for pid in left:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return list(left.values())


def _processes(temporary: Path) -> dict[int, str]:
    """Return the processes that have the environment of a command: Java, and Python of any process group."""
    variable = f"TMPDIR={temporary}".encode()
    running = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # It has ended, or belongs to another user.
            if variable in (folder / "environ").read_bytes().split(b"\0"):
                running[int(folder.name)] = (folder / "cmdline").read_bytes()[:200].decode(errors="replace")
    return running


def snapshot(path: Path) -> Snapshot:
    """Return the contents of all visible files; Spark's names of files are random."""
    files = [path] if path.is_file() else sorted(path.rglob("*"))
    contents: dict[str, list[str]] = {}
    for file in files:
        relative = file.relative_to(path.parent)
        if file.is_file() and not any(part.startswith(".") for part in relative.parts) and file.name != "_SUCCESS":
            name = re.sub(r"part-(\d+)-.*", r"part-\1", str(relative))
            contents.setdefault(name, []).append(hashlib.sha256(file.read_bytes()).hexdigest())
    return {name: sorted(digests) for name, digests in contents.items()}


def try_moments(command: Command, signals: Mapping[signal.Signals, range]) -> Iterator[Moment]:
    """Kill a command at some moments, and yield what happened after each.

    Args:
        command: the command.
        signals: numbers of the moments of each signal; with command and signal, a number is the seed of its moment.
    """
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        test = KillTest(command, Path(folder))
        for numbers in zip_longest(*signals.values()):
            for number_of_signal, number in zip(signals, numbers, strict=True):
                if number is not None:
                    rng = random.Random(f"{command.name} {number_of_signal.name} {number}")
                    yield test.try_moment(rng, number_of_signal)
