"""Writes the pages of docs/reference that are made from the code: `python tools/reference_pages.py`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.aggregate.tables import AGGREGATE_SCHEMAS
from pipeline.ingest.tables import TABLES as INGESTED_TABLES
from pipeline.ingest.tables import Table
from pipeline.sweep.document import SweepDocument
from reports.analysis.plans.tables import PLAN_SCHEMAS
from scenarios.language.schema import format_json_schema
from simulator.results.tables import SCHEMAS

REFERENCE = Path(__file__).parent.parent / "docs" / "reference"

TABLES = """# Result tables

`assignor-sim run … --out DIR` writes each of these tables as `DIR/NAME.parquet`, next to `DIR/manifest.json`, which
says how they came about (scenario text and its hash, what it imported and what was inferred from that, assignors with
their settings, seeds, versions, command). pandas, DuckDB and Spark read them as they are. The same scenario, assignors
and seeds give the same bytes.

Columns may be added in later versions; a column's name and meaning stay. Times are in milliseconds since the start of
the run, data in bytes.

<!-- Made by `python tools/reference_pages.py` from the schemas in simulator/results/tables.py. -->
"""

SCENARIOS = """# Scenario files

A scenario is one YAML file (YAML 1.2: `no` and `on` are text). Every key is checked, and every mistake named with file
and line; unknown keys are mistakes. No tag constructs anything, and nothing in a file runs code. `assignor-sim schema`
writes the JSON Schema of all this, with which editors complete and check: put
`# yaml-language-server: $schema=scenario.schema.json` on the first line.

Times are numbers of milliseconds or text such as `20m`, `1h 30m`, `500ms`; sizes are bytes or `5 GB`, `512 MiB`; rates
are bytes per second or `40 MB/s`; how often something happens is text such as `2/h` or `5/d`. A topic's rate and size
are those of the whole topic, or a list with one entry a partition. Paths of files are relative to the scenario.
`--set clients[0].count=6` on the command line changes a value before the file is checked; lists of named things also
take a name, as in `--set cluster.topics[orders].size='1 TB'`.

A file may have 400 kB and 60,000 values, and describe 1,000 brokers, 10,000 clients, 100,000 partitions and 20 million
tasks × clients; larger ones are refused at once, with what to do instead. What an imported file may have is 50 MB.

<!-- Made by `python tools/reference_pages.py` from the models that scenarios/language/schema.py gathers. -->
"""

SWEEPS = """# Sweep files

A sweep is one YAML file, read and checked as [scenario files](scenarios.md) are: it names a scenario, what is varied in
it (factors), and how settings are chosen from these. Every setting with every assignor and every seed is a run.
`assignor-sim sweep FILE --out DIR` makes them; [how to](../how-to/sweep-settings.md).

```yaml
scenario: order_processing            # a file beside this one, or a shipped scenario
factors:
  - {name: standbys, path: application.configs.num.standby.replicas, values: [0, 1, 2]}
  - {name: restore, path: "clients[0].restore", between: [20, 200], scale: log, steps: 4, unit: MB/s}
seeds: 10                             # 1 to 10
```

<!-- Made by `python tools/reference_pages.py` from the models in pipeline/sweep/document.py. -->
"""

AGGREGATES = """# Tables of an aggregate

`assignor-sim aggregate DIR…` writes each of these tables as a folder with one Parquet file, next to `summary.json`:
into `DIR/aggregate`, or wherever `--out` says, which several sweeps need. pandas, DuckDB and Spark read them as they
are. The same runs give the same bytes, however they are spread over files and machines.

A *cell* is an assignor in a setting of a sweep; its runs differ by their seeds alone. Metrics are those that
`assignor-sim run` compares by. [Reading a sweep](../explanation/reading-a-sweep.md) says how each figure is made and
what it is good for. Columns may be added in later versions; a column's name and meaning stay.

`summary.json` holds what people read first: `sweeps` (what they varied, and how many runs ended how), `scenarios` (for
each its objectives, the front up to 200 cells, and the best cell of each objective with its interval),
`against_baseline` (in how many settings an assignor surely has less or more than the baseline), `sensitivity` (up to
three factors a metric) and `left_out` (what does not count here, and why).

<!-- Made by `python tools/reference_pages.py` from the schemas in pipeline/aggregate/tables.py. -->
"""

INGESTED = """# Ingested tables

`assignor-sim ingest … --out DIR` writes each of these tables as a folder of Parquet, `DIR/NAME/`, next to
`DIR/manifest.json`, which says how they came about (sources, mapping, versions, command, how many rows were read,
passed over and malformed). A table without a source is not there. pandas, DuckDB and Spark read them as they are. Rows
are sorted by their first columns.

<!-- Made by `python tools/reference_pages.py` from the columns in pipeline/ingest/tables.py. -->
"""

PLANS = """# Tables of a plan folder

`assignor-sim plan … --out DIR` writes each of these tables as `DIR/NAME.parquet`, next to `DIR/manifest.json`, which
holds the [figures](plan-criteria.md) of each strategy, the request, versions and the command. pandas, DuckDB and Spark
read them as they are. Columns may be added in later versions; a column's name and meaning stay.

