"""The released coordinators do what is recorded, and the model does what they do in random histories."""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from assignors.kafka_releases import CLIENT_RELEASES
from tests.group_histories.__main__ import SUBJECTS, compare, main
from tests.group_histories.kafka import logs_of_kafka

pytestmark = pytest.mark.kafka

RECORDED = Path(__file__).parent / "recorded"


def recorded(file: str) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the recorded histories of each release."""
    histories = map(json.loads, (RECORDED / file).read_text(encoding="utf-8").splitlines())
    in_order = sorted(histories, key=lambda history: str(history["release"]))
    return [(release, list(group)) for release, group in groupby(in_order, lambda history: str(history["release"]))]


@pytest.mark.parametrize(
    ("release", "histories"),
    [
        pytest.param(*group, id=f"{file}-{group[0]}", marks=() if group[0] == CLIENT_RELEASES[-1] else pytest.mark.slow)
        for file in ("streams", "classic")
        for group in recorded(f"{file}.jsonl")
    ],
)
def test_recorded_logs_are_those_of_the_releases(release: str, histories: list[dict[str, Any]]) -> None:
    answers = logs_of_kafka(histories, release)
    assert [answer["log"] for answer in answers] == [history["log"] for history in histories]


def test_difference_is_shrunk_and_shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    model = SUBJECTS["model"]

    def without_removals(history: dict[str, Any], log: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [entry for entry in model(history, log) if entry["k"] != "removed"]

    monkeypatch.setitem(SUBJECTS, "model", without_removals)
    assert compare("streams", "4.3", ["model"], 1, seed=14) == 1
    first, small, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("streams groups of Kafka 4.3, model: ")
    kinds = [event["kind"] for event in json.loads(small)["events"]]
    assert len(kinds) == 2
    assert kinds[0] == "start"
    assert kinds[1] in ("leave", "close", "kill", "threads")


def test_logs_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [(release, histories)] = [part for part in recorded("streams.jsonl") if part[0] == "4.3"]
    file = tmp_path / "histories.jsonl"
    file.write_text("".join(f"{json.dumps(history)}\n" for history in histories))
    for command in ("kafka", "model"):
        assert main([command, str(file)]) == 0
        printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert printed == [{"id": history["id"], "log": history["log"]} for history in histories], release
