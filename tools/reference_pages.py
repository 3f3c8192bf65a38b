"""Write the pages of docs/reference that are generated from the code: `python -m tools.reference_pages`."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from pipeline.ingest.tables import TABLES as INGESTED_TABLES
from pipeline.ingest.tables import Table
from reports.analysis.metrics import ALL_METRICS
from reports.analysis.plans.results import PLAN_SCHEMAS
from reports.analysis.sweeps.tables import AGGREGATE_SCHEMAS
from scenarios.language.streams_group_configs import STREAMS_GROUP_CONFIGS, Effect
from scenarios.sweeps.design import SweepDocument
from simulator.results.tables import SCHEMAS
from tools.api_reference import api_page
from tools.review_suite import review_suite_page
from tools.scenario_reference import scenario_pages, section
from tools.unmodeled_configs import unmodeled_configs_page
from tools.watch_reference import watch_page

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

<!-- Made by `python -m tools.reference_pages` from the models in scenarios/sweeps/design.py. -->
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

If a sweep [stopped seeds](../how-to/sweep-settings.md#stop-seeds-when-the-difference-is-decided), its entry in `sweeps`
has `stopped`: the metrics, the number of pairs, of cells with fewer seeds and of runs that were not needed, the stopped
pairs of each look, and `shared_seeds`. Then `front`, `sensitivity`, `levels` and `pairs` are over the first
`shared_seeds` seeds, which all cells have; `cells` is over all seeds of the cell, and `differences` over those that it
shares with the baseline.

<!-- Made by `python -m tools.reference_pages` from the schemas in reports/analysis/sweeps/tables.py. -->
"""

INGESTED = """# Ingested tables

`assignor-sim ingest … --out DIR` writes each table as a folder of Parquet files, `DIR/NAME/`, next to
`DIR/manifest.json` with their origin (sources, mapping, versions, command, numbers of rows read, ignored and
malformed). A table without a source is omitted. pandas, DuckDB and Spark can read them directly. Rows are sorted by
their first columns. With `--add`, `DIR/readings/` contains what later ingests need of the files; its format may change
with each release.

<!-- Made by `python -m tools.reference_pages` from the columns in pipeline/ingest/tables.py. -->
"""

PLANS = """# Tables of a plan folder

`assignor-sim plan … --out DIR` writes each table as `DIR/NAME.parquet`, next to `DIR/manifest.json` with the
[figures](plan-criteria.md) of each strategy, the request, versions and the command. pandas, DuckDB and Spark can read
them directly. Later versions may add columns; a column's name and meaning do not change.

<!-- Made by `python -m tools.reference_pages` from the schemas in reports/analysis/plans/results.py. -->
"""

METRIC_PAGE = """# Metrics

The figures of a run. Options such as `--columns`, [expectations](scenario-expect.md) and results use the key;
terminals and pages show the title. Comparisons show `not_converged` only if `--columns` names it.
`assignor-sim list metrics` prints this list.

<!-- Made by `python -m tools.reference_pages` from reports/analysis/metrics.py. -->
"""

SWEEP_SECTIONS = {"FactorEntry": "factors[]", "DesignEntry": "design"}


def pages() -> dict[Path, str]:
    """Return the text of each page, by path."""
    return {
        REFERENCE / "api.md": api_page(),
        REFERENCE / "tables.md": _tables(),
        **{REFERENCE / name: text for name, text in scenario_pages().items()},
        REFERENCE / "metrics.md": METRIC_PAGE + _metrics(),
        REFERENCE / "review-suite.md": review_suite_page(),
        REFERENCE / "sweep-files.md": _sweeps(),
        REFERENCE / "aggregate-tables.md": _aggregates(),
        REFERENCE / "plan-tables.md": PLANS + "".join(_table(name, schema) for name, schema in PLAN_SCHEMAS.items()),
        REFERENCE / "streams-group-configs.md": STREAMS_GROUPS + _streams_group_configs(),
        REFERENCE / "unmodeled-configs.md": unmodeled_configs_page(),
        REFERENCE / "watch.md": watch_page(),
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


def _metrics() -> str:
    text = ""
    for group in dict.fromkeys(metric.group for metric in ALL_METRICS.values()):
        rows = [
            f"| `{metric.name}` | {metric.title} | {metric.unit.value} | {metric.meaning} |"
            for metric in ALL_METRICS.values()
            if metric.group == group
        ]
        text += "\n".join([f"\n## {group}\n", "| key | title | value | meaning |", "|---|---|---|---|", *rows, ""])
    return text


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


def _sweeps() -> str:
    schema = SweepDocument.model_json_schema(by_alias=True)
    sections = [section("The file", schema)]
    sections += [section(f"`{path}`", schema["$defs"][name]) for name, path in SWEEP_SECTIONS.items()]
    return SWEEPS + "".join(sections)


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
