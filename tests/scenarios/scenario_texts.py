"""Scenario texts for tests, and helpers to change and load them."""

from __future__ import annotations

from scenarios.load import Scenario, ScenarioError, loads

SMALL = """\
name: small
cluster:
  brokers: {count: 3, racks: [az1, az2, az3]}
  configs: {default.replication.factor: 2}
  topics:
    - {name: orders, partitions: 4, bytes_per_s: 4 MB/s, size: 8 GB}
    - {name: payments, partitions: 4}
application:
  id: shop
  configs: {num.standby.replicas: 1}
  subtopologies:
    - sources: [orders]
      repartition: [{name: by-customer, bytes_per_s: 2 MB/s}]
    - sources: [by-customer, payments]
      stores: [{name: totals, size: 1 GB}]
clients:
  - {name: app, count: 3, racks: [az1, az2, az3], threads: 2}
  - {name: late, rack: az1, starts: false}
events:
  - {at: 30m, scale_out: {clients: late}}
assignors: [high_availability]
duration: 2h
"""

FULL = """\
name: full
description: Every kind of event, and every key that is not about files.
problem:
  title: too many moves
  symptom: Tasks move at each restart.
  cause: Clients leave the group.
  tickets: [KAFKA-1]
  shown_by: broker
  metrics: [active_moves]
  fixes:
    - change: Stay in the group.
      set: {application.configs.internal.leave.group.on.close: "false"}
    - change: Use another assignor.
  note: Crashes are noticed later.
cluster:
  brokers: {count: 3, racks: [az1, az2, az3], first_id: 0, restore: 200 MB/s, capacity: 4 TB, throughput: 100 MB/s,
    replication: 1 GB/s}
  configs:
    default.replication.factor: 2
    num.partitions: 4
    replica.selector.class: org.apache.kafka.common.replica.RackAwareReplicaSelector
    group.initial.rebalance.delay.ms: 1s
    group.streams.initial.rebalance.delay.ms: 1s
    group.streams.heartbeat.interval.ms: 6s
    group.streams.min.heartbeat.interval.ms: 4s
    group.streams.max.heartbeat.interval.ms: 10s
    group.streams.assignment.interval.ms: 2s
    group.streams.min.assignment.interval.ms: 1s
    group.streams.max.assignment.interval.ms: 3s
    group.streams.task.offset.interval.ms: 30s
    group.streams.min.task.offset.interval.ms: 10s
    group.streams.session.timeout.ms: 30s
    group.streams.min.session.timeout.ms: 20s
    group.streams.max.session.timeout.ms: 40s
    min.insync.replicas: 1
    unclean.leader.election.enable: false
  partition_defaults: {bytes_per_s: 1 kB/s, size: 1 MB, record_size: 500}
  topics:
    - {name: orders, partitions: 4, replication_factor: 2, bytes_per_s: 4 MB/s, size: 8 GB, record_size: 1 kB}
    - {name: payments, replicas: [[0, 1], [1, 2], [2, 0], [0, 2]]}
    - name: results
      configs:
        cleanup.policy: "compact,delete"
        retention.ms: 7d
        retention.bytes: 5 GB
        min.insync.replicas: 2
        unclean.leader.election.enable: true
application:
  id: shop
  starts: warm
  group_configs:
    streams.session.timeout.ms: 35s
    streams.heartbeat.interval.ms: 5s
    streams.assignment.interval.ms: 1s
    streams.task.offset.interval.ms: 20s
    streams.initial.rebalance.delay.ms: 2s
  rejoins_when_brokers_bounce: true
  leader_speed: 2
  times: {start: 2s, open_store: 50 ms, restore_start: 200 ms, rejoin: 100 ms, uncertainty: 3}
  kafka: 4.2.1
  configs:
    acceptable.recovery.lag: 5000
    max.warmup.replicas: 3
    num.standby.replicas: 1
    producer.acks: all
    topic.min.insync.replicas: 1
    topic.unclean.leader.election.enable: false
    probing.rebalance.interval.ms: 5m
    rack.aware.assignment.tags: [zone]
    rack.aware.assignment.strategy: min_traffic
    rack.aware.assignment.traffic_cost: 10
    rack.aware.assignment.non_overlap_cost: 1
    group.protocol: classic
    num.stream.threads: 2
    replication.factor: 2
    session.timeout.ms: 20s
    heartbeat.interval.ms: 2s
    max.poll.interval.ms: 2m
    internal.leave.group.on.close: true
    state.cleanup.delay.ms: 5m
    processing.guarantee: exactly_once_v2
    commit.interval.ms: 200ms
    enable.transactional.statestores: true
    statestore.uncommitted.max.bytes: 32 MiB
  subtopologies:
    - id: 0
      sources: [orders]
      repartition: [{name: by-customer, partitions: 4, bytes_per_s: 2 MB/s, size: 1 MB, record_size: 100}]
    - sources: [by-customer, payments]
      copartitioned: [[by-customer, payments]]
      writes: [results]
      stores:
        - name: totals
          logged: true
          persistent: true
          write_buffer: 64 MB
          size: 1 GB
          bytes_per_s: 1 MB/s
          record_size: 100
        - {name: table, changelog: payments}
clients:
  - {name: app, count: 3, racks: [az1, az2, az3], client_rack: false, threads: 2, tags: {zone: a}, restore: 80 MB/s}
  - {name: late, rack: az1, tags: {zone: b}, starts: false, static_membership: true, reports: stale}
  - name: one
    process_id: 80000000-0000-0000-0000-000000000001
    tags: {zone: c}
    records_per_s: 20000
    host: shared
  - {name: pool, count: 4, racks: [az1, az2], hosts: [node], tags: {zone: d}}
hosts:
  - {name: shared, restore: 100 MB/s}
  - {name: node, count: 2, restore: 100 MB/s}
events:
  - {at: 30m, scale_out: {clients: late, every: 1m}}
  - {at: 1h, rolling_bounce: {clients: app, order: shuffled, configs: {max.warmup.replicas: 4}, client_rack: true}}
  - {at: 2h, rolling_bounce: {clients: [app-1, pool], down: 1m, pause: 2m, disk: lost}}
  - {at: 3h, crash: {clients: app, pick: 1, down: 10m, disk: lost}}
  - {at: 4h, rack_outage: {rack: az2, down: 30m, disk: unflushed_lost}}
  - {at: 5h, broker_loss: {brokers: [2, 0], down: 20m}}
  - {at: 6h, broker_bounce: {brokers: [0, 1], down: 1m, pause: 1m}}
  - {at: 7h, replica_move: {topic: shop-totals-changelog, partition: 3, replicas: [2, 1]}}
  - at: 7h
    reassignment:
      strategy: exact_flow
      parameters: {time_limit_s: 5}
      topics: [orders, payments]
      remove_brokers: [1]
      replication_factor: 2
      rack_aware: true
      throttle: 10 MB/s
      batch: 2
      elects_leaders: at_end
  - {at: 8h, config_change: {configs: {num.standby.replicas: 2}}}
  - {at: 9h, leave: {clients: late}}
  - {at: 10h, join: {clients: [late, late]}}
  - {at: 11h, scale_in: {clients: [late], leaves_group: true, close: 5s, grace: 30s}}
  - {at: 12h, traffic: {factor: 2.5}}
  - at: 13h
    rolling_update:
      clients: one
      kind: deployment
      volume: none
      max_surge: 1
      max_unavailable: 25%
      replacements: [late]
      pre_stop: 5s
      close: 8s
      grace: 1m
      start_after: 5s
      ready_after: 1m
      leaves_group: true
  - {at: 14h, node_drain: {clients: app, max_unavailable: 1, volume: none, start_after: 1s, ready_after: 0}}
  - {at: 15h, node_drain: {rack: az1, down: 10m, pre_stop: 0, close: 1s, grace: 30s, leaves_group: false}}
  - at: 16h
    spot_interruption:
      clients: late
      notice: 30s
      reacts: true
      close: 2s
      grace: 20s
      pre_stop: 1s
      leaves_group: true
      replace: 2m
      replacements: one
      volume: none
  - {at: 17h, upgrade: {clients: app, to: 4.2.2, order: by_rack, down: 1m, pause: 1m, close: 1s, grace: 30s}}
  - {at: 0s, churn: {clients: app, crashes: 2/h, down: 10m, disk: lost, until: 20h}}
  - {at: 0s, churn: {clients: [one, late], joins: 1/d, crashes: 1/d}}
  - {at: 0s, autoscale: {clients: pool, bytes_per_s: 1 MB/s, every: 30m, min: 1, max: 3}}
  - {at: 1h, replace_thread: {clients: one}}
  - {at: 1h, stream_threads: {clients: one, threads: 3}}
traffic: {hourly: [1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 0.5, 0.5, 0.5]}
assignors:
  - high_availability
  - label: broker
    assignor: streams_group_sticky
    parameters: {}
    configs: {group.protocol: streams}
    expect: {active_moves: "<= +50%"}
duration: 24h
seeds: [1, 2]
price:
  provider: aws
  usd_per_gb: 0.015
  received_usd_per_gb: 0.005
  pairs: [{from: [az1, az2], to: az3, both_ways: true, usd_per_gb: 0.02, received_usd_per_gb: 0}]
other_traffic:
  compression_ratios: {lz4: 2, zstd: 4.5}
  producers:
    - name: web
      topics: [orders]
      share: 0.5
      racks: {az1: 2, az2: 1}
      keyed: false
      kafka: "4.4"
      configs: {partitioner.rack.aware: true, partitioner.ignore.keys: false, compression.type: lz4}
    - {name: batch, racks: [az3]}
  groups:
    - {name: search, topics: [orders, payments], racks: [az1, az3], client_rack: false, read_share: 1.5}
expect:
  against: high_availability
  worst_downtime_ms: "< 6h"
  cross_rack_usd: ["<= $500", "> 0"]
  cross_rack_bytes: "<= +50%"
"""

