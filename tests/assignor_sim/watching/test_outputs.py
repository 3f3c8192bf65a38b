"""Events as lines on standard output, and appended to a file."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from assignor_sim.console.options import WatchFormat
from assignor_sim.watching.outputs import append_events, json_line, print_events
from scenarios.watch.watch_events import EventKind, EventLevel, WatchEvent


def event(message: str = "rebalance") -> WatchEvent:
    return WatchEvent(1_700_000_000_000, "shop", EventKind.REBALANCE, EventLevel.INFO, message, {"epoch": 3})


def read(path: Path) -> list[str]:
    return [json.loads(line)["message"] for line in path.read_text(encoding="utf-8").splitlines()]


def test_events_are_appended(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    append_events([], file)
    assert not file.exists()
    append_events([event("a"), event("b")], file)
    append_events([event("ü\n\u2028c")], file)
    assert read(file) == ["a", "b", "ü\n\u2028c"]


def test_cut_line_is_ended_first(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    file.write_text('{"time": "20')
    append_events([event("a")], file)
    first, second = file.read_text().splitlines()
    assert first == '{"time": "20'
    assert json.loads(second)["message"] == "a"


def test_rotated_file_is_created_again(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    append_events([event("a")], file)
    file.rename(tmp_path / "events.jsonl.1")
    append_events([event("b")], file)
    assert read(file) == ["b"]


def test_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        append_events([event()], tmp_path / "missing" / "events.jsonl")


LIMITED = """
import signal, resource, sys
from pathlib import Path
from tests.assignor_sim.watching.test_outputs import event
from assignor_sim.watching.outputs import append_events
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))
try:
    append_events([event("x" * 100)] * 5, Path(sys.argv[1]))
except OSError as error:
    print(error.filename)
"""


def test_full_disk_is_an_error_with_the_file(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    root = Path(__file__).parents[3]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    command = [sys.executable, "-c", LIMITED, str(file)]
    result = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert result.stdout.strip() == str(file)
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 300


@pytest.mark.parametrize("format_", WatchFormat)
def test_each_event_is_one_line(format_: WatchFormat, capsys: pytest.CaptureFixture[str]) -> None:
    print_events([event("a\nb"), event("c")], format_)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    if format_ is WatchFormat.JSONL:
        assert json.loads(lines[0])["details"] == {"epoch": 3}


def test_json_has_no_line_separator() -> None:
    assert len(json_line(event("a\u2028b\u2029c")).splitlines()) == 1
