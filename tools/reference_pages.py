"""Write the pages of docs/reference that are generated from the code: `python -m tools.reference_pages`."""

from __future__ import annotations

import inspect
import re
from collections import Counter, defaultdict
from pathlib import Path

import pyarrow as pa

import assignor_sim as sim
from pipeline.ingest.tables import TABLES as INGESTED_TABLES
from pipeline.ingest.tables import Table
from reports.analysis.metrics import ALL_METRICS, COMPARABLE_METRICS
from reports.analysis.plans.results import PLAN_SCHEMAS
from reports.analysis.review.outcomes import FAILURES, INVARIANTS
from reports.analysis.review.report import REVIEW_METRICS
from reports.analysis.sweeps.tables import AGGREGATE_SCHEMAS
from scenarios.language.streams_group_configs import STREAMS_GROUP_CONFIGS, Effect
from scenarios.language.unmodeled_configs import (
    BROKER_CONFIGS_OUTSIDE_THE_MODEL,
    CONSUMER_CONFIGS_OUTSIDE_THE_MODEL,
    GROUP_CONFIGS_OUTSIDE_THE_MODEL,
    STREAMS_CONFIGS_OUTSIDE_THE_MODEL,
    ConfigsOutsideTheModel,
)
from scenarios.suite.scale_shapes import SHAPES
from scenarios.suite.standard import FAMILY_DESCRIPTIONS, OWN, VERSION, standard_suite
from scenarios.sweeps.design import SweepDocument
from scenarios.watch.watch_events import ALARMS, EventKind
from scenarios.watch.watch_metrics import METRICS, WatchMetric
from simulator.results.tables import SCHEMAS
from tools.scenario_reference import scenario_pages, section

WATCH = """# Events and metrics of a watch

[`assignor-sim watch`](../how-to/watch-a-group.md) reports events, and serves metrics with `--metrics`. Later versions
may add events, details, metrics and labels; the names and meanings here do not change.

<!-- Made by `python -m tools.reference_pages` from scenarios/watch. -->

## Events

An event is a JSON object with `time` (UTC), `group`, `event`, `level`, `message` and `details`. The level is `info`,
`alarm` when an alarm is raised, or `resolved`. Times in `details` (`_ms`) are milliseconds, points in time since 1970.
In a consumer group, a task is a partition (`orders-3`), and members take the place of processes; `warmups`,
`probing_stuck`, `followup_overdue` and `assignment_error` occur in Kafka Streams only.

"""

WATCH_METRICS = """
## Metrics

Each metric has the label `group`. The number of label values does not depend on the application. What only Kafka
Streams has is missing for consumer groups, not 0: the metrics below, the role `standby` and the alarms named above.

"""


def watch_page() -> str:
    """Return the page."""
    rows = [
        f"| `{kind}` | {'yes' if kind in ALARMS else ''} | {meaning} |"
        for kind, meaning in _meanings(EventKind).items()
    ]
    metrics = [_metric_row(metric) for metric in METRICS]
    return "\n".join(
        [
            WATCH + "| event | alarm | meaning |",
            "|---|---|---|",
            *rows,
            WATCH_METRICS + "| metric | type | labels | unit | meaning |",
            "|---|---|---|---|---|",
            *metrics,
            "",
        ]
    )


def _metric_row(metric: WatchMetric) -> str:
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    meaning = f"{metric.help} Kafka Streams only." if metric.streams_only else metric.help
    return f"| `{metric.full_name}` | {metric.kind} | {labels} | {metric.unit} | {meaning} |"


def _meanings(kinds: type[EventKind]) -> dict[EventKind, str]:
    """Return the sentence of the docstring for each kind, without `alarm: `."""
    section = inspect.cleandoc(kinds.__doc__ or "").partition("Attributes:\n")[2]
    entries = re.findall(r"^    (\w+): (.+)$", section, re.MULTILINE)
    meanings = {kinds[name]: text.removeprefix("alarm: ") for name, text in entries}
    return {kind: f"{meanings[kind][:1].upper()}{meanings[kind][1:]}" for kind in kinds}


