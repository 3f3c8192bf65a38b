"""Changes that the figures of a run suggest to try, each with the figure that suggests it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from reports.analysis.comparison import ComparisonRow, Tables, table_rows
from reports.analysis.formatting import format_duration, format_percent, format_rate
from reports.analysis.restart_steps import NextStep, RestartFigures, restart_figures, restart_steps
from simulator.plurals import counted
from simulator.results.verdict import Verdict

MAX_STEPS: Final = 2

_SLOW_MS = 30 * 60_000
"""Convergence that takes longer than this can probably be faster."""

_FEW_WARMUPS = 4
_LONG_PROBING_MS = 5 * 60_000
_MIN_READ_SHARE = 0.25
_MIN_UNQUERYABLE_MS = 60_000
_NEAREST = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
_CONFIGS = (
    "max_warmup_replicas",
    "num_standby_replicas",
    "probing_rebalance_interval_ms",
    "rack_aware_assignment_strategy",
    "rack_aware_assignment_tags",
)
_TAGS = "rack_aware_assignment_tags"
_STRATEGY = "rack.aware.assignment.strategy"
_READS = ("source_read", "repartition_read")
_PLAIN_NAME = re.compile(r"[A-Za-z][\w.-]*")
"""Names that YAML reads as text without quotes in a list or mapping."""


@dataclass(frozen=True, slots=True)
class RunEvidence:
    """What next steps are found from, by scenario and assignor.

    Attributes:
        configs: assignment configs, from the manifests.
        protocols: group protocols, from the manifests.
        read_shares: cross-rack reads of topics as a share of all cross-rack bytes.
        groups: the group's configs and members, from the manifests.
        restarts: what restarts, crashes and closed clients cost, one for each run.
        first_client: the first client of each run.
        racks: number of racks of clients; 0 if no client has one.
        unused: Streams configs that the assignors do not read.
    """

    configs: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    protocols: Mapping[tuple[str, str], str] = field(default_factory=dict)
    read_shares: Mapping[tuple[str, str], float] = field(default_factory=dict)
    groups: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    restarts: Mapping[tuple[str, str], Sequence[RestartFigures]] = field(default_factory=dict)
    first_client: Mapping[tuple[str, str], str] = field(default_factory=dict)
    clients: Mapping[tuple[str, str], int] = field(default_factory=dict)
    racks: Mapping[tuple[str, str], int] = field(default_factory=dict)
    events: Mapping[tuple[str, str], int] = field(default_factory=dict)
    unused: Mapping[tuple[str, str], Sequence[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, tables: Tables, manifests: Sequence[Mapping[str, Any]]) -> RunEvidence:
        """Collect the evidence from result tables and manifests; missing ones are skipped."""
        configs: dict[tuple[str, str], Mapping[str, Any]] = {}
        protocols: dict[tuple[str, str], str] = {}
        groups: dict[tuple[str, str], Mapping[str, Any]] = {}
        unused: dict[tuple[str, str], Sequence[str]] = {}
        renamed: dict[str, set[str]] = {}
        for manifest in manifests:
            renamed.setdefault(manifest["scenario"]["name"], set()).update(manifest["scenario"].get("renamed", ()))
            for assignor in manifest.get("assignors", ()):
                key = manifest["scenario"]["name"], assignor["label"]
                listed = assignor.get("unused")
                unused[key] = listed if isinstance(listed, list) else []
                protocols[key] = str(assignor.get("protocol", "unknown"))
                groups[key] = assignor.get("group") or {}
                if set(_CONFIGS) <= set(assignor.get("configs", ())):
                    configs[key] = assignor["configs"]
        return cls(
            configs,
            protocols,
            _read_shares(tables),
            groups,
            restart_figures(
                tables,
                renamed,
                {key: group["session_timeout_ms"] for key, group in groups.items() if "session_timeout_ms" in group},
            ),
            first_client=_first_client(tables),
            clients=_distinct(tables, "clients", "client"),
            racks=_distinct(tables, "clients", "rack"),
            events=_distinct(tables, "events", "number"),
            unused=unused,
        )

    def has_several_racks(self, key: tuple[str, str]) -> bool:
        """Return whether clients are in two or more racks, or their racks are unknown."""
        return self.racks.get(key, 2) > 1

    def compared(self, scenario: str, config: str) -> list[Any]:
        """Return the values of a config that the assignors of a scenario have."""
        return [configs[config] for (name, _), configs in self.configs.items() if name == scenario]

    def uses(self, key: tuple[str, str], config: str) -> bool:
        """Return whether an assignor uses a Streams config; without a manifest, it is assumed to."""
        return config not in self.unused.get(key, ())


def next_steps(rows: Sequence[ComparisonRow], target: ComparisonRow, evidence: RunEvidence) -> Iterator[NextStep]:
    """Return up to `MAX_STEPS` changes to try for an assignor, most important first.

    `evidence`: configs and figures of all assignors.
    """
    return islice(_steps(rows, target, evidence), MAX_STEPS)


def _steps(rows: Sequence[ComparisonRow], target: ComparisonRow, evidence: RunEvidence) -> Iterator[NextStep]:
    key = target.scenario, target.assignor
    verdicts = {verdict for verdict, _ in target.verdicts}
    configs = evidence.configs.get(key, {})
    is_classic = evidence.protocols.get(key) == "classic"
    if Verdict.NEVER in verdicts:
        yield NextStep(
            "more restore bandwidth for the clients (clients[].restore), or a larger acceptable.recovery.lag",
            f"the run with {target.assignor} never converges",
        )
    elif verdicts & {Verdict.RESTORING, Verdict.REBALANCING}:
        yield NextStep("a longer duration", f"{target.assignor} had not converged at its end")
    standbys = configs.get("num_standby_replicas", 0)
    yield from restart_steps(
        evidence.restarts.get(key, ()), evidence.groups.get(key, {}), evidence.protocols.get(key, ""), standbys
    )
    yield from _something_to_see(rows, evidence.first_client.get(key))
    yield from _faster_convergence(target, configs, verdicts, evidence) if is_classic and configs else ()
    yield from _standbys(target, configs, evidence)
    yield from _less_traffic(rows, target, evidence, is_classic=is_classic)
    yield from _tags(target, configs, evidence, is_classic=is_classic)


def _something_to_see(rows: Sequence[ComparisonRow], client: str | None) -> Iterator[NextStep]:
    """Yield an event and rates of topics for scenarios without them, as `import` writes them from dumps."""

    def is_zero(metric: str) -> bool:
        return all(spread is not None and not spread.maximum for row in rows for spread in [row.spreads[metric]])

    if client is not None and is_zero("rebalances"):
        name = client if _PLAIN_NAME.fullmatch(client) else json.dumps(client)
        yield NextStep(
            "an event, such as a crash",
            "the group keeps its assignment until an event causes a rebalance",
            (("events", f"[{{at: 1m, crash: {{clients: {name}, down: 1m}}}}]"),),
        )
    if is_zero("cross_rack_bytes_per_s") and any(_has_remote_reads(row) for row in rows):
        yield NextStep(
            "rates of the topics (cluster.topics[NAME].bytes_per_s)",
            "source partitions are read across racks, but without rates there is no traffic",
        )


def _has_remote_reads(row: ComparisonRow) -> bool:
    partitions = row.spreads["cross_rack_source_partitions"]
    return partitions is not None and partitions.median > 0


def _faster_convergence(
    target: ComparisonRow, configs: Mapping[str, Any], verdicts: set[str], evidence: RunEvidence
) -> Iterator[NextStep]:
    time, promoted = target.spreads["time_to_converge_ms"], target.spreads["moves_promoted"]
    warmups, probing_ms = configs["max_warmup_replicas"], configs["probing_rebalance_interval_ms"]
    is_slow = Verdict.PROBING in verdicts or (time is not None and time.median >= _SLOW_MS)
    if not (is_slow and promoted and promoted.median > warmups):
        return
    takes = (
        f"{target.assignor} had not converged when the run ended"
        if time is None
        else f"convergence with {target.assignor} takes {format_duration(time.median)}"
    )
    more = max(10, 5 * warmups)
    if warmups <= _FEW_WARMUPS:
        if max(evidence.compared(target.scenario, "max_warmup_replicas"), default=0) >= more:
            return
        yield NextStep(
            "more warm-ups",
            f"{takes}, with {counted(warmups, 'warm-up')} at a time",
            (("application.configs.max.warmup.replicas", str(more)),),
        )
    elif min(probing_ms, *evidence.compared(target.scenario, "probing_rebalance_interval_ms")) > _LONG_PROBING_MS:
        yield NextStep(
            "more frequent probing rebalances",
            f"{takes}, with warm-ups checked every {format_duration(probing_ms)}",
            (("application.configs.probing.rebalance.interval.ms", "2m"),),
        )


def _less_traffic(
    rows: Sequence[ComparisonRow], target: ComparisonRow, evidence: RunEvidence, *, is_classic: bool
) -> Iterator[NextStep]:
    partitions, traffic = target.spreads["cross_rack_source_partitions"], target.spreads["cross_rack_bytes_per_s"]
    key = target.scenario, target.assignor
    if not partitions or not traffic or not traffic.median:
        return
    share = evidence.read_shares.get(key, 0)
    strategies = {
        str(evidence.configs.get((row.scenario, row.assignor), {}).get("rack_aware_assignment_strategy", "unknown"))
        for row in rows
    }
    wants_less = target.spreads["cross_rack_usd_per_day"] is not None or strategies - {"none", "unknown"}
    if not partitions.median and wants_less and share >= _MIN_READ_SHARE:
        yield NextStep(
            "brokers that serve the nearest replica",
            f"{format_percent(round(100 * share))} of the cross-rack bytes are reads from leaders in other racks, "
            "although every client has a replica in its rack",
            (("cluster.configs.replica.selector.class", _NEAREST),),
        )
    elif (
        partitions.median
        and is_classic
        and strategies == {"none"}
        and evidence.has_several_racks(key)
        and evidence.uses(key, _STRATEGY)
    ):
        yield NextStep(
            "rack-aware assignment",
            f"{counted(partitions.median, 'source partition has', 'source partitions have')} no replica in the rack "
            f"of {'its' if partitions.median == 1 else 'their'} client, "
            f"with {format_rate(traffic.median)} between racks",
            ((f"application.configs.{_STRATEGY}", "min_traffic"),),
        )


def _standbys(target: ComparisonRow, configs: Mapping[str, Any], evidence: RunEvidence) -> Iterator[NextStep]:
    unqueryable = target.spreads["unqueryable_ms"]
    key = target.scenario, target.assignor
    has_none = not any(evidence.compared(target.scenario, "num_standby_replicas")) and evidence.clients.get(key, 2) > 1
    has_none = has_none and bool(configs)
    if has_none and unqueryable and unqueryable.median >= _MIN_UNQUERYABLE_MS:
        yield NextStep(
            "a standby per task",
            f"stateful tasks had no queryable copy for {format_duration(unqueryable.median)} in total",
            (("application.configs.num.standby.replicas", "1"),),
        )


def _tags(
    target: ComparisonRow, configs: Mapping[str, Any], evidence: RunEvidence, *, is_classic: bool
) -> Iterator[NextStep]:
    alone = target.spreads["tasks_without_rack_redundancy"]
    key = target.scenario, target.assignor
    may_help = (
        is_classic
        and bool(configs)
        and configs["num_standby_replicas"]
        and not any(evidence.compared(target.scenario, _TAGS))
        and evidence.has_several_racks(key)
        and evidence.events.get(key, 0)
        and evidence.uses(key, "rack.aware.assignment.tags")
    )
    if may_help and alone and alone.median:
        yield NextStep(
            "client tags (rack.aware.assignment.tags), which put standbys into other racks",
            f"{counted(alone.median, 'task has', 'tasks have')} all copies in one rack",
        )


def _distinct(tables: Tables, name: str, column: str) -> dict[tuple[str, str], int]:
    """Return the number of different values of a column by scenario and assignor, those without a value left out."""
    found: dict[tuple[str, str], set[Any]] = {}
    for row in table_rows(tables, name):
        found.setdefault((row["scenario"], row["assignor"]), set()).add(row[column])
    return {key: len(values - {None}) for key, values in found.items()}


def _read_shares(tables: Tables) -> dict[tuple[str, str], float]:
    reads: dict[tuple[str, str], float] = {}
    totals: dict[tuple[str, str], float] = {}
    for row in table_rows(tables, "traffic"):
        if row["from_rack"] == row["to_rack"]:
            continue
        key = row["scenario"], row["assignor"]
        totals[key] = totals.get(key, 0) + row["bytes"]
        if row["kind"] in _READS:
            reads[key] = reads.get(key, 0) + row["bytes"]
    return {key: reads.get(key, 0) / total for key, total in totals.items() if total}


def _first_client(tables: Tables) -> dict[tuple[str, str], str]:
    first: dict[tuple[str, str], str] = {}
    for row in table_rows(tables, "clients"):
        first.setdefault((row["scenario"], row["assignor"]), row["client"])
    return first
