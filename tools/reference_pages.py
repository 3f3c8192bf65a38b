"""Write the pages of docs/reference that are generated from the code: `python -m tools.reference_pages`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.ingest.tables import TABLES as INGESTED_TABLES
from pipeline.ingest.tables import Table
from reports.analysis.plans.tables import PLAN_SCHEMAS
from reports.analysis.sweeps.tables import AGGREGATE_SCHEMAS
from scenarios.language.schema import format_json_schema
from scenarios.language.streams_group_configs import STREAMS_GROUP_CONFIGS, Effect
from scenarios.sweeps.document import SweepDocument
from simulator.results.tables import SCHEMAS

REFERENCE = Path(__file__).parent.parent / "docs" / "reference"

TABLES = """# Result tables

`assignor-sim run … --out DIR` writes each table as `DIR/NAME.parquet`, next to `DIR/manifest.json` with their origin
(scenario text and its hash, imported files and what was inferred from them, assignors with their settings, seeds,
versions, command). pandas, DuckDB and Spark can read them directly. The same scenario, assignors and seeds give the
same bytes.

Later versions may add columns; a column's name and meaning do not change. Times are in milliseconds since the start of
the run, data in bytes.

<!-- Made by `python -m tools.reference_pages` from the schemas in simulator/results/tables.py. -->
"""

SCENARIOS = """# Scenario files

A scenario is one YAML file (YAML 1.2: `no` and `on` are text). Every key is checked, and every error is reported with
file and line; unknown keys are errors. YAML tags have no effect, and a file cannot run code. `assignor-sim schema`
writes the JSON Schema, with which editors complete and validate: put
`# yaml-language-server: $schema=scenario.schema.json` on the first line.

Times are numbers of milliseconds or text such as `20m`, `1h 30m`, `500ms`; sizes are bytes or `5 GB`, `512 MiB`; rates
are bytes per second or `40 MB/s`; frequencies are text such as `2/h` or `5/d`. A topic's rate and size are totals of
the topic, or a list with one entry per partition. File paths are relative to the scenario.
`--set clients[0].count=6` on the command line changes a value before the file is validated; entries of lists can also
be selected by name, as in `--set cluster.topics[orders].size='1 TB'`.

Limits: 400 kB and 60,000 values per file, 1,000 brokers, 10,000 clients, 100,000 partitions and 20 million
tasks × clients; 50 MB per imported file. Larger scenarios are rejected with advice.

<!-- Made by `python -m tools.reference_pages` from the models that scenarios/language/schema.py gathers. -->
"""

SWEEPS = """# Sweep files

A sweep is one YAML file, validated like [scenario files](scenarios.md): it names a scenario, the factors to vary, and
the design that selects settings. Every combination of setting, assignor and seed is a run.
`assignor-sim sweep FILE --out DIR` executes them; [how to](../how-to/sweep-settings.md).

```yaml
scenario: order_processing            # a file beside this one, or a shipped scenario
factors:
  - {name: standbys, path: application.configs.num.standby.replicas, values: [0, 1, 2]}
  - {name: restore, path: "clients[0].restore", between: [20, 200], scale: log, steps: 4, unit: MB/s}
seeds: 10                             # 1 to 10
```

<!-- Made by `python -m tools.reference_pages` from the models in scenarios/sweeps/document.py. -->
"""

STREAMS_GROUPS = """# Configs of streams groups

Brokers define these configs for groups of the streams protocol (KIP-1071). `group.streams.…` holds for all groups,
under `cluster.configs` of a scenario. `streams.…` overrides it for a group, under `application.group_configs`; in a
cluster, `kafka-configs.sh --entity-type groups` sets it. The number in brackets is the first release of Kafka with the
key. If `cluster.kafka` states an earlier one, the key is an error; by default, brokers are those of the newest release.

Only another value than the default causes a warning. An override must be within the brokers' minimum and maximum.
Kafka's documentation omits *internal* configs. A streams group ignores `session.timeout.ms` and
`heartbeat.interval.ms` of `application.configs`.

`python -m tools.kafka_group_oracle configs --kafka 4.4.0` compares this table with the classes of a release; the test
suite compares it with the recorded definitions of Kafka 4.2.0, 4.3.1 and 4.4.0.

<!-- Made by `python -m tools.reference_pages` from scenarios/language/streams_group_configs.py. -->

"""

AGGREGATES = """# Tables of an aggregate

`assignor-sim aggregate DIR…` writes each table as a folder with one Parquet file, next to `summary.json`: into
`DIR/aggregate`, or the folder of `--out`, which is required for several sweeps. pandas, DuckDB and Spark can read them
directly. The same runs give the same bytes, however they are distributed over files and machines.

A *cell* is an assignor in a setting of a sweep; its runs differ only by seed. Metrics are those of `assignor-sim run`.
[Reading a sweep](../explanation/reading-a-sweep.md) explains each figure. Later versions may add columns; a column's
name and meaning do not change.

`summary.json` contains the main results: `sweeps` (factors, and the numbers of runs by outcome), `scenarios` (for each
its objectives, the Pareto front up to 200 cells, and the best cell of each objective with its interval),
`against_baseline` (the number of settings with significant differences to the baseline), `sensitivity` (up to three
factors per metric) and `left_out` (runs and metrics that are excluded, with the reason).

