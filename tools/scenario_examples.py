"""An example of each section of a scenario, as YAML that replaces top-level keys of docs/examples/shop.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

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
    "StaggeredClientsEvent": "events:\n  - {at: 30m, scale_out: {clients: new, every: 1m}}\n",
    "LeaveEvent": "events:\n  - {at: 30m, scale_in: {clients: [app-4, app-5], every: 5m, leaves_group: true}}\n",
    "CrashEvent": "events:\n  - {at: 30m, crash: {clients: app, pick: 1, down: 10m}}\n",
    "RollingBounceEvent": "events:\n  - {at: 30m, rolling_bounce: {clients: app, down: 30s, pause: 2m}}\n",
    "RollingUpdateEvent": """\
events:
  - at: 30m
    rolling_update: {clients: app, kind: stateful_set, volume: zonal, start_after: 15s, ready_after: 1m}
""",
    "NodeDrainEvent": "events:\n  - {at: 30m, node_drain: {clients: [app-0, app-3], max_unavailable: 1, close: 8s}}\n",
    "SpotInterruptionEvent": "events:\n  - {at: 30m, spot_interruption: {clients: app-0, notice: 2m, replace: 3m}}\n",
    "RackOutageEvent": "events:\n  - {at: 30m, rack_outage: {rack: az1, down: 30m}}\n",
    "BrokerLossEvent": "events:\n  - {at: 30m, broker_loss: {brokers: [0], down: 20m}}\n",
    "BrokerBounceEvent": "events:\n  - {at: 30m, broker_bounce: {brokers: [0, 1, 2, 3, 4, 5], down: 1m, pause: 2m}}\n",
    "UpgradeEvent": """\
cluster:
  kafka: "4.3"
  brokers: {count: 6, racks: [az1, az2, az3]}
  topics:
    - {name: orders, partitions: 24, replication_factor: 2, bytes_per_s: 40 MB/s}
events:
  - {at: 30m, upgrade: {brokers: "4.4", down: 1m, pause: 2m}}
""",
    "ReplicaMoveEvent": "events:\n  - {at: 30m, replica_move: {topic: orders, partition: 0, replicas: [4, 5]}}\n",
    "PartitionsAddedEvent": """\
application:                                   # without stores: changelogs do not get partitions
  id: shop
  subtopologies:
    - sources: [orders]
events:
  - {at: 30m, partitions_added: {topic: orders, partitions: 36}}
""",
    "ReassignmentEvent": """\
events:
  - at: 30m
    reassignment: {strategy: exact_flow, remove_brokers: [5], throttle: 50 MB/s}
""",
    "ConfigChangeEvent": """\
events:
  - {at: 30m, config_change: {configs: {rack.aware.assignment.strategy: min_traffic}}}
""",
    "TrafficEvent": "events:\n  - {at: 30m, traffic: {factor: 2}}\n",
    "ChurnEvent": "events:\n  - {at: 30m, churn: {clients: app, crashes: 1/h, down: 5m, until: 6h}}\n",
    "AutoscaleEvent": """\
traffic:
  hourly: [0.5, 0.5, 0.5, 0.5, 0.8, 1.2, 1.2, 1.2, 1.2, 0.8, 0.5, 0.5,
           0.5, 0.5, 0.5, 0.5, 0.8, 1.2, 1.2, 1.2, 1.2, 0.8, 0.5, 0.5]
events:
  - {at: 30m, autoscale: {clients: [app, new], bytes_per_s: 7 MB/s, min: 4}}
""",
    "ReplaceThreadEvent": "events:\n  - {at: 30m, replace_thread: {clients: app-0}}\n",
    "StreamThreadsEvent": "events:\n  - {at: 30m, stream_threads: {clients: app, threads: 6}}\n",
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
