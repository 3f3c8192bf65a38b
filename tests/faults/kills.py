"""Kill commands at random moments, and check what they leave.

`python -m tests.faults.kills 200` tries 200 moments and prints the counts.
"""

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
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.assignor_sim.conftest import SMALL

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
ORPHAN_S = 30.0
"""Time that the Java process has to end after the command was killed."""

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
        weight: share of the moments.
    """

    name: str
    arguments: tuple[str, ...]
    before: tuple[tuple[str, ...], ...]
    output: str
    weight: int
    resumes: bool = False


_RUN = ("run", "small.yaml", "--out", "out")
_SWEEP = ("sweep", "sweep.yaml", "--out", "swept", "--resume", "--master", "local[1]")
_AGGREGATE = ("aggregate", "swept", "--master", "local[1]")
_INGEST = ("ingest", "readings.csv", "--out", "in", "--master", "local[1]")

COMMANDS = (
    Command("run", _RUN, ((*_RUN, "--seed", "7"),), "out", 60),
    Command("record", ("record", "small.yaml"), (("record", "small.yaml", "--assignor", "sticky"),), ".", 50),
    Command("report", ("report", "out", "-o", "page.html"), (_RUN, ("schema", "-o", "page.html")), "page.html", 40),
    Command("sweep", _SWEEP, (), "swept", 20, resumes=True),
    Command("aggregate", (*_AGGREGATE, "--baseline", "sticky"), (_SWEEP,), "swept/aggregate", 15),
    Command("ingest", _INGEST, (("ingest", "older.csv", "--out", "in", "--master", "local[1]"),), "in", 15),
)


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
        self._call(place, command.arguments)
        self._duration_s = time.monotonic() - started
        self._snapshots = [old, snapshot(place / command.output)]
        shutil.rmtree(place)
        assert self._snapshots[0] != self._snapshots[1], "the command changes nothing"

    def try_moment(self, rng: random.Random, number: int) -> list[str]:
        """Kill the command at a moment, then call it again; return what is wrong."""
        place = self._place
        shutil.copytree(self._old, place)
        temporary = self._folder / f"tmp-{number}"
        temporary.mkdir()
        number_of_signal = rng.choice([signal.SIGKILL, signal.SIGINT])
        moment_s = self._duration_s * rng.uniform(0.02, 1.05)
        name = f"{self.command.name}, {number_of_signal.name} after {moment_s:.2f} of {self._duration_s:.2f} s"
        process = self._start(place, temporary, self.command.arguments)
        try:
            err = process.communicate(timeout=moment_s)[1]
        except subprocess.TimeoutExpired:
            # Terminals send Ctrl-C to all processes of the command.
            kill = os.killpg if number_of_signal is signal.SIGINT and rng.random() < 0.5 else os.kill
            kill(process.pid, number_of_signal)
            err = process.communicate()[1]
        wrong = []
        # Without its handler, before main and after it, Python ends by the signal, which shells report as 130, too.
        if number_of_signal is signal.SIGINT and process.returncode not in (0, 130, -signal.SIGINT):
            wrong.append(f"exit code {process.returncode}: {err[-2000:]}")
        if "Traceback" in err and "in <module>\n    from assignor_sim" not in err:
            wrong.append(f"traceback: {err[-2000:]}")
        if not _has_ended(process.pid):
            wrong.append("a process is left")
            os.killpg(process.pid, signal.SIGKILL)
        if not self.command.resumes and snapshot(place / self.command.output) not in self._snapshots:
            wrong.append("neither the old state nor the new one")
        self._call(place, self.command.arguments, temporary)
        if snapshot(place / self.command.output) != self._snapshots[1]:
            wrong.append("the next call does not write the new state")
        hidden = [str(path.relative_to(place)) for path in place.rglob(".*") if not path.name.endswith(".crc")]
        left = [str(path) for path in temporary.iterdir()]
        if hidden or left:
            wrong.append(f"left: {hidden} {left}")
        shutil.rmtree(place)
        shutil.rmtree(temporary)
        return [f"{name}: {text}" for text in wrong]

    def _start(self, place: Path, temporary: Path, arguments: tuple[str, ...]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "assignor_sim", *arguments],
            cwd=place,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0"},
            start_new_session=True,
        )

    def _call(self, place: Path, arguments: tuple[str, ...], temporary: Path | None = None) -> None:
        with tempfile.TemporaryDirectory() as own:
            process = self._start(place, temporary or Path(own), arguments)
            err = process.communicate()[1]
            if process.returncode != 0:
                raise AssertionError(f"{arguments} ends with {process.returncode}: {err}")
            _has_ended(process.pid)


def _has_ended(group: int) -> bool:
    """Return whether all processes of a group end in time."""
    deadline = time.monotonic() + ORPHAN_S
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


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


def try_moments(command: Command, count: int, seed: int, on_failure: Callable[[str], None] = print) -> Counter[str]:
    """Kill a command at some moments; return how many were tried and how many failed."""
    counts: Counter[str] = Counter()
    rng = random.Random(f"{command.name} {seed}")
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        test = KillTest(command, Path(folder))
        for number in range(count):
            wrong = test.try_moment(rng, number)
            counts["tried"] += 1
            counts["failed"] += bool(wrong)
            for text in wrong:
                on_failure(text)
    return counts


if __name__ == "__main__":
    total = int(sys.argv[1])
    chosen = [command for command in COMMANDS if command.name in sys.argv[2:] or not sys.argv[2:]]
    weights = sum(command.weight for command in chosen)
    for command in sorted(chosen, key=lambda command: command.weight):
        counts = try_moments(command, round(total * command.weight / weights), seed=1)
        print(f"{command.name}: {counts['tried']} moments, {counts['failed']} failed", flush=True)