<!-- Made by `python tools/reference_pages.py` from the schemas in reports/analysis/plans/tables.py. -->
"""

SWEEP_SECTIONS = {"FactorEntry": "factors[]", "DesignEntry": "design"}

PLAIN = {"integer": "number", "number": "number", "boolean": "true or false"}

SECTIONS = {
    "ClusterSection": "cluster",
    "BrokerPool": "cluster.brokers, as a number",
    "BrokerEntry": "cluster.brokers[], one by one",
    "TopicEntry": "cluster.topics[]",
    "TopicConfigs": "cluster.topics[].configs",
    "PartitionDefaults": "cluster.partition_defaults",
    "BrokerConfigs": "cluster.configs",
    "ClusterFiles": "cluster.from",
    "ApplicationSection": "application",
    "SubtopologyEntry": "application.subtopologies[]",
    "RepartitionEntry": "application.subtopologies[].repartition[]",
    "StoreEntry": "application.subtopologies[].stores[], application.stores[]",
    "StreamsConfigs": "application.configs",
    "ApplicationFiles": "application.from",
    "ClientEntry": "clients[]",
    "TasksEntry": "clients[].tasks",
    "TrafficSection": "traffic",
    "EventEntry": "events[]",
    "StaggeredClientsEvent": "events[].join, scale_out",
    "LeaveEvent": "events[].leave, scale_in",
    "CrashEvent": "events[].crash",
    "RollingBounceEvent": "events[].rolling_bounce",
    "RackOutageEvent": "events[].rack_outage",
    "BrokerLossEvent": "events[].broker_loss",
    "BrokerBounceEvent": "events[].broker_bounce",
    "ReplicaMoveEvent": "events[].replica_move",
    "ReassignmentEvent": "events[].reassignment",
    "ConfigChangeEvent": "events[].config_change",
    "TrafficEvent": "events[].traffic",
    "ChurnEvent": "events[].churn",
    "AutoscaleEvent": "events[].autoscale",
    "AssignorSettings": "assignors[]",
    "AssignorEntryConfigs": "assignors[].configs",
    "AssignorConfigs": "events[].config_change.configs, events[].rolling_bounce.configs",
    "PriceEntry": "price",
}


def pages() -> dict[Path, str]:
    """Every page, by its file."""
    return {
        REFERENCE / "tables.md": _tables(),
        REFERENCE / "scenarios.md": _scenarios(),
        REFERENCE / "sweep-files.md": _sweeps(),
        REFERENCE / "aggregate-tables.md": _aggregates(),
        REFERENCE / "plan-tables.md": PLANS + "".join(_table(name, schema) for name, schema in PLAN_SCHEMAS.items()),
        REFERENCE / "ingested-tables.md": INGESTED + "".join(map(_ingested, INGESTED_TABLES)),
    }


def _tables() -> str:
    return TABLES + "".join(_table(name, schema) for name, schema in SCHEMAS.items())


def _aggregates() -> str:
    return AGGREGATES + "".join(_table(name, schema) for name, schema in AGGREGATE_SCHEMAS.items())


def _ingested(table: Table) -> str:
    rows = [
        f"| `{column.name}` | {column.type.replace('<', ' of ').replace('>', '')} | {column.meaning} |"
        for column in table.columns
    ]
    head = [f"\n## {table.name}\n", table.about, "", "| column | type | meaning |", "|---|---|---|"]
    return "\n".join([*head, *rows, ""])


def _table(name: str, schema: pa.Schema) -> str:
    rows = [f"| `{field.name}` | {field.type} | {field.metadata[b'meaning'].decode()} |" for field in schema]
    about = schema.metadata[b"about"].decode()
    return "\n".join([f"\n## {name}\n", about, "", "| column | type | meaning |", "|---|---|---|", *rows, ""])


def _scenarios() -> str:
    schema = json.loads(format_json_schema())
    models = schema["$defs"]
    missing = set(models) - set(SECTIONS)
    if missing:
        raise LookupError(f"SECTIONS says nothing of {', '.join(sorted(missing))}")
    sections = [_section("The file", schema)]
    sections += [_section(f"`{path}`", models[name]) for name, path in SECTIONS.items()]
    return SCENARIOS + "".join(sections)


def _sweeps() -> str:
    schema = SweepDocument.model_json_schema(by_alias=True)
    sections = [_section("The file", schema)]
    sections += [_section(f"`{path}`", schema["$defs"][name]) for name, path in SWEEP_SECTIONS.items()]
    return SWEEPS + "".join(sections)


def _section(title: str, model: dict[str, Any]) -> str:
    required = model.get("required", ())
    rows = [
        f"| `{key}` | {_kind(field)} | {'required' if key in required else _default(field)} | {_meaning(field)} |"
        for key, field in model["properties"].items()
    ]
    head = ["| key | value | default | meaning |", "|---|---|---|---|"]
    return "\n".join([f"\n## {title}\n", model.get("description", ""), "", *head, *rows, ""])


def _kind(field: dict[str, Any]) -> str:
    return " or ".join(dict.fromkeys(_kinds(field)))


def _kinds(field: dict[str, Any]) -> Iterator[str]:
    if isinstance(field.get("type"), list):
        for kind in field["type"]:
            yield from _kinds({**field, "type": kind})
    elif "$ref" in field:
        yield "section"
    elif "enum" in field or "const" in field:
        yield from (f"`{value}`" for value in field.get("enum", [field.get("const")]))
    elif "anyOf" in field or "oneOf" in field:
        for choice in field.get("anyOf", field.get("oneOf")):
            yield from _kinds(choice)
    elif field.get("type") == "array":
        yield f"list of {_kind(field.get('items', {})) or 'anything'}".replace("list of section", "list of sections")
    elif field.get("type") == "object":
        yield "mapping"
    elif field.get("type") == "string":
        examples = field.get("examples")
        yield f"text, as `{examples[0]}`" if examples else "text"
    elif field.get("type") != "null":
        yield {"integer": "number", "number": "number", "boolean": "true or false"}.get(
            field.get("type", ""), "anything"
        )


def _default(field: dict[str, Any]) -> str:
    default = field.get("default")
    return "" if default is None or default in ([], {}) else f"`{json.dumps(default)}`"


def _meaning(field: dict[str, Any]) -> str:
    return str(field.get("description", "")).replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
