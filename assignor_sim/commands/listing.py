"""`assignor-sim list`: the assignors and the shipped scenarios."""

from __future__ import annotations

from typing import Annotated

import typer

from assignor_sim.console.formats import TableOrJson


def list_(
    format_: Annotated[TableOrJson, typer.Option("--format", help="Output format.")] = TableOrJson.TABLE,
) -> None:
    """List the assignors, with the Kafka releases that they reimplement, and the shipped scenarios.

    Example: [bold]assignor-sim list[/bold]
    """
    import json

    from assignors import registry
    from scenarios.load import load
    from scenarios.shipped import list_scenarios

    assignors = [
        {
            "assignor": info.name,
            "aliases": list(info.aliases),
            "kafka_class": info.kafka_class,
            "kafka_version": info.kafka_version,
            "releases": [info.at(release).name for release in info.releases],
            "differs_by_release": info.differs_by_release,
            "identical_to_kafka": info.identical,
            "summary": info.summary,
        }
        for info in registry.built_in()
    ]
    assignors += [{"assignor": name, "summary": "installed; use it with --assignor"} for name in registry.installed()]
    scenarios = [
        {"scenario": path.stem, "description": _first_sentence(load(path).description)} for path in list_scenarios()
    ]
    if format_ is TableOrJson.JSON:
        print(json.dumps({"assignors": assignors, "scenarios": scenarios}, indent=2))
    else:
        _print_tables(assignors, scenarios)


def _release(name: str) -> str:
    return name[name.index("@") :]


def _first_sentence(text: str) -> str:
    return " ".join(text.split()).split(". ")[0].removesuffix(".")


def _print_tables(assignors: list[dict[str, object]], scenarios: list[dict[str, str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    table = Table("Assignor", "Kafka's class", "Equal to", "Description", box=box.SIMPLE_HEAD)
    for row in assignors:
        aliases = row.get("aliases")
        name = (
            f"{row['assignor']} ({', '.join(map(str, aliases))})"
            if isinstance(aliases, list) and aliases
            else row["assignor"]
        )
        kafka = f"Kafka {row['kafka_version']}" if row.get("kafka_version") else ""
        if kafka and not row["identical_to_kafka"]:
            kafka += ", not yet verified"
        releases = row.get("releases")
        if isinstance(releases, list) and row["differs_by_release"]:
            kafka += f" (by release: {', '.join(map(_release, releases))})"
        table.add_row(*(Text(str(cell)) for cell in (name, row.get("kafka_class", ""), kafka, row["summary"])))
    console.print(table)
    console.print(
        Text(
            "NAME@RELEASE is an assignor in one Kafka release, as in high_availability@4.1; NAME alone, in the newest."
        )
    )
    table = Table("Shipped scenario", "Description", box=box.SIMPLE_HEAD)
    for scenario in scenarios:
        table.add_row(Text(scenario["scenario"]), Text(scenario["description"]))
    console.print(table)
