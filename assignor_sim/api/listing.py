"""What `assignor-sim list` lists, by topic."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from assignors import registry
from assignors.consumers import registry as consumer_registry
from reports.analysis.text import plain_text
from reports.document import Block, Paragraph, ReportColumn, ReportTable
from scenarios.load import Scenario, load
from scenarios.resolution.expectations import Fix, KnownProblem
from scenarios.shipped import list_scenarios, list_sweeps

_MAX_CHARS: Final = 40


@dataclass(frozen=True, slots=True)
class Listing:
    """What can be named, of one kind.

    Attributes:
        title: title above the rows.
        columns: title of each column by key; the first column names the row. A column without a title has none in
            terminals.
        rows: the values by key; JSON has all of them, the other formats those of the columns. Options of the command
            line are on further lines of a value.
        note: a sentence below the rows; empty if there is none.
    """

    title: str
    columns: Mapping[str, str]
    rows: Sequence[Mapping[str, Any]]
    note: str = ""

    def blocks(self) -> list[Block]:
        """Return the rows and the note for a report."""
        columns = [ReportColumn(key, title or key, header=title) for key, title in self.columns.items()]
        rows = [[_text(row.get(key)) for key in self.columns] for row in self.rows]
        return [ReportTable("listing", columns, rows, is_list=True), Paragraph(self.note, "note")]


def _text(value: Any) -> str:
    """Return a value as text, with long items of a list as paragraphs."""
    is_long = isinstance(value, list) and any(len(str(item)) > _MAX_CHARS for item in value)
    return ";\n".join(map(str, value)) if is_long else plain_text(value)


def _assignors() -> Listing:
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
    return Listing("Assignors", columns, rows, note)


def _consumers() -> Listing:
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
    return Listing("Assignors of consumer groups", columns, rows, note)


def _scenarios() -> Listing:
    rows = [
        {"scenario": path.stem, "description": _first_sentence(scenario.description)} for path, scenario in _shipped()
    ]
    return Listing("Shipped scenarios", {"scenario": "Scenario", "description": ""}, rows)


def _problems() -> Listing:
    rows = [_problem(path.stem, scenario.problem) for path, scenario in _shipped() if scenario.problem is not None]
    columns = {
        "scenario": "Scenario",
        "title": "",
        "symptom": "Symptom",
        "tickets": "Tickets",
        "fixes": "Fix",
    }
    return Listing("Known problems, each with a shipped scenario", columns, rows)


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


def _sweeps() -> Listing:
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
    return Listing("Shipped sweeps", columns, rows, "Run one with assignor-sim sweep NAME --out DIR.")


def _strategies() -> Listing:
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
    return Listing("Broker strategies of plan", columns, rows)


def _metrics() -> Listing:
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
    return Listing("Metrics", {"metric": "Metric", "title": "", "value": "Value"}, rows)


def _releases() -> Listing:
    rows = [
        {"release": release, "assignors": [info.name for info in registry.built_in() if release in info.releases]}
        for release in _known_releases()
    ]
    note = "assignor-sim releases shows what changes between two."
    return Listing("Kafka releases of the assignors", {"release": "Release", "assignors": ""}, rows, note)


def _known_releases() -> list[str]:
    known = {release for info in registry.built_in() for release in info.releases}
    return sorted(known, key=lambda release: [int(part) for part in release.split(".")])


def _shipped() -> list[tuple[Path, Scenario]]:
    return [(path, load(path)) for path in list_scenarios()]


def _first_sentence(text: str) -> str:
    return " ".join(text.split()).split(". ")[0].removesuffix(".")


TOPICS: Final[Mapping[str, Callable[[], Listing]]] = {
    "assignors": _assignors,
    "consumers": _consumers,
    "scenarios": _scenarios,
    "problems": _problems,
    "sweeps": _sweeps,
    "strategies": _strategies,
    "metrics": _metrics,
    "releases": _releases,
}
"""Builds the listing of each topic."""
