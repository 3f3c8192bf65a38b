"""The pages of docs/reference on scenario files, from the models that scenarios/schema.py gathers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from scenarios.schema import format_json_schema
from tools.scenario_examples import BASE, EXAMPLES

MADE = "\n<!-- Made by `python -m tools.reference_pages` from the models that scenarios/schema.py gathers. -->\n"

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
"""


PAGES: Mapping[str, tuple[str, str]] = {
    "cluster": ("The cluster", "Brokers, racks, topics and broker configs, or the output of Kafka's tools."),
    "application": (
        "The application",
        "Subtopologies, stores and configs, or the output of `Topology.describe()`.",
    ),
    "clients": (
        "Clients and hosts",
        "The processes: racks, threads, and how fast they restore and process.",
    ),
    "consumers": (
        "Consumer groups",
        "Groups of plain consumers, beside an application or alone. "
        "[How to simulate consumer groups](../how-to/simulate-consumer-groups.md) shows them.",
    ),
    "events": (
        "Events",
        "What happens during the run: an entry of `events` has the time `at` and one kind of event. "
        "[The events cookbook](../how-to/events-cookbook.md) shows what each does to an application.",
    ),
    "problem": (
        "A known problem",
        "What a scenario reproduces and what fixes it; [known problems](../known-problems/README.md) are made from it.",
    ),
    "expect": (
        "Expectations",
        "What runs must meet; `run`, `verify` and the pytest plug-in check it. "
        "[How to keep regression tests](../how-to/keep-regression-tests.md) shows the commands, "
        "[the metrics](metrics.md) have a table.",
    ),
    "other-traffic": (
        "Other producers and groups",
        "What else crosses racks on the cluster; [the bill](../how-to/check-the-bill.md) includes it.",
    ),
    "assignors": ("Assignors, traffic and prices", "What is compared, under which traffic, and what a byte costs."),
}
"""Title and introduction of each page, by the end of its file name."""

SECTIONS = {"FactorEntry": "factors[]", "DesignEntry": "design"}

PLAIN_TYPES = {"integer": "number", "number": "number", "boolean": "true or false"}

SECTIONS = {
    "ProblemEntry": "problem",
    "FixEntry": "problem.fixes[]",
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
    "PodsEntry": "clients[].pods",
    "TasksEntry": "clients[].tasks",
    "HostEntry": "hosts[]",
    "ConsumerGroupEntry": "consumers[]",
    "ConsumerConfigs": "consumers[].configs",
    "ConsumerClientEntry": "consumers[].clients[]",
    "ConsumerClientConfigs": "consumers[].clients[].configs",
    "ConsumerAssignorSettings": "consumers[].assignors[]",
    "TrafficSection": "traffic",
    "OtherTrafficSection": "other_traffic",
    "OtherProducerEntry": "other_traffic.producers[]",
    "ProducerConfigs": "other_traffic.producers[].configs",
    "OtherGroupEntry": "other_traffic.groups[]",
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
    "UpgradeEvent": "events[].upgrade",
    "ReplicaMoveEvent": "events[].replica_move",
    "PartitionsAddedEvent": "events[].partitions_added",
    "ReassignmentEvent": "events[].reassignment",
    "ConfigChangeEvent": "events[].config_change",
    "TrafficEvent": "events[].traffic",
    "ChurnEvent": "events[].churn",
    "AutoscaleEvent": "events[].autoscale",
    "ReplaceThreadEvent": "events[].replace_thread",
    "StreamThreadsEvent": "events[].stream_threads",
    "AssignorSettings": "assignors[]",
    "AssignorReleases": "assignors[].kafka",
    "AssignorEntryConfigs": "assignors[].configs",
    "AssignorConfigs": "events[].config_change.configs",
    "RolloutConfigs": "events[].rolling_bounce.configs",
    "PriceEntry": "price",
    "PairPriceEntry": "price.pairs[]",
    "ExpectEntry": "expect, assignors[].expect",
}


def scenario_pages() -> dict[str, str]:
    """Return the text of each page by file name; raise LookupError if `SECTIONS` lacks a model."""
    schema = json.loads(format_json_schema())
    models = schema["$defs"]
    missing = set(models) - set(SECTIONS)
    if missing:
        raise LookupError(f"SECTIONS lacks {', '.join(sorted(missing))}")
    listed = "".join(f"- [{title}](scenario-{name}.md): {about}\n" for name, (title, about) in PAGES.items())
    whole = f"\n## An example\n\n```yaml\n{BASE.read_text(encoding='utf-8')}```\n"
    pages = {"scenarios.md": SCENARIOS + MADE + f"\n## Sections\n\n{listed}" + whole + section("The file", schema)}
    for name, (title, about) in PAGES.items():
        sections = [
            section(f"`{path}`", models[model], EXAMPLES.get(model))
            for model, path in SECTIONS.items()
            if _page(path) == name
        ]
        pages[f"scenario-{name}.md"] = f"# {title}\n\n{about}\n{MADE}{''.join(sections)}"
    return pages


def _page(path: str) -> str:
    """Return the page of a section."""
    first = path.partition(",")[0].partition(".")[0].removesuffix("[]")
    return {"other_traffic": "other-traffic", "hosts": "clients", "traffic": "assignors", "price": "assignors"}.get(
        first, first
    )


def section(title: str, model: dict[str, Any], example: str | None = None) -> str:
    """Return a section with a table of the model's keys, and an example if there is one."""
    required = model.get("required", ())
    rows = [
        f"| `{key}` | {_kind(field)} | {'required' if key in required else _default(field)} | {_meaning(field)} |"
        for key, field in model["properties"].items()
    ]
    if "propertyNames" in model:
        kind = _kind(model["additionalProperties"])
        rows.append(f"| a metric, as `worst_downtime_ms` | {kind} |  | A condition, or several that must all be met. |")
    head = ["| key | value | default | meaning |", "|---|---|---|---|"]
    shown = ["<!-- changes: shop.yaml -->", "```yaml", *example.splitlines(), "```", ""] if example else []
    return "\n".join([f"\n## {title}\n", model.get("description", ""), "", *shown, *head, *rows, ""])


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
