"""A group changes its protocol while it is empty, and is a new one then; before that, it refuses other members."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

import pytest

from assignors.kafka_releases import CLIENT_RELEASES
from tests.counts import few_or
from tests.group_histories.__main__ import Log
from tests.group_histories.kafka import logs_of_kafka
from tests.group_histories.random_histories import RELEASES, random_classic_history, random_history

pytestmark = pytest.mark.kafka

HISTORIES = few_or(1_000, 20)
SESSION_MS, LEFT_MS = 10_000, 200_000
FORMER_CLIENTS = ("former", "former-static")
SWITCHING = [
    pytest.param(release, marks=() if release == CLIENT_RELEASES[-1] else pytest.mark.slow) for release in RELEASES[1:]
]
"""Brokers of 4.1 refuse members of a streams group also if the classic group is empty."""


def event(at_ms: int, kind: str, client: str) -> dict[str, Any]:
    return {"at": at_ms, "kind": kind, "client": client, **({"process_id": client} if kind == "start" else {})}


def refused(log: Log) -> list[str]:
    return [entry["m"] for entry in log if entry["k"] == "refused"]


def both(release: str, events: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """Return a history of clients with the classic protocol, `classic`, and with the streams protocol, `streams`."""
    return {
        "id": "both",
        "release": release,
        "protocol": "both",
        "config": {"session_timeout_ms": SESSION_MS, "heartbeat_interval_ms": 3_000},
        "subtopologies": [{"id": "0", "partitions": 3, "stateful": True}],
        "clients": [
            {"name": "classic", "threads": 1, "protocol": "classic"},
            {"name": "streams", "threads": 1, "protocol": "streams"},
        ],
        "events": events,
        "duration_ms": 60_000,
        **more,
    }


@pytest.mark.parametrize(("of_former", "of_next"), [("classic", "streams"), ("streams", "classic")])
@pytest.mark.parametrize("release", SWITCHING)
def test_group_refuses_members_of_the_other_protocol_until_it_is_empty(
    release: str, of_former: str, of_next: str
) -> None:
    killed_ms = 20_000
    attempts_ms = [10_000, killed_ms + 5_000, killed_ms + SESSION_MS + 1]
    events = [event(100, "start", of_former), event(killed_ms, "kill", of_former)]
    for at_ms in attempts_ms:  # The platform restarts the process that was refused.
        events += [event(at_ms, "start", of_next), event(at_ms + 4_000, "kill", of_next)]
    events.sort(key=itemgetter("at"))
    [answer] = logs_of_kafka([both(release, events)], release)
    assert refused(answer["log"]) == [f"{of_next}/1/0", f"{of_next}/2/0"]
    joined = [(entry["t"], entry["m"]) for entry in answer["log"] if entry["k"] == "joined"]
    assert joined == [(100, f"{of_former}/1/0"), (attempts_ms[-1], f"{of_next}/3/0")]


@pytest.mark.slow
def test_brokers_of_4_1_do_not_switch_an_empty_group() -> None:
    events = [event(100, "start", "classic"), event(20_000, "leave", "classic"), event(50_000, "start", "streams")]
    [answer] = logs_of_kafka([both("4.1", events)], "4.1")
    assert refused(answer["log"]) == ["streams/1/0"]


@pytest.mark.parametrize(("protocol", "of_former"), [("streams", "classic"), ("classic", "streams")])
@pytest.mark.parametrize("release", SWITCHING)
def test_switched_group_does_what_a_new_one_does(release: str, protocol: str, of_former: str) -> None:
    draw = random_classic_history if protocol == "classic" else random_history
    new = [draw(release, seed) for seed in range(HISTORIES)]
    logs = logs_of_kafka([*new, *(after_former_clients(history, protocol, of_former) for history in new)], release)
    for history, alone, after in zip(new, logs[:HISTORIES], logs[HISTORIES:], strict=True):
        later = [{**entry, "t": entry["t"] - LEFT_MS} for entry in after["log"] if entry["t"] >= LEFT_MS]
        former = [entry for entry in after["log"] if entry["t"] < LEFT_MS]
        assert later == alone["log"], history["id"]
        assert any(entry["k"] == "tasks" or entry["k"] == "assigned" for entry in former)


def after_former_clients(history: dict[str, Any], protocol: str, of_former: str) -> dict[str, Any]:
    """Return a history after clients with the other protocol have left or died."""
    former = [
        event(at_ms, kind, client)
        for client, last in zip(FORMER_CLIENTS, ("leave", "kill"), strict=True)
        for at_ms, kind in ((100, "start"), (30_000, last))
    ]
    former.sort(key=itemgetter("at"))
    return {
        **history,
        "protocol": "both",
        "clients": [
            *({**client, "protocol": protocol} for client in history["clients"]),
            {"name": FORMER_CLIENTS[0], "threads": 2, "protocol": of_former},
            {"name": FORMER_CLIENTS[1], "threads": 1, "protocol": of_former, "static": history["release"] == "4.4"},
        ],
        "events": [*former, *({**later, "at": later["at"] + LEFT_MS} for later in history["events"])],
        "duration_ms": history["duration_ms"] + LEFT_MS,
    }
