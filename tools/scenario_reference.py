"""The pages of docs/reference on scenario files, from the models that scenarios/schema.py gathers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from scenarios.events.event_entry import EVENTS
from scenarios.schema import format_json_schema

BASE = Path(__file__).parent.parent / "docs" / "examples" / "shop.yaml"

_CLUSTER = """\
cluster:
  brokers: {count: 6, racks: [az1, az2, az3]}
  configs:
    replica.selector.class: org.apache.kafka.common.replica.RackAwareReplicaSelector
  topics:
    - name: orders
      partitions: 24
      replication_factor: 2
      bytes_per_s: 40 MB/s
      size: 2 TB
      configs: {retention.ms: 1d, min.insync.replicas: 1}
"""

_APPLICATION = """\
application:
  id: shop
  configs: {num.standby.replicas: 1, max.warmup.replicas: 4}
  subtopologies:
    - sources: [orders]
      repartition: [{name: by-customer, bytes_per_s: 20 MB/s}]
    - sources: [by-customer]
      stores: [{name: totals, size: 20 GB, bytes_per_s: 5 MB/s, record_size: 200}]
"""

_STREAMS_GROUP = """\
application:
  id: shop
  configs: {group.protocol: streams}
  group_configs: {streams.session.timeout.ms: 60s}
  subtopologies:
    - sources: [orders]
      stores: [{name: totals, size: 20 GB, bytes_per_s: 5 MB/s}]
assignors: [streams_group_sticky]
"""

_CONSUMERS = """\
consumers:
  - group: billing
    topics: [orders]
    configs: {partition.assignment.strategy: cooperative-sticky}
    clients:
      - {name: billing, count: 6, racks: [az1, az2, az3], static_membership: true}
  - group: audit
    topics: [orders]
    configs: {group.protocol: consumer, group.remote.assignor: range}
    clients:
      - {name: audit, consumers: 4}
"""

_ASSIGNORS = """\
assignors:
  - {label: today, assignor: high_availability}
  - label: min_traffic
    assignor: high_availability
    configs: {rack.aware.assignment.strategy: min_traffic, max.warmup.replicas: 8}
  - {assignor: optimal, parameters: {slack: 1}}
"""

_RELEASES = """\
assignors:
  - {label: today, assignor: high_availability, kafka: 3.9}
  - label: new clients
    assignor: high_availability
    kafka: {brokers: 3.9, clients: 4.3}
  - label: streams group
    assignor: streams_group_sticky
    kafka: 4.3
    configs: {group.protocol: streams}
"""

EXAMPLES: Mapping[str, str] = {
    "ConsumerGroupEntry": _CONSUMERS,
    "ClusterSection": _CLUSTER,
    "BrokerEntry": """\
cluster:
  brokers:
    - {id: 1, rack: az1, capacity: 4 TB}
    - {id: 2, rack: az2, capacity: 4 TB}
    - {id: 3, rack: az3, capacity: 8 TB, restore: 100 MB/s}
  topics:
    - {name: orders, partitions: 24, replication_factor: 2, bytes_per_s: 40 MB/s}
""",
    "PartitionDefaults": """\
cluster:
  brokers: {count: 3, racks: [az1, az2, az3]}
  partition_defaults: {bytes_per_s: 1 MB/s, size: 10 GB, record_size: 500}
  topics:
    - {name: orders, partitions: 24, replication_factor: 2}
""",
    "ApplicationSection": _APPLICATION,
    "GroupOverrides": _STREAMS_GROUP,
    "TimesEntry": """\
application:
  id: shop
  times: {start: 20s, open_store: 100ms, uncertainty: 3}
  subtopologies:
    - sources: [orders]
      stores: [{name: totals, size: 20 GB, bytes_per_s: 5 MB/s}]
""",
    "ClientEntry": """\
clients:
  - {name: app, count: 6, racks: [az1, az2, az3], threads: 4, restore: 80 MB/s, tags: {zone: a}}
  - {name: new, count: 3, racks: [az1, az2, az3], threads: 4, starts: false}
""",
    "TrafficSection": """\
traffic:
  hourly: [0.5, 0.4, 0.3, 0.3, 0.3, 0.4, 0.6, 0.9, 1.2, 1.4, 1.5, 1.5,
           1.5, 1.5, 1.4, 1.4, 1.4, 1.5, 1.6, 1.6, 1.4, 1.1, 0.8, 0.6]
""",
    "OtherTrafficSection": """\
other_traffic:
  producers:
    - {name: checkout, racks: [az1, az2, az3]}
  groups:
    - {name: search, topics: [orders], racks: {az1: 2, az2: 1}}
""",
    "OtherProducerEntry": """\
other_traffic:
  producers:
    - {name: web, topics: [orders], share: 0.7, racks: [az1, az2], keyed: false, kafka: "4.4",
       configs: {partitioner.rack.aware: true, compression.type: zstd}}
    - {name: batch, topics: [orders], racks: [az3]}
""",
    "EventEntry": """\
events:
  - {at: 30m, scale_out: {clients: new}}
  - {at: 6h, rolling_bounce: {clients: app, down: 30s, pause: 2m}}
""",
    **{event.__name__: event.example for event in EVENTS.values()},
    "AssignorSettings": _ASSIGNORS,
    "AssignorReleases": _RELEASES,
    "ProblemEntry": """\
problem:
  title: A crash doubles the load of one client
  symptom: After a crash, one client lags behind.
  cause: Its tasks go to the client with the standbys.
  tickets: [KAFKA-19478]
  metrics: [max_processing_delay_ms]
  fixes:
    - {change: A second standby, set: {application.configs.num.standby.replicas: 2}}
""",
    "ExpectEntry": """\
assignors:
  - high_availability
  - assignor: optimal
    expect: {cross_rack_bytes_per_s: "<= -10%"}        # relative to high_availability, the first assignor
expect:
  worst_downtime_ms: "< 60s"
  rebalances_to_converge: ["> 0", "<= 8"]              # all conditions of a list must be met
""",
    "PriceEntry": """\
price:
  provider: aws
  usd_per_gb: 0.02                                     # of every pair of racks that is not listed
  pairs:
    - {from: az1, to: az2, both_ways: true, usd_per_gb: 0.01}
    - {from: [az1, az2], to: az3, usd_per_gb: 0.02, received_usd_per_gb: 0}    # to another region: the sender pays
""",
}
"""Examples by the name of the section's model."""


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
    **{
        event.__name__: f"events[].{', '.join(kind for kind in EVENTS if EVENTS[kind] is event)}"
        for event in EVENTS.values()
    },
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
