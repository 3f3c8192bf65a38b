"""Run `assignor-sim plan` on a small cluster, and read what it prints and writes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from assignor_sim.cli import app
from scenarios.kafka.formats.reassignment import parse_reassignment
from tests.assignor_sim.conftest import SMALL

PLANNERS = "tests.assignor_sim.planners:"
ROUND_ROBIN = ("--strategy", f"{PLANNERS}RoundRobin")
PARTITIONS: list[dict[str, Any]] = [
    {"topic": topic, "partition": partition, "replicas": [1, 2]}
    for topic, count in (("orders", 4), ("pay", 2))
    for partition in range(count)
]
ASSIGNMENT = {"version": 1, "partitions": PARTITIONS}
BROKERS = "id,rack,capacity\n1,az1,1 TB\n2,az2,1 TB\n3,az3,1 TB\n"


def write_cluster(folder: Path) -> None:
    """Write a reassignment of six partitions, three brokers, sizes of 1,000 bytes, and the small scenario."""
    (folder / "today.json").write_text(json.dumps(ASSIGNMENT, indent=1), encoding="utf-8")
    (folder / "brokers.csv").write_text(BROKERS, encoding="utf-8")
    (folder / "small.yaml").write_text(SMALL, encoding="utf-8")
    sizes = ",".join(
        json.dumps({"partition": f"{entry['topic']}-{entry['partition']}", "size": 1000, "isFuture": False})
        for entry in PARTITIONS
    )
    (folder / "sizes.json").write_text(f'{{"brokers":[{{"broker":1,"logDirs":[{{"partitions":[{sizes}]}}]}}]}}\n')


def run_plan(*arguments: str, stdin: str | bytes = "", width: int = 120) -> Result:
    return CliRunner().invoke(app, ["plan", *arguments], input=stdin, env={"COLUMNS": str(width)})


def plan_three_brokers(*arguments: str, cluster: str = "today.json", **options: Any) -> Result:
    return run_plan(cluster, "--brokers", "brokers.csv", *arguments, **options)


def plan_columns(printed: str) -> dict[str, dict[str, str]]:
    """Return the filled cells of each plan, printed in one or more tables, by the title of their row."""
    columns: dict[str, dict[str, str]] = {}
    for table in printed.split("\n\n"):
        header, rule, body = table.partition("─\n")
        if not rule or not body.startswith("status "):
            continue
        names: dict[int, str] = {}  # By the column in which all cells of a plan end.
        for line in filter(lambda line: line.startswith(" "), header.splitlines()):
            for part in re.finditer(r"\S+", line):
                names[part.end()] = names.get(part.end(), "") + part[0]
        group = ""
        columns |= {name: {} for _, name in sorted(names.items())}
        for line in body.splitlines():
            title = line.split("  ")[0] if line[0] != " " else f"{group} {line.split('  ')[1]}"
            group = title if line[0] != " " else group
            cells = {part.end(): part[0] for part in re.finditer(r"\S+(?: \S+)*", line)}
            for end in names.keys() & cells.keys():
                columns[names[end]][title] = cells[end]
    return columns


def parse_json(result: Result) -> Any:
    assert result.exit_code in (0, 1), result.output
    return json.loads(result.stdout)


def plan_row(result: Result, name: str) -> Any:
    """Return the row of the strategy whose name ends like this."""
    return next(plan for plan in parse_json(result)["plans"] if plan["strategy"].endswith(name))


def list_files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def kafka_files(folder: Path) -> list[str]:
    """Return the files other than tables and page."""
    return [name for name in list_files(folder) if not name.endswith((".parquet", "report.html"))]


def strategy_folders(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.is_dir())


def read_replicas(path: Path) -> dict[str, tuple[int, ...]]:
    return {f"{move.topic}-{move.partition}": move.replicas for move in parse_reassignment(path.read_text())}