RUNNING = """\
name: running
cluster:
  brokers: {count: 3, racks: [az1, az2, az3]}
  topics:
    - {name: orders, partitions: 4, bytes_per_s: 4 MB/s}
    - {name: payments, replicas: [[0, 1], [1, 2]], leaders: [1, none]}
application:
  id: shop
  starts: running
  next_rebalance: 8m
  subtopologies:
    - sources: [orders]
      stores: [{name: totals, size: 4 MB, record_size: 100}]
    - sources: [payments]
clients:
  - {name: one, threads: 2, tasks: {active: [[0_0], [1_1]], standby: [[0_3]], lags: {0_3: 40}}}
  - {name: two, threads: 2, tasks: {active: [0_1, 0_2, 0_3, 1_0], standby: [0_0], lags_when_opened: {0_1: 7}}}
  - {name: three}
"""


def load_text(text: str, *overrides: tuple[str, str]) -> Scenario:
    """Load a scenario that must be valid."""
    return loads(text, "s.yaml", overrides)


def mistakes_in(text: str, *overrides: tuple[str, str]) -> list[str]:
    """Return the mistakes in a scenario text, one line each; empty if it is valid."""
    try:
        loads(text, "s.yaml", overrides)
    except ScenarioError as error:
        return str(error).splitlines()
    return []