_HEAD = f"""# The suite of reviews: {VERSION}

What [`assignor-sim review`](../how-to/review-an-assignor.md) runs. A case is a scenario and a seed. The random
scenarios and the large assignments never change within a version: they depend on the version, the seed of the suite
(`--seed`), their family and their number only, and a test compares their digests. The shipped scenarios
(`known_problems`) may change between releases of this project, and so may the model that simulates all cases, so
compare reviews of one release only. The cases of `--quick` are among those of the family.

<!-- Made by `python -m tools.reference_pages` from scenarios/suite and reports/analysis/review. -->

## Families
"""

_RANDOM = """
Random scenarios have 1 to 4 subtopologies of 1 to 12 partitions, 3 to 6 clients and 2 more that may join, 1 to 6
threads per client, 0 to 2 standbys, and 1 to 5 racks; replica placements and process ids follow from the seed of
the case.

## Large assignments
"""

_ORDER = """\
`order_independent` reorders what `all_tasks` and `kafka_streams_states` list, and nothing else. It can only fail for an
assignor in Python that reads them. Assignors that read columns, as those of this project do, cannot violate it. Nor can
assignors of brokers, whose members are in the order of a hash map, and assignors in Java, which get the columns.
"""


def review_suite_page() -> str:
    """Return the page."""
    counts = [Counter(case.family for case in standard_suite(quick=quick)) for quick in (False, True)]
    families = [
        f"| `{name}` | {text} | {counts[0][name]} | {counts[1][name]} |"
        for name, text in FAMILY_DESCRIPTIONS.items()
        if name != OWN
    ]
    total = f"| all | | {counts[0].total():,} | {counts[1].total():,} |"
    shapes = [
        f"| `{one.name}` | {one.tasks:,} | {one.clients:,} | {one.threads:,} | {one.standbys} | "
        f"{'yes' if one.in_quick else ''} |"
        for one in SHAPES
    ]
    invariants = [
        f"| `{name}` | {text} | {'3' if name in FAILURES else '1, if the baseline has no violation'} |"
        for name, text in INVARIANTS.items()
    ]
    metrics = [f"| `{key}` | {COMPARABLE_METRICS[key].title} |" for key in REVIEW_METRICS]
    return "\n".join(
        [
            _HEAD,
            "| family | what its cases have in common | cases | cases of `--quick` |\n|---|---|---|---|",
            *families,
            total,
            _RANDOM,
            "| shape | tasks | clients | threads per client | standbys | `--quick` |\n|---|---|---|---|---|---|",
            *shapes,
            "\nSource of the four shapes with a name: Kafka's `StreamsAssignmentScaleTest`.\n\n## Invariants\n",
            "They are checked on up to 12 states of each run and on 20 more states with other process ids. For the",
            "last three, up to 50 rebalances without any change follow: every copy has caught up, and",
            "`max.warmup.replicas` is the number of tasks.\n",
            _ORDER,
            "| invariant | what the assignor guarantees | exit code |\n|---|---|---|",
            *invariants,
            "\n## Metrics\n\nLower is better. [Definitions](metrics.md).\n",
            "| key | title |\n|---|---|",
            *metrics,
            "\n## Gap to the optimum\n",
            "By family: the KIP-925 cost of the assignment on which a run settles, above the lowest cost of all",
            "assignments that are at least as balanced, with the weights of the assignor; the number of cases in which",
            "the assignment is optimal; and the number in which an exact search proved the optimum. In the others, the",
            "cost is above a lower bound.",
            "",
        ]
    )


