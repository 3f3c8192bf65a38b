"""What `assignor-sim list` lists: one table of facts per topic."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from assignors import registry
from assignors.consumers import registry as consumer_registry
from reports.render.terminal.facts import FactTable
from scenarios.load import Scenario, load
from scenarios.resolution.expectations import Fix, KnownProblem
from scenarios.shipped import list_scenarios, list_sweeps


def _assignors() -> FactTable:
    rows: list[dict[str, Any]] = [
        {
            "assignor": info.name,
            "aliases": list(info.aliases),
            "kafka_class": info.qualified_class,
            "kafka_version": info.kafka_version,
            "releases": [info.at(release).name for release in info.releases],
            "differs_by_release": info.differs_by_release,
            "identical_to_kafka": info.identical,
            "summary": info.summary,
        }
        for info in registry.built_in()
    ]
    rows += [{"assignor": name, "summary": "installed; use it with --assignor"} for name in registry.installed()]
    columns = {
        "assignor": "Assignor",
        "summary": "",
        "aliases": "Also",
        "kafka_class": "Kafka's class",
        "kafka_version": "Equal to Kafka",
    }
    note = "NAME@RELEASE is an assignor in one Kafka release, as in high_availability@4.1; NAME alone, in the newest."
    return FactTable("assignors", "Assignors", columns, rows, note)


def _consumers() -> FactTable:
    rows: list[dict[str, Any]] = [
        {
            "assignor": info.name,
            "protocol": str(info.protocol),
            "kafka_class": info.qualified_class,
            "kafka_version": f"{info.releases[0]} to {info.releases[-1]}",
            "releases": [f"{info.name}@{release}" for release in info.releases],
            "differs_by_release": info.differs_by_release,
            "summary": info.summary,
        }
        for info in consumer_registry.built_in()
    ]
    columns = {
        "assignor": "Assignor",
        "summary": "",
        "protocol": "Protocol",
        "kafka_class": "Kafka's class",
        "kafka_version": "Equal to Kafka",
    }
    note = "Both protocols have an assignor 'range'. NAME@RELEASE is that of one Kafka release, as in uniform@4.0.0."
    return FactTable("consumers", "Assignors of consumer groups", columns, rows, note)


def _scenarios() -> FactTable:
    rows = [
        {"scenario": path.stem, "description": _first_sentence(scenario.description)} for path, scenario in _shipped()
    ]
    return FactTable("scenarios", "Shipped scenarios", {"scenario": "Scenario", "description": ""}, rows)


def _problems() -> FactTable:
    rows = [_problem(path.stem, scenario.problem) for path, scenario in _shipped() if scenario.problem is not None]
    columns = {
        "scenario": "Scenario",
        "title": "",
        "symptom": "Symptom",
        "tickets": "Tickets",
        "fixes": "Fix",
    }
    return FactTable("problems", "Known problems, each with a shipped scenario", columns, rows)


def _problem(name: str, problem: KnownProblem) -> dict[str, Any]:
    return {
        "scenario": name,
        "title": problem.title,
        "symptom": problem.symptom,
        "tickets": list(problem.tickets),
        "fixes": [_fix(fix) for fix in problem.fixes],
    }


def _fix(fix: Fix) -> str:
    assignor = f" (assignor {fix.assignor})" if fix.assignor is not None else ""
    options = (f"--set {shlex.quote(f'{path}={value}')}" for path, value in fix.overrides)
    return "\n".join((f"{fix.change}{assignor}", *options))


def _sweeps() -> FactTable:
    from scenarios.language.yaml_reader import read_yaml

    rows = []
    for path in list_sweeps():
        document = read_yaml(path.read_text(encoding="utf-8")).value
        rows.append(
            {
                "sweep": path.stem,
                "description": _first_sentence(str(document.get("description", ""))),
                "scenario": Path(document["scenario"]).stem,
                "factors": [factor["name"] for factor in document.get("factors", [])],
            }
        )
    columns = {"sweep": "Sweep", "description": "", "scenario": "Scenario", "factors": "Factors"}
    return FactTable("sweeps", "Shipped sweeps", columns, rows, "Run one with assignor-sim sweep NAME --out DIR.")


def _strategies() -> FactTable:
    from assignors.replicas.registry import built_in

    rows = [
        {
            "strategy": info.name,
            "summary": info.summary,
            "moves": "replicas and leaders" if info.find_class().capabilities.moves_replicas else "leaders only",
            "tool": info.tool,
        }
        for info in built_in()
    ]
    columns = {"strategy": "Strategy", "summary": "", "moves": "Moves", "tool": "Reimplements"}
    return FactTable("strategies", "Broker strategies of plan", columns, rows)


def _metrics() -> FactTable:
    from reports.analysis.metrics import ALL_METRICS

    rows = [
        {
            "metric": metric.name,
            "title": metric.title,
            "group": metric.group,
            "value": metric.unit.value,
            "lower_is_better": metric.lower_is_better,
            "meaning": metric.meaning,
        }
        for metric in ALL_METRICS.values()
    ]
    return FactTable("metrics", "Metrics", {"metric": "Metric", "title": "", "value": "Value"}, rows)


def _releases() -> FactTable:
    rows = [
        {"release": release, "assignors": [info.name for info in registry.built_in() if release in info.releases]}
        for release in _known_releases()
    ]
    note = "assignor-sim releases shows what changes between two."
    return FactTable("releases", "Kafka releases of the assignors", {"release": "Release", "assignors": ""}, rows, note)


def _known_releases() -> list[str]:
    known = {release for info in registry.built_in() for release in info.releases}
    return sorted(known, key=lambda release: [int(part) for part in release.split(".")])


def _shipped() -> list[tuple[Path, Scenario]]:
    return [(path, load(path)) for path in list_scenarios()]


def _first_sentence(text: str) -> str:
    return " ".join(text.split()).split(". ")[0].removesuffix(".")


TOPICS: Final[Mapping[str, Callable[[], FactTable]]] = {
    "assignors": _assignors,
    "consumers": _consumers,
    "scenarios": _scenarios,
    "problems": _problems,
    "sweeps": _sweeps,
    "strategies": _strategies,
    "metrics": _metrics,
    "releases": _releases,
}
"""Builds the table of each topic."""