def replace_in_small(before: str, after: str) -> str:
    """Return the small scenario with a passage replaced, which must occur exactly once."""
    assert SMALL.count(before) == 1, before
    return SMALL.replace(before, after)


def with_events(*entries: str) -> str:
    """Return the small scenario with these events; the first one is in line 20."""
    lines = "".join(f"  - {event}\n" for event in entries)
    return replace_in_small("  - {at: 30m, scale_out: {clients: late}}\n", lines)


CONSUMERS = """\
cluster:
  kafka: "4.3"
  brokers: {count: 3, racks: [az1, az2, az3]}
  configs:
    group.initial.rebalance.delay.ms: 3s
    group.consumer.heartbeat.interval.ms: 5s
    group.consumer.min.heartbeat.interval.ms: 5s
    group.consumer.max.heartbeat.interval.ms: 15s
    group.consumer.assignment.interval.ms: 1s
    group.consumer.min.assignment.interval.ms: 0
    group.consumer.max.assignment.interval.ms: 15s
    group.consumer.session.timeout.ms: 45s
    group.consumer.min.session.timeout.ms: 45s
    group.consumer.max.session.timeout.ms: 60s
    auto.leader.rebalance.enable: true
    leader.imbalance.check.interval.seconds: 300
    replica.lag.time.max.ms: 30s
  topics:
    - {name: orders, id: KrngRFv9Qm-FUBoyqQTyrA, partitions: 12, replication_factor: 2, bytes_per_s: 6 MB/s}
    - {name: payments, partitions: 6, replication_factor: 2, bytes_per_s: 1 MB/s}
hosts: [{name: host, count: 2, restore: 100 MB/s}]
consumers:
  - group: billing
    topics: [orders, payments]
    kafka: "4.3"
    configs:
      group.protocol: classic
      partition.assignment.strategy: [CooperativeStickyAssignor]
      session.timeout.ms: 45s
      heartbeat.interval.ms: 3s
      max.poll.interval.ms: 5m
    clients:
      - {name: billing, count: 3, racks: [az1, az2, az3], client_rack: true, consumers: 2, records_per_s: 100000}
      - {name: fixed, process_id: 00000000-0000-4000-8000-000000000001, static_membership: true, host: host-0}
      - {name: named, instance_id: named-1, client_id: web, topics: [payments]}
      - {name: spare, count: 2, starts: false, hosts: [host-0, host-1]}
    assignors:
      - {assignor: range, label: default, expect: {active_moves: < 1000}}
      - cooperative-sticky
      - uniform
    poll_interval: 1s
    starts_in: 2s
  - group: audit
    topics: [orders]
    configs: {group.protocol: consumer, group.remote.assignor: range, max.poll.records: 100}
    clients: [{name: audit, count: 2}]
subject: billing
events:
  - {at: 10m, crash: {clients: billing-1, down: 2m}}
  - {at: 20m, join: {clients: spare}}
  - {at: 30m, leave: {clients: audit-1}}
  - {at: 40m, rack_outage: {rack: az2, down: 2m}}
duration: 1h
"""
"""Two consumer groups with every key of their section."""
