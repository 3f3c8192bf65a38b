"""Compare coordinator and simulation with the released coordinator on random histories, or print logs of given ones.

Usage:
    python -m tests.group_histories kafka|model|simulation [FILE]    print the log of each history, one a line
    python -m tests.group_histories compare --release 4.3 --histories 100 --seed 1
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from itertools import groupby, repeat, zip_longest
from pathlib import Path
from typing import Any

from tests.group_histories.classic_members import log_of_classic_model
from tests.group_histories.kafka import logs_of_kafka
from tests.group_histories.random_histories import (
    CLASSIC_RELEASES,
    RELEASES,
    random_classic_history,
    random_history,
)
from tests.group_histories.simulated_group import ASSIGNORS, log_of_simulation
from tests.group_histories.streams_members import log_of_model

Log = list[dict[str, Any]]
SUBJECTS = {
    "model": log_of_model,
    "simulation": log_of_simulation,
    "assignments": partial(log_of_simulation, assigns=True),
}
"""What is compared with Kafka: the model of the coordinator with simple members, the simulation that is given Kafka's
targets, and the simulation that assigns."""
SUBJECTS_OF_CLASSIC = ("model", "simulation")
COMPARED = (
    *(("streams", release, tuple(SUBJECTS if release in ASSIGNORS else SUBJECTS_OF_CLASSIC)) for release in RELEASES),
    *(("classic", release, SUBJECTS_OF_CLASSIC) for release in CLASSIC_RELEASES),
)
"""The groups, releases and subjects that are compared. The assignor of brokers of 4.1 is not among this project's."""
LEAST_EQUAL = 0.999
"""The least share of equal histories. In a few, the answer depends on the order within a millisecond."""


def differing(subject: str, history: dict[str, Any], of_kafka: Log) -> tuple[Any, Any] | None:
    """Return the first entries of both logs that differ, Kafka's first; None if there are none.

    In the simulation of a classic group, requests take no time, so what happens in one millisecond has no order.
    """
    logs = of_kafka, log_of(subject, history, of_kafka)
    if history.get("protocol") == "classic" and subject == "simulation":
        ordered = [sorted(log, key=_place) for log in logs]
    else:
        ordered = [in_order(log) for log in logs]
    return next((pair for pair in zip_longest(*ordered) if pair[0] != pair[1]), None)


def log_of(subject: str, history: dict[str, Any], of_kafka: Log) -> Log:
    """Return the log of a history, given that of Kafka."""
    if history.get("protocol") == "classic" and subject == "model":
        return log_of_classic_model(history, of_kafka)
    return SUBJECTS[subject](history, of_kafka)


def _place(entry: Mapping[str, Any]) -> tuple[int, str, int, str]:
    return entry["t"], entry["k"], entry.get("g", 0), str(entry.get("m"))


def in_order(log: Log) -> Log:
    """Return a log in which members to which the same happens in a millisecond are in the order of their names."""
    ordered: Log = []
    for _, together in groupby(log, lambda entry: (entry["t"], entry["k"])):
        ordered += sorted(together, key=lambda entry: str(entry.get("m")))
    return ordered


def shrunk(subject: str, history: dict[str, Any], release: str) -> dict[str, Any]:
    """Return a history without the events and clients that a difference does not need."""
    while True:
        events = history["events"]
        smaller = [{**history, "events": events[:place] + events[place + 1 :]} for place in range(len(events))]
        smaller = [candidate for candidate in smaller if _is_consistent(candidate, has_duplicates=subject == "model")]
        logs = [answer["log"] for answer in logs_of_kafka(smaller, release)]
        differ = [candidate for candidate, log in zip(smaller, logs, strict=True) if differing(subject, candidate, log)]
        if not differ:
            break
        history = differ[0]
    used = {event.get("client") for event in history["events"]}
    return {**history, "clients": [client for client in history["clients"] if client["name"] in used]}


def _is_consistent(history: dict[str, Any], *, has_duplicates: bool) -> bool:
    """Return whether only clients that run stop or change, and only others, or duplicates of static ones, start."""
    up: set[str] = set()
    static = {client["name"] for client in history["clients"] if client.get("static")}
    for event in history["events"]:
        name = event.get("client")
        if event["kind"] == "start":
            if name in up and not (has_duplicates and name in static):
                return False
            up.add(name)
        elif name is not None:
            if name not in up:
                return False
            if event["kind"] not in ("threads", "pause"):
                up.discard(name)
    return bool(history["events"])


def compare(protocol: str, release: str, subjects: Sequence[str], number: int, seed: int) -> int:
    """Compare random histories; print how many are equal, and the smallest form of each that is not.

    Returns 1 if fewer than `LEAST_EQUAL` are equal.
    """
    drawn = {
        is_simulated: [
            _drawn(protocol, release, seed * 1_000_000 + place, is_simulated=is_simulated) for place in range(number)
        ]
        for is_simulated in {subject != "model" for subject in subjects}
    }
    logs = iter(logs_of_kafka([history for histories in drawn.values() for history in histories], release))
    answers = {key: [(history, next(logs)["log"]) for history in histories] for key, histories in drawn.items()}
    ends = 0
    for subject in subjects:
        unequal = [history for history, log in answers[subject != "model"] if differing(subject, history, log)]
        equal = number - len(unequal)
        print(f"{protocol} groups of Kafka {release}, {subject}: {equal:,} of {number:,} histories are equal")
        for history in unequal:
            small = shrunk(subject, history, release)
            print(json.dumps(small))
            print(json.dumps(differing(subject, small, logs_of_kafka([small], release)[0]["log"])))
        ends |= equal < LEAST_EQUAL * number
    return ends


def _compare_quietly(compared: tuple[str, str, Sequence[str]], number: int, seed: int) -> tuple[int, str]:
    """Compare as `compare`; return also what it prints."""
    printed = StringIO()
    with redirect_stdout(printed):
        return compare(*compared, number, seed), printed.getvalue()


def _drawn(protocol: str, release: str, seed: int, *, is_simulated: bool) -> dict[str, Any]:
    draw = random_classic_history if protocol == "classic" else random_history
    return draw(release, seed, is_simulated=is_simulated)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command."""
    parser = argparse.ArgumentParser(prog="python -m tests.group_histories", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("kafka", *SUBJECTS):
        commands.add_parser(name).add_argument("file", nargs="?", type=Path)
    comparison = commands.add_parser("compare")
    releases = sorted({*RELEASES, *CLASSIC_RELEASES})
    comparison.add_argument("--release", choices=releases, action="append")
    comparison.add_argument("--histories", type=int, default=100)
    comparison.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    if options.command == "compare":
        chosen = [compared for compared in COMPARED if compared[1] in (options.release or releases)]
        with ProcessPoolExecutor() as pool:
            ends = []
            for end, printed in pool.map(_compare_quietly, chosen, repeat(options.histories), repeat(options.seed)):
                print(printed, end="", flush=True)
                ends.append(end)
        return max(ends)
    lines = (options.file.read_text(encoding="utf-8") if options.file else sys.stdin.read()).splitlines()
    for release, group in groupby(map(json.loads, lines), lambda history: str(history["release"])):
        histories = list(group)
        for history, answer in zip(histories, logs_of_kafka(histories, release), strict=True):
            if options.command != "kafka":
                answer = {"id": history["id"], "log": log_of(options.command, history, answer["log"])}
            print(json.dumps(answer, separators=(",", ":")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