UNMODELED = """# Configs that are not modeled

A scenario may set the following configs of Kafka, and `import` writes them into scenarios. They are valid, but the
simulator does not read them: they have no effect. Those of the first table of each section matter in Kafka: a value
other than the default causes a warning, such as `shop.yaml:12: application.configs.max.task.idle.ms: valid, but not
modeled (no effect): …`. Those of the second table would not change what is simulated; they cause none.

`consumer.`, `main.consumer.` and `producer.` before a key make no difference. `consumer.session.timeout.ms`,
`consumer.heartbeat.interval.ms` and `consumer.max.poll.interval.ms`, also with `main.consumer.`, cause a warning: the
simulator reads these configs without a prefix only. `restore.consumer.`, `global.consumer.`, `admin.` and `topic.` are
accepted, too. A `*` is any of the names that Kafka's classes know (StreamsConfig, ConsumerConfig, ProducerConfig,
AdminClientConfig and TopicConfig of Kafka 3.8 to 4.3). Any other key is a mistake, which names the closest key.

A config that is overridden causes a warning that names what holds: by Kafka Streams (`enable.auto.commit`), by
`exactly_once_v2` (`isolation.level`), by a stronger prefix (`main.consumer.`, then `consumer.`), by the config that
replaces it (`cache.max.bytes.buffering`), or by the coordinator of a streams group (`session.timeout.ms`).

With `exactly_once_v2`, a `producer.transaction.timeout.ms` (10 s by default) below `commit.interval.ms` is a mistake,
because Kafka Streams refuses to start with it.

<!-- Made by `python -m tools.reference_pages` from scenarios/language/unmodeled_configs.py. -->
"""

SECTIONS = {
    "application.configs": STREAMS_CONFIGS_OUTSIDE_THE_MODEL,
    "cluster.configs": BROKER_CONFIGS_OUTSIDE_THE_MODEL,
    "application.group_configs": GROUP_CONFIGS_OUTSIDE_THE_MODEL,
    "consumers[].configs": CONSUMER_CONFIGS_OUTSIDE_THE_MODEL,
}


def unmodeled_configs_page() -> str:
    """Return the text of the page."""
    sections = (
        f"\n## `{name}`\n\n{_with_warning(outside)}\n\n{_without_effect(outside)}\n"
        for name, outside in SECTIONS.items()
    )
    return UNMODELED + "".join(sections)


def _with_warning(outside: ConfigsOutsideTheModel) -> str:
    by_effect: dict[str, list[str]] = defaultdict(list)
    for key, config in outside.unmodeled.items():
        default = "" if config.default is None else f" ({config.default.rpartition('.')[2] or 'empty'})"
        by_effect[config.effect].append(f"`{key}`{default}")
    rows = [f"| {', '.join(keys)} | {effect} |" for effect, keys in by_effect.items()]
    return "\n".join(["| config (default, without a warning) | in a simulation |", "|---|---|", *rows])


def _without_effect(outside: ConfigsOutsideTheModel) -> str:
    by_reason: dict[str, list[str]] = defaultdict(list)
    for key, reason in outside.without_effect.items():
        by_reason[reason].append(f"`{key}`")
    rows = [f"| {', '.join(keys)} | {reason} |" for reason, keys in by_reason.items()]
    return "\n".join(["| config, without a warning | reason |", "|---|---|", *rows])


HEAD = """# API reference

Every public name of `import assignor_sim as sim`, from its docstring: signature, parameters, result and errors.
[The Python API](python-api.md) has an overview with examples; [Python and
notebooks](../how-to/use-python-and-notebooks.md) a complete session.

<!-- Made by `python -m tools.reference_pages` from `assignor_sim.__all__`. -->
"""
GROUPS = {
    "Functions": "Simulate, compare, explain, plan and import.",
    "Results": "What the functions return.",
    "Task assignors": "Kafka's assignors and others, with their parameters; functions take instances or names.",
    "Interface of an assignor": "The state that an assignor gets, and the assignment that it returns (KIP-924).",
    "Errors": "What the functions raise for an invalid input.",
}


def api_page() -> str:
    """Return the page."""
    names: dict[str, list[str]] = defaultdict(list)
    for name in sorted(sim.__all__, key=str.lower):
        names[_group(getattr(sim, name))].append(name)
    sections = []
    for group, about in GROUPS.items():
        listed = [f"::: {getattr(sim, name).__module__}.{getattr(sim, name).__qualname__}\n" for name in names[group]]
        sections.append(f"\n## {group}\n\n{about}\n\n" + "\n".join(listed))
    return HEAD + "".join(sections)


def _group(item: object) -> str:
    module = getattr(item, "__module__", "")
    if inspect.isclass(item) and issubclass(item, Exception):
        return "Errors"
    if inspect.isfunction(item) and not module.startswith("assignors."):
        return "Functions"
    if module.startswith("assignors.tasks."):
        return "Task assignors"
    return "Interface of an assignor" if module.startswith("assignors.") else "Results"


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
