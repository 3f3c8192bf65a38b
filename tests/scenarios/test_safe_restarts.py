"""A run has an outage exactly if its scenario warns about restarts of brokers, also while traffic changes."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenarios.load import loads
from scenarios.run import run
from simulator.results.tabulation import tabulate
from tests.conftest import PROFILE
from tests.relations.relation import WORLDS

pytestmark = pytest.mark.answers

Document = dict[str, Any]
FACTORS = (0.25, 1, 3, 6)
HIGHEST = max(FACTORS) ** 2


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """Draw two to four brokers that all replicate all partitions, so that a second one out of sync stops writes.

    Brokers restart near full hours, at which the traffic changes. No broker lags without a restart.
    """
    count = draw(st.integers(2, 4))
    replicas = draw(st.lists(st.permutations(range(count)), min_size=1, max_size=4))
    rates = [draw(st.integers(200_000, 1_000_000)) for _ in range(2)]
    spare = draw(st.sampled_from((2, 3, 10)))
    # Not a multiple of the rates, or a replica may be in sync at the very second at which the next broker stops.
    replication = spare * (count - 1) * len(replicas) * sum(rates) * HIGHEST * 1_007 // 1_000
    topics = [
        {"name": name, "partitions": len(replicas), "replicas": replicas, "bytes_per_s": f"{rate * len(replicas)} B/s"}
        for name, rate in zip(("in", "out"), rates, strict=True)
    ]
    minutes = st.one_of(st.integers(30, 200), st.sampled_from((60, 120)))
    events: list[Document] = []
    for _ in range(draw(st.integers(1, 3))):
        brokers = draw(st.permutations(range(count)))[: draw(st.integers(1, count))]
        down, pause = (f"{draw(st.sampled_from(values))}s" for values in ((30, 100, 600), (0, 1, 10, 60, 300)))
        events.append({"at": f"{draw(minutes)}m", "broker_bounce": {"brokers": brokers, "down": down, "pause": pause}})
    factors = draw(st.lists(st.sampled_from(FACTORS), max_size=2))
    events += [{"at": f"{draw(minutes)}m", "traffic": {"factor": factor}} for factor in factors]
    document: Document = {
        "cluster": {
            "brokers": {"count": count, "replication": f"{replication} B/s"},
            "configs": {"default.replication.factor": count, "min.insync.replicas": count - 1},
            "topics": topics,
        },
        "application": {"id": "app", "subtopologies": [{"sources": ["in"], "writes": ["out"]}]},
        "clients": [{"name": "x"}],
        "events": events,
        "duration": "2d",
    }
    if draw(st.booleans()):
        hours = [draw(st.sampled_from(FACTORS)) for _ in range(5)]
        document["traffic"] = {"hourly": [hours[hour % 5] for hour in range(24)]}
    return document


def warnings(document: Document) -> list[str]:
    loaded = loads(json.dumps(document), "restarts")
    return [warning for warning in loaded.warnings if "are in sync again" in warning]


def has_outage(document: Document) -> bool:
    loaded = loads(json.dumps(document), "restarts")
    [row] = tabulate(run(loaded, "high_availability", 1), "high_availability", 1)["runs"].to_pylist()
    return bool(row["longest_downtime_ms"])


def seconds(duration: str) -> int:
    """Return a duration such as 1h30m5s in seconds."""
    parts = re.findall(r"(\d+)(d|h|m|s)", duration)
    return sum(int(number) * {"d": 86_400, "h": 3_600, "m": 60, "s": 1}[unit] for number, unit in parts)


@settings(
    max_examples=max(1, WORLDS // 10), derandomize=PROFILE not in ("certify", "nightly"), database=None, deadline=None
)
@given(documents())
def test_a_run_has_an_outage_exactly_if_a_warning_says_so(document: Document) -> None:
    """With the named times and pauses it has none; with a second less it has one, if there is one warning."""
    unsafe = warnings(document)
    assert bool(unsafe) == has_outage(document)
    for warning in unsafe:
        [event] = re.findall(r"events\[(\d+)\]", warning)
        [(kind, duration)] = re.findall(r"(a pause of|the earliest safe time is) (\w+)", warning)
        changed, key = document["events"][int(event)], "at"
        if kind == "a pause of":
            changed, key = changed["broker_bounce"], "pause"
        changed[key] = duration
    assert not warnings(document)
    assert not has_outage(document)
    if len(unsafe) == 1:
        changed[key] = f"{seconds(duration) - 1}s"
        assert warnings(document)
        assert has_outage(document)
