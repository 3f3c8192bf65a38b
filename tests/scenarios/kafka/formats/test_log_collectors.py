"""Logs of group leaders as containers and collectors print them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

import pytest

from scenarios.kafka.formats.logs import RELEVANT_LINE, LoggedRebalance, parse_rebalances, split_log

LOGS = [
    *sorted(Path(__file__).with_name("dialects").glob("leader_*.log")),
    *sorted((Path(__file__).parents[4] / "docs" / "examples").glob("*/shop-*.log")),
]
TIME = re.compile(r"\[?(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)[.,](\d{3})\]? ?")
STAMP = "2026-11-23T08:00:00.123456789Z"


def _prefixed(prefix: str) -> Callable[[str], str]:
    return lambda text: "".join(f"{prefix}{line}\n" for line in text.splitlines())


def _messages(text: str) -> list[str]:
    """The messages of a log; lines without a time belong to the message before them."""
    return re.split(r"\n(?=\[?\d{4}-\d\d-\d\d)", text.rstrip("\n"))


def _json_lines(key: str, *, has_own_time: bool) -> Callable[[str], str]:
    def write(text: str) -> str:
        records = []
        for message in _messages(text):
            match = TIME.match(message)
            if has_own_time or match is None:
                records.append({"level": "INFO", key: message})
            else:
                time = "{}T{}.{}Z".format(*match.groups())
                records.append({"@timestamp": time, "log.level": "INFO", key: message[match.end() :]})
        return "".join(json.dumps(record) + "\n" for record in records)

    return write


def _nested(outer: str, key: str) -> Callable[[str], str]:
    def write(text: str) -> str:
        lines = _json_lines(key, has_own_time=False)(text).splitlines()
        return "".join(json.dumps({"insertId": "1", outer: json.loads(line)}) + "\n" for line in lines)

    return write


def _json_file(text: str) -> str:
    """The JSON file of Docker: a record per line, here of a program that writes JSON lines itself."""
    inner = _json_lines("message", has_own_time=False)(text)
    return "".join(
        json.dumps({"log": f"{line}\n", "stream": "stdout", "time": STAMP}) + "\n" for line in inner.split("\n")
    )


WRITERS: dict[str, Callable[[str], str]] = {
    "as written": lambda text: text,
    "with CRLF": lambda text: text.replace("\n", "\r\n"),
    "docker compose logs": _prefixed("shop-1  | "),
    "docker compose logs --timestamps": _prefixed(f"\x1b[36mshop-1  | \x1b[0m{STAMP} "),
    "kubectl logs --timestamps": _prefixed(f"{STAMP} "),
    "kubectl logs --prefix": _prefixed("[pod/shop-7d9c5b6f4-x2x4z/shop] "),
    "kubectl logs --prefix --timestamps": _prefixed(f"[pod/shop-0/shop] {STAMP} "),
    "container runtime": _prefixed("2026-11-23T09:00:00.123456789+01:00 stdout F "),
    "journalctl": _prefixed("Nov 23 08:00:00 host-1 shop[42]: "),
    "message": _json_lines("message", has_own_time=False),
    "msg": _json_lines("msg", has_own_time=True),
    "log": _json_lines("log", has_own_time=False),
    "Google Cloud, text": lambda text: "".join(
        json.dumps({"textPayload": line, "timestamp": STAMP, "resource": {"labels": {"pod_name": "shop-1"}}}) + "\n"
        for line in text.splitlines()
    ),
    "Google Cloud, JSON": _nested("jsonPayload", "message"),
    "CloudWatch Logs Insights": _json_lines("@message", has_own_time=True),
    "Elasticsearch": _nested("_source", "message"),
    "Datadog": _nested("attributes", "message"),
    "journalctl -o json": _json_lines("MESSAGE", has_own_time=True),
    "logcli": _json_lines("line", has_own_time=True),
    "Splunk": _nested("result", "_raw"),
    "JSON with prefix": lambda text: _prefixed("shop-1  | ")(_json_lines("message", has_own_time=False)(text)),
    "JSON file of Docker": _json_file,
}


def _parse(text: str) -> list[list[LoggedRebalance]]:
    """The rebalances of each process, without line numbers: those of JSON lines are those of the records."""
    logs = split_log(text)
    return [
        [replace(rebalance, line=0) for rebalance in parse_rebalances(log.text)]
        for log in logs
        if "activeTasks: (" in log.text
    ]


@pytest.mark.parametrize("log", LOGS, ids=lambda path: path.name)
@pytest.mark.parametrize("name", WRITERS)
def test_collected_logs_have_the_rebalances_of_the_original(name: str, log: Path) -> None:
    text = log.read_text()
    if "activeTasks: (" not in text:
        return
    expected = [replace(rebalance, line=0) for rebalance in parse_rebalances(text)]
    assert _parse(WRITERS[name](text)) == [expected]


@pytest.mark.parametrize("log", LOGS, ids=lambda path: path.name)
@pytest.mark.parametrize("name", WRITERS)
def test_the_relevant_lines_of_collected_logs_suffice(name: str, log: Path) -> None:
    lines = WRITERS[name](log.read_text()).split("\n")
    kept = "\n".join(line for line in lines if re.search(RELEVANT_LINE, line))
    by_client = [[replace(rebalance, by_thread={}) for rebalance in log] for log in _parse("\n".join(lines))]
    assert [[replace(rebalance, by_thread={}) for rebalance in log] for log in _parse(kept)] == by_client


def test_interleaved_processes_are_separate_logs_with_the_lines_of_the_file() -> None:
    a_lines, b_lines = (
        (LOGS[0].with_name(name)).read_text().splitlines() for name in ("leader_3_9.log", "leader_4_3.log")
    )
    pairs = zip_longest(a_lines, b_lines)
    both = [line for a, b in pairs for line in (a and f"[pod/a/x] {a}", b and f"[pod/b/x] {b}") if line]
    first, second = split_log("\n".join(both))
    assert (first.process, second.process) == ("pod/a/x", "pod/b/x")
    assert (first.lines, second.lines) == ([line for line in a_lines if line], [line for line in b_lines if line])
    assert first.numbers[:3] == [1, 3, 5]


@pytest.mark.parametrize("value", ["2026-11-23T07:52:16.221Z", 1_795_420_336.221, 1_795_420_336_221])
def test_the_time_of_a_json_line_is_that_of_its_message(value: str | float) -> None:
    line = json.dumps({"time": value, "message": "Assigned tasks [0_0]"})
    assert split_log(line)[0].lines == ["2026-11-23T07:52:16.221Z Assigned tasks [0_0]"]


@pytest.mark.parametrize(
    "line",
    [
        "2026-11-23T07:52:16.221Z  INFO 1 --- [shop] [main] o.a.k.s.KafkaStreams : started",
        "07:52:16.221 [main] INFO  o.a.k.s.KafkaStreams -- started",
        "INFO  | 2026-11-23 07:52:16 | started",
        '{"version":1,"brokers":[]}',
        '{"message": 3}',
        '{"message": "cut',
    ],
)
def test_other_lines_remain_as_they_are(line: str) -> None:
    assert split_log(line)[0].lines == [line]


@pytest.mark.parametrize(
    "record",
    [
        {"message": "\ud800 started"},
        {"message": "started", "time": 10**40},
        {"message": "started", "time": float("nan")},
        {"message": "started", "instant": {"epochSecond": 1, "nanoOfSecond": 10**400}},
        {"message": "started", "instant": {"epochSecond": "1"}},
        {"message": "", "time": True},
    ],
)
def test_strange_json_lines_give_text(record: dict[str, object]) -> None:
    [log] = split_log(json.dumps(record))
    assert log.text.encode().decode() == log.text
    assert log.lines[0].endswith(str(record["message"]).replace("\ud800", "?"))