<!-- Made by `python -m tools.reference_pages` from the schemas in reports/analysis/sweeps/tables.py. -->
"""

INGESTED = """# Ingested tables

`assignor-sim ingest … --out DIR` writes each table as a folder of Parquet files, `DIR/NAME/`, next to
`DIR/manifest.json` with their origin (sources, mapping, versions, command, numbers of rows read, ignored and
malformed). A table without a source is omitted. pandas, DuckDB and Spark can read them directly. Rows are sorted by
their first columns.

<!-- Made by `python -m tools.reference_pages` from the columns in pipeline/ingest/tables.py. -->
"""

PLANS = """# Tables of a plan folder

`assignor-sim plan … --out DIR` writes each table as `DIR/NAME.parquet`, next to `DIR/manifest.json` with the
[figures](plan-criteria.md) of each strategy, the request, versions and the command. pandas, DuckDB and Spark can read
them directly. Later versions may add columns; a column's name and meaning do not change.

<!-- Made by `python -m tools.reference_pages` from the schemas in reports/analysis/plans/tables.py. -->
"""

SWEEP_SECTIONS = {"FactorEntry": "factors[]", "DesignEntry": "design"}

PLAIN_TYPES = {"integer": "number", "number": "number", "boolean": "true or false"}

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
    "TimesEntry": "application.times",
    "SubtopologyEntry": "application.subtopologies[]",
    "RepartitionEntry": "application.subtopologies[].repartition[]",
    "StoreEntry": "application.subtopologies[].stores[], application.stores[]",
    "StreamsConfigs": "application.configs",
    "GroupOverrides": "application.group_configs",
    "ApplicationFiles": "application.from",
    "ClientEntry": "clients[]",
    "TasksEntry": "clients[].tasks",
    "HostEntry": "hosts[]",
    "TrafficSection": "traffic",
    "EventEntry": "events[]",
    "StaggeredClientsEvent": "events[].join, scale_out",
    "LeaveEvent": "events[].leave, scale_in",
    "CrashEvent": "events[].crash",
    "RollingBounceEvent": "events[].rolling_bounce",
    "RollingUpdateEvent": "events[].rolling_update",
    "NodeDrainEvent": "events[].node_drain",
    "SpotInterruptionEvent": "events[].spot_interruption",
    "RackOutageEvent": "events[].rack_outage",
    "BrokerLossEvent": "events[].broker_loss",
    "BrokerBounceEvent": "events[].broker_bounce",
    "ReplicaMoveEvent": "events[].replica_move",
    "ReassignmentEvent": "events[].reassignment",
    "ConfigChangeEvent": "events[].config_change",
    "TrafficEvent": "events[].traffic",
    "ChurnEvent": "events[].churn",
    "AutoscaleEvent": "events[].autoscale",
    "ReplaceThreadEvent": "events[].replace_thread",
    "StreamThreadsEvent": "events[].stream_threads",
    "AssignorSettings": "assignors[]",
    "AssignorEntryConfigs": "assignors[].configs",
    "AssignorConfigs": "events[].config_change.configs, events[].rolling_bounce.configs",
    "PriceEntry": "price",
}


def pages() -> dict[Path, str]:
    """Return the text of each page, by path."""
    return {
        REFERENCE / "tables.md": _tables(),
        REFERENCE / "scenarios.md": _scenarios(),
        REFERENCE / "sweep-files.md": _sweeps(),
        REFERENCE / "aggregate-tables.md": _aggregates(),
        REFERENCE / "plan-tables.md": PLANS + "".join(_table(name, schema) for name, schema in PLAN_SCHEMAS.items()),
        REFERENCE / "streams-group-configs.md": STREAMS_GROUPS + _streams_group_configs(),
        REFERENCE / "ingested-tables.md": INGESTED + "".join(map(_ingested, INGESTED_TABLES)),
    }


def _streams_group_configs() -> str:
    rows = []
    for config in STREAMS_GROUP_CONFIGS:
        keys = [f"`{key}` ({'.'.join(map(str, since))})" for key, since in config.first_releases()]
        default = "none" if config.default is None else f"`{config.default}`" if config.default else "empty"
        internal = ", internal" if config.is_internal else ""
        effect = "as in Kafka" if config.effect is Effect.MODELED else config.remark
        warns = "; a warning" if config.effect is Effect.WARNING else ""
        rows.append(f"| {'<br>'.join(keys)} | {default} | {config.valid}{internal} | {effect}{warns} |")
    return "\n".join(["| keys (first release) | default | valid | in a simulation |", "|---|---|---|---|", *rows, ""])


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
        raise LookupError(f"SECTIONS lacks {', '.join(sorted(missing))}")
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
        yield PLAIN_TYPES.get(field.get("type", ""), "anything")


def _default(field: dict[str, Any]) -> str:
    default = field.get("default")
    return "" if default is None or default in ([], {}) else f"`{json.dumps(default)}`"


def _meaning(field: dict[str, Any]) -> str:
    return str(field.get("description", "")).replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
