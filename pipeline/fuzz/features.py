"""The features of a case: what its scenario has, and how the assignor behaved; sizes count in powers of two.

A case with a feature that no case had before is worth keeping: its changes reach further.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from reports.analysis.review.outcomes import AssignorOutcome
from scenarios.suite.documents import Document

FEATURE_METRICS: Final = (
    "active_moves",
    "standby_moves",
    "load_skew",
    "subtopology_skew",
    "tasks_without_rack_redundancy",
    "cross_rack_source_partitions",
    "not_converged",
)
"""Metrics whose sizes are features."""

_SKEW_STEPS: Final = 4


def features(document: Document, outcome: AssignorOutcome) -> frozenset[str]:
    """Return the features of a case.

    Args:
        document: its scenario, in the form that `scenarios.suite.documents.document` builds.
        outcome: the run.
    """
    scenario = dict(_of_scenario(document))
    run = dict(_of_run(outcome))
    single = {f"{name}={value}" for name, value in (scenario | run).items()}
    pairs = {
        f"{first}={scenario[first]},{second}={scenario[second]}"
        for first, second in (
            ("clients", "tasks"),
            ("standbys", "racks"),
            ("events", "standbys"),
            ("threads", "starts"),
        )
    }
    pairs |= {
        f"{first}={(scenario | run)[first]},{second}={run[second]}"
        for first, second in (("rebalances", "active_moves"), ("standbys", "standby_moves"), ("racks", "above"))
        if first in scenario | run and second in run
    }
    return frozenset(single | pairs | set(_sequences(document)))


def _of_scenario(document: Document) -> Iterator[tuple[str, object]]:
    clients, application = document["clients"], document["application"]
    configs = application.get("configs", {})
    partitions = {topic["name"]: topic["partitions"] for topic in document["cluster"]["topics"]}
    subtopologies = application["subtopologies"]
    stateful = sum("stores" in one for one in subtopologies)
    threads = {client.get("threads", 1) for client in clients if client.get("starts", True)}
    yield "clients", _bucket(len(clients))
    yield "tasks", _bucket(sum(partitions.values()))
    yield "racks", len(document["cluster"]["brokers"]["racks"])
    yield "client racks", len({client.get("rack") for client in clients})
    yield "standbys", configs.get("num.standby.replicas", 0)
    yield "subtopologies", len(subtopologies)
    yield "stateful", "none" if not stateful else "all" if stateful == len(subtopologies) else "some"
    yield "threads", "equal" if len(threads) < 2 else "unequal"
    yield "strategy", configs.get("rack.aware.assignment.strategy", "default")
    yield "tags", bool(configs.get("rack.aware.assignment.tags"))
    yield "starts", application.get("starts", "default")
    yield "events", len(document.get("events", ()))


def _sequences(document: Document) -> Iterator[str]:
    kinds = [next(key for key in event if key != "at") for event in document.get("events", ())]
    yield from (f"event={kind}" for kind in kinds)
    yield from (f"event={first},then={second}" for first, second in pairwise(kinds))


def _of_run(outcome: AssignorOutcome) -> Iterator[tuple[str, object]]:
    yield "rebalances", _bucket(outcome.rebalances)
    yield "failed", outcome.failure is not None
    for metric in FEATURE_METRICS:
        value = outcome.metrics.get(metric)
        if value is not None:
            yield metric, int(_SKEW_STEPS * value) if metric == "load_skew" else _bucket(int(value))
    if outcome.gap is not None:
        yield "above", _bucket(outcome.gap.above)
    for violation in outcome.violations:
        yield f"violates {violation.invariant}", True


def _bucket(number: int) -> int:
    """Return the number of binary digits: 0, 1, 2–3, 4–7, 8–15, …"""
    return number.bit_length()
