"""`sim.plan`: plan replica placements for a cluster by one or several strategies, and compare the plans."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias

import pyarrow as pa

from assignor_sim.text_files import write_text
from assignors.model.columns import IntArray
from assignors.model.ids import TopicPartition
from assignors.replicas.plan import LpWriter, PlanRequest, ReplicaAssignor
from assignors.replicas.plan_evaluation import Transfers, pair_copies, pair_moves, sum_transfers
from assignors.replicas.planning import PlanError
from assignors.replicas.state import NO_BROKER, ClusterState, bytes_per_broker, count_leaders, count_replicas
from reports.analysis.plans.results import (
    BATCHES,
    BROKERS,
    CRITERIA,
    MOVES,
    PLAN_KIND,
    TODAY,
    BrokerChange,
    PartitionChange,
    PlanResults,
    PlanRow,
    records,
)
from scenarios.clusters.cluster_reader import (
    LoadedCluster,
    read_cluster,
    read_running_cluster,
    to_cluster_state,
)
from scenarios.kafka.plan_files import BatchLimits, ReplicaChange, min_duration_ms, split_into_batches
from scenarios.language.errors import Mistake, ScenarioError, format_list
from scenarios.language.text_files import MAX_IMPORT_BYTES, UnreadableError, read_text
from scenarios.load import Scenario
from scenarios.planning.plan_input import PlanInput, PlanOptions, build_plan_input, build_strategies
from scenarios.planning.strategy_results import (
    StrategyResult,
    current_figures,
    evaluate_imported_plan,
    read_imported_plan,
    run_strategies,
)
from scenarios.shipped import find_scenario
from simulator.plurals import plural
from simulator.results.result_directory import write_results

if TYPE_CHECKING:
    import pandas as pd


ClusterLike: TypeAlias = str | os.PathLike[str] | TextIO | Scenario | ClusterState | LoadedCluster


def load_cluster(
    cluster: ClusterLike | None,
    *,
    bootstrap: str | None = None,
    properties: Mapping[str, str] | None = None,
    brokers: str | os.PathLike[str] | None = None,
    log_dirs: str | os.PathLike[str] | None = None,
    rates: str | os.PathLike[str] | None = None,
    seed: int | None = None,
) -> LoadedCluster:
    """Load a cluster for replica strategies; the arguments are those of `plan`.

    Returns:
        The state of the cluster, with its name and warnings.

    Raises:
        ScenarioError: a file cannot be read, or is invalid.
        PlanError: `brokers`, `log_dirs` or `rates` is given for a cluster that is not read from a file; or neither or
            both of `cluster` and `bootstrap` are given.
        ObservationError: the running cluster cannot be reached or denies a request.
    """
    if (cluster is None) == (bootstrap is None):
        raise PlanError("give either a cluster (scenario or file) or a running cluster (bootstrap)")
    if properties is not None and bootstrap is None:
        raise PlanError("properties require bootstrap")
    if bootstrap is not None:
        return read_running_cluster(
            bootstrap, properties or {}, brokers=_path(brokers), log_dirs=_path(log_dirs), rates=_path(rates)
        )
    if isinstance(cluster, (Scenario, ClusterState, LoadedCluster)):
        if any(path is not None for path in (brokers, log_dirs, rates)):
            raise PlanError("brokers, log_dirs and rates require a cluster that is read from a file")
        if isinstance(cluster, Scenario):
            world = cluster.world(cluster.seeds[0] if seed is None else seed)
            return LoadedCluster(cluster.name, to_cluster_state(world.cluster), ())
        return cluster if isinstance(cluster, LoadedCluster) else LoadedCluster("cluster", cluster, ())
    path, source = None, "standard input"
    try:
        if isinstance(cluster, (str, os.PathLike)):
            path = find_scenario(Path(cluster))
            source = str(path)
            text = read_text(path, MAX_IMPORT_BYTES, f"longer than {MAX_IMPORT_BYTES:,} bytes")
        else:
            assert cluster is not None
            text = cluster.read()
    except (UnreadableError, UnicodeDecodeError) as error:
        reason = "not UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(error)
        raise ScenarioError([Mistake(source, getattr(error, "line", None), "", reason)]) from None
    loaded = read_cluster(
        source,
        text,
        path=path,
        brokers=_path(brokers),
        log_dirs=_path(log_dirs),
        rates=_path(rates),
        seed=seed,
    )
    name = source if path is None else str(cluster)
    return LoadedCluster(name, loaded.state, loaded.remarks, loaded.log_dirs)


def _path(path: str | os.PathLike[str] | None) -> Path | None:
    return None if path is None else Path(path)


def plan_tables(
    state: ClusterState,
    request: PlanRequest,
    plans: Mapping[str, IntArray],
    batches: Sequence[Mapping[str, object]] = (),
) -> dict[str, pa.Table]:
    """Build the tables of `reports.analysis.plans.results`.

    Args:
        state: the cluster before any plan.
        request: the brokers that may hold replicas.
        plans: the replicas of each plan by strategy, as `Plan.replicas`.
        batches: rows of the table `batches`, from `batch_rows`.

    Returns:
        The tables by name.
    """
    brokers = [_broker_table(state, request, TODAY, state.replicas)]
    brokers += [_broker_table(state, request, name, replicas) for name, replicas in plans.items()]
    moves = [table for name, replicas in plans.items() for table in _move_tables(state, name, replicas)]
    return {
        "brokers": pa.concat_tables(brokers),
        "moves": pa.concat_tables(moves) if moves else MOVES.empty_table(),
        "batches": pa.Table.from_pylist(list(batches), schema=BATCHES),
    }


def batch_rows(
    strategy: str, changed: Sequence[ReplicaChange], further_elections: int, limits: BatchLimits
) -> list[dict[str, Any]]:
    """Return the rows of a plan in the table `batches`.

    Args:
        strategy: the name of the strategy.
        changed: the changes of the plan, in order.
        further_elections: the number of unchanged partitions whose leader is elected, in the last batch.
        limits: the limits of a batch.
    """
    rows: list[dict[str, Any]] = []
    for number, batch in enumerate(split_into_batches(changed, limits) or [[]], 1):
        known = [change.copied_bytes for change in batch if change.copied_bytes is not None]
        rate = limits.throttle_bytes_per_s
        rows.append(
            {
                "strategy": strategy,
                "batch": number,
                "partitions": len(batch),
                "replicas": sum(len(set(change.new) - set(change.old)) for change in batch),
                "bytes": sum(known) if len(known) == len(batch) else None,
                "elections": sum(change.needs_election for change in batch),
                "min_copy_ms": None if rate is None else min_duration_ms(batch, rate),
            }
        )
    rows[-1]["elections"] += further_elections
    return rows if changed or further_elections else []


def _broker_table(state: ClusterState, request: PlanRequest, strategy: str, replicas: IntArray) -> pa.Table:
    num_brokers = len(state.brokers)
    order = sorted(range(num_brokers), key=lambda row: state.brokers[row].id)
    sizes = state.size_bytes
    columns = {
        "strategy": [strategy] * num_brokers,
        "broker": [state.brokers[row].id for row in order],
        "rack": [state.brokers[row].rack for row in order],
        "is_alive": [state.brokers[row].is_alive for row in order],
        "may_hold": request.is_allowed(state)[order],
        "leaders": count_leaders(replicas, num_brokers)[order],
        "replicas": count_replicas(replicas, num_brokers)[order],
        "bytes": None if sizes is None else bytes_per_broker(replicas, sizes, num_brokers)[order],
        "capacity_bytes": [state.brokers[row].capacity_bytes for row in order],
    }
    return _table(BROKERS, columns, num_brokers)


def _move_tables(state: ClusterState, strategy: str, replicas: IntArray) -> Iterator[pa.Table]:
    yield _transfer_table(state, strategy, "move", pair_moves(state, replicas))
    yield _transfer_table(state, strategy, "copy", pair_copies(state, replicas))


def _transfer_table(state: ClusterState, strategy: str, kind: str, transfers: Transfers) -> pa.Table:
    pairs, counts, total_bytes = sum_transfers(transfers, state.ids, state.size_bytes)
    columns = {
        "strategy": [strategy] * len(pairs),
        "kind": [kind] * len(pairs),
        "source": [None if source == NO_BROKER else source for source in pairs[:, 0].tolist()],
        "target": pairs[:, 1],
        "replicas": counts,
        "bytes": total_bytes,
    }
    return _table(MOVES, columns, len(pairs))


def _table(schema: pa.Schema, columns: Mapping[str, object], num_rows: int) -> pa.Table:
    arrays = [
        pa.nulls(num_rows, field.type) if columns[field.name] is None else pa.array(columns[field.name], field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def partition_changes(state: ClusterState, result: StrategyResult) -> list[PartitionChange]:
    """Return the partitions whose replicas or leader a plan changes, by topic and partition.

    Args:
        state: the cluster before the plan.
        result: the plan; without one, nothing changes.
    """
    rows = {state.partition_id(row): row for row in range(state.num_partitions)}
    ids = state.ids.tolist()

    def change(
        key: TopicPartition, before: Sequence[int], after: Sequence[int], copied_bytes: int | None
    ) -> PartitionChange:
        leader = int(state.leader[rows[key]])
        leader_id = None if leader == NO_BROKER else ids[leader]
        return PartitionChange(*key, tuple(before), tuple(after), leader_id, after[0], copied_bytes)

    changes = [change(item.key, item.old, item.new, item.copied_bytes) for item in result.changes]
    for key in result.further_elections:
        replicas = [ids[broker] for broker in state.replicas[rows[key]].tolist() if broker != NO_BROKER]
        changes.append(change(key, replicas, replicas, 0))
    return sorted(changes, key=lambda change: (change.topic, change.partition))


StrategyLike: TypeAlias = str | ReplicaAssignor

PAGE = "report.html"


@dataclass(frozen=True)
class PlanComparison:
    """The plans of several strategies for one cluster.

    Attributes:
        source: the name of the cluster in messages.
        plan_input: the input of the strategies.
        options: the options of the plan.
        results: one result per imported plan and per strategy.
        strategies: the strategies by name.
        remarks: warnings on the description of the cluster.
    """

    source: str
    plan_input: PlanInput
    options: PlanOptions
    results: tuple[StrategyResult, ...]
    strategies: Mapping[str, ReplicaAssignor]
    remarks: tuple[str, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings for the user."""
        return (*self.remarks, *self.plan_input.warnings)

    @property
    def has_plan(self) -> bool:
        """Whether at least one strategy found a plan."""
        return any(result.has_plan for result in self.results)

    def __getitem__(self, strategy: str) -> StrategyResult:
        """Return the result of a strategy or an imported plan by name.

        Raises:
            KeyError: there is no such strategy.
        """
        for result in self.results:
            if result.strategy == strategy:
                return result
        raise KeyError(strategy)

    def rows(self, directory: str | os.PathLike[str] | None = None) -> list[PlanRow]:
        """Return the rows of the comparison: the current placement, then one row per plan.

        Args:
            directory: the directory of saved plans, which the rows refer to; None for plans that are not saved.
        """
        current = PlanRow(TODAY, figures=current_figures(self.plan_input), aims=frozenset(CRITERIA))
        folders: list[str | None] = [None] * len(self.results)
        if directory is not None:
            names = zip(self.results, self._folders, strict=True)
            folders = [str(Path(directory) / folder) if result.files else None for result, folder in names]
        return [current, *map(_plan_row, self.results, folders)]

    def replicas(self, strategy: str) -> dict[tuple[str, int], list[int]]:
        """Return the broker ids of each partition's replicas by (topic, partition), the preferred leader first.

        Raises:
            KeyError: there is no such strategy.
            PlanError: the strategy has no plan.
        """
        result, state = self[strategy], self.plan_input.state
        if result.replicas is None:
            raise PlanError(f"{strategy}: no plan ({result.reason})")
        ids = [*state.ids.tolist(), NO_BROKER]
        return {
            (key.topic, key.partition): [ids[broker] for broker in brokers if broker != NO_BROKER]
            for row, brokers in enumerate(result.replicas.tolist())
            for key in [state.partition_id(row)]
        }

    def changes(self, strategy: str) -> list[PartitionChange]:
        """Return the changed partitions of a plan, by topic and partition.

        Raises:
            KeyError: there is no such strategy.
        """
        return partition_changes(self.plan_input.state, self[strategy])

    def broker_loads(self, strategy: str) -> list[BrokerChange]:
        """Return what each broker holds before and after a plan, by broker id.

        Raises:
            KeyError: there is no such strategy, or it has no plan.
        """
        loads: dict[str, list[dict[str, Any]]] = {}
        for row in self._tables["brokers"].to_pylist():
            loads.setdefault(row["strategy"], []).append(row)
        return [BrokerChange.of(before, after) for before, after in zip(loads[TODAY], loads[strategy], strict=True)]

    def lp_text(self) -> str:
        """Return the integer program of the strategy that has one, in the LP format of lp_solve.

        Raises:
            PlanError: no strategy has an integer program.
        """
        writers = [strategy for strategy in self.strategies.values() if isinstance(strategy, LpWriter)]
        if not writers:
            raise PlanError("no strategy has an integer program")
        state = self.plan_input.state.take(self.plan_input.rows)
        return writers[0].lp_text(state, self.plan_input.request)

    def summary(self) -> str:
        """Return the comparison as a text table."""
        from reports.render.plan import render

        return render(self.results_with(self.rows()))

    def diff(self, strategy: str, max_changes: int | None = None) -> str:
        """Return the changes of a plan as text: the brokers before and after, then one line per partition.

        Args:
            strategy: the name of a strategy with a plan.
            max_changes: the maximum number of partitions to list; by default all.

        Raises:
            KeyError: there is no such strategy, or it has no plan.
        """
        from reports.render.plan import draw_changes

        return draw_changes(strategy, self.changes(strategy), self.broker_loads(strategy), max_changes)

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows of the comparison as a data frame."""
        import pandas as pd

        return pd.DataFrame(records(self.rows()))

    def describe(self) -> dict[str, Any]:
        """Return the cluster and the request, for JSON."""
        state, request, topics = self.plan_input.state, self.plan_input.request, self.plan_input.topics
        counts = {
            "brokers": len(state.brokers),
            "racks": len(state.racks),
            "topics": len(state.topics),
            "partitions": state.num_partitions,
            "replicas": int((state.replicas != NO_BROKER).sum()),
        }
        size = ", ".join(f"{count:,} {noun if count != 1 else noun[:-1]}" for noun, count in counts.items())
        return {
            "title": f"{self.source}: {size}",
            "asked": "; ".join(_describe_options(self.options, self.plan_input)),
            "cluster": {"source": self.source, **counts},
            "request": {
                "brokers": sorted(state.ids[request.is_allowed(state)].tolist()),
                "replication_factor": request.replication_factor,
                "rack_aware": request.is_rack_aware(state),
                "topics": None if topics is None else list(topics),
                "throttle_bytes_per_s": self.options.limits.throttle_bytes_per_s,
            },
            "remarks": list(self.warnings),
        }

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write the comparison as an HTML page."""
        from reports.render.page import page

        write_text(Path(path), page(None, plans=[self.results_with(self.rows())]))

    def save(self, directory: str | os.PathLike[str], command: str = "") -> None:
        """Write all plans as files for Kafka's tools, with tables, a page and a manifest.

        Args:
            directory: the directory to create.
            command: the command line, for the manifest.

        Raises:
            ResultsError: the directory cannot be written.
        """
        from reports.render.page import page

        files = {
            str(Path(folder) / name): content
            for result, folder in zip(self.results, self._folders, strict=True)
            for name, content in result.files.items()
        }
        results = self.results_with(self.rows(directory), command)
        files[PAGE] = page(None, plans=[results]).encode()
        write_results(Path(directory), results.tables, results.manifest, files)

    @cached_property
    def _tables(self) -> dict[str, Any]:
        plans = {result.strategy: result.replicas for result in self.results if result.replicas is not None}
        batches = [
            row
            for result in self.results
            if result.has_plan
            for row in batch_rows(result.strategy, result.changes, len(result.further_elections), result.limits)
        ]
        return plan_tables(self.plan_input.state, self.plan_input.request, plans, batches)

    def results_with(self, rows: Sequence[PlanRow], command: str = "") -> PlanResults:
        """Return the content of the plan folder: `rows`, tables, and a manifest with the command line."""
        manifest = {
            "kind": PLAN_KIND,
            **self.describe(),
            "plans": records(rows),
            "command": command,
            "versions": {package: version(package) for package in ("assignor-sim", "numpy", "ortools")},
        }
        return PlanResults(tuple(rows), self._tables, manifest)

    @property
    def _folders(self) -> list[str]:
        """The folder of each plan; a single plan has no folder of its own."""
        names = [result.strategy for result in self.results]
        return folder_names(names) if len(names) > 1 else [""] * len(names)


def plan(
    cluster: ClusterLike | None = None,
    strategies: StrategyLike | Sequence[StrategyLike] | Mapping[str, ReplicaAssignor] = "exact_flow",
    *,
    bootstrap: str | None = None,
    properties: Mapping[str, str] | None = None,
    imported_plans: Sequence[str | os.PathLike[str]] = (),
    brokers: str | os.PathLike[str] | None = None,
    log_dirs: str | os.PathLike[str] | None = None,
    rates: str | os.PathLike[str] | None = None,
    remove_brokers: Sequence[int] = (),
    add_brokers: Sequence[str] = (),
    replication_factor: int | None = None,
    topics: Sequence[str] = (),
    rack_aware: bool = True,
    batch_partitions: int | None = None,
    batch_bytes: int | None = None,
    throttle_bytes_per_s: int | None = None,
    parameters: Mapping[str, Any] | None = None,
    seed: int | None = None,
    num_orders: int | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> PlanComparison:
    """Plan replica placements for a cluster and compare the plans; `assignor-sim plan` in Python.

    Examples:
        >>> import assignor_sim as sim
        >>> comparison = sim.plan("order_processing", ["exact_flow", "kafka_assigner"], num_orders=0)
        >>> [result.strategy for result in comparison.results]
        ['exact_flow', 'kafka_assigner']

    Args:
        cluster: a scenario, a file or text stream (a scenario, JSON of `kafka-reassign-partitions.sh`, or the output of
            `kafka-topics.sh --describe`), the name of a shipped scenario, or a cluster state.
        bootstrap: HOST:PORT of a running cluster, which is only read; in place of `cluster`. Requires the extra
            `assignor-sim[kafka]`.
        properties: with `bootstrap`: client properties for the connection.
        strategies: registered names, `package.module:Class` or instances; a name may be followed by parameters, for
            example `leader_max_flow,pruning=none`. A mapping gives instances by name.
        imported_plans: files with plans made by other tools, to evaluate beside the strategies.
        brokers: a file with the brokers: the output of `kafka-broker-api-versions.sh`, or CSV.
        log_dirs: the output of `kafka-log-dirs.sh --describe`, for sizes.
        rates: a directory of `assignor-sim ingest`, for measured rates.
        remove_brokers: ids of brokers to decommission.
        add_brokers: brokers to add, as ID:RACK or ID:RACK:CAPACITY.
        replication_factor: the new replication factor of every partition; by default the current ones.
        topics: the topics that may change; all by default.
        rack_aware: whether racks constrain the plans.
        batch_partitions: the maximum number of partitions per batch.
        batch_bytes: the maximum number of bytes to copy per batch.
        throttle_bytes_per_s: the replication throttle per broker, for the scripts.
        parameters: parameters for every strategy that has them.
        seed: the seed for replicas that a scenario does not place, and for randomized strategies.
        num_orders: the number of input orders in which each strategy runs to test its stability, at most `MAX_ORDERS`;
            0 for no test; by default 20, or fewer of more than 10,000 partitions (2 of 100,000 or more).
        on_progress: called with a description of each step.

    Returns:
        The comparison: one result per imported plan and strategy, with methods to summarize, report and save them.

    Raises:
        ScenarioError: a file cannot be read, or is invalid.
        PlanError: an option is invalid.
        ObservationError: the running cluster cannot be reached or denies a request.
        UnknownAssignorError: a strategy is unknown, or rejects a parameter.
    """
    options = PlanOptions(
        remove_brokers,
        add_brokers,
        replication_factor,
        topics,
        rack_aware,
        [Path(path) for path in imported_plans],
        BatchLimits(batch_partitions, batch_bytes, throttle_bytes_per_s),
        num_orders,
    )
    seeded = {"seed": seed} if seed is not None else {}
    chosen = _resolve_strategies(strategies, {**seeded, **(parameters or {})})
    loaded = load_cluster(
        cluster, bootstrap=bootstrap, properties=properties, brokers=brokers, log_dirs=log_dirs, rates=rates, seed=seed
    )
    return compare_plans(loaded, chosen, options, on_progress)


def compare_plans(
    loaded: LoadedCluster,
    strategies: Mapping[str, ReplicaAssignor],
    options: PlanOptions,
    on_progress: Callable[[str], None] | None = None,
) -> PlanComparison:
    """Compare the plans of strategies for a loaded cluster, and imported plans; `plan` documents results and errors."""
    plan_input = build_plan_input(loaded.state, options, loaded.log_dirs, is_planned=bool(strategies))
    limits = options.limits
    if limits.bytes is not None and plan_input.state.size_bytes is None:
        raise PlanError("--batch-bytes: partition sizes are unknown; pass --log-dirs FILE")
    if limits.throttle_bytes_per_s == 0:
        raise PlanError("--throttle: the rate must be positive")
    imported = [read_imported_plan(path, plan_input) for path in dict.fromkeys(options.imported)]
    results = [evaluate_imported_plan(imported_plan, plan_input, limits) for imported_plan in imported]
    num_orders = options.orders_of(plan_input.state.num_partitions)
    results += run_strategies(strategies, plan_input, limits, num_orders, on_progress or (lambda step: None))
    return PlanComparison(loaded.source, plan_input, options, tuple(results), strategies, loaded.remarks)


def folder_names(strategies: Sequence[str]) -> list[str]:
    """Return a unique folder name for each strategy."""
    names: list[str] = []
    for strategy in strategies:
        names.append(_unique_name(re.sub(r"[^\w.-]", "_", strategy), "-", names))
    return names


def _resolve_strategies(
    strategies: StrategyLike | Sequence[StrategyLike] | Mapping[str, ReplicaAssignor], parameters: Mapping[str, Any]
) -> dict[str, ReplicaAssignor]:
    """Return strategies by name; an instance is named after its class."""
    if isinstance(strategies, Mapping):
        return dict(strategies)
    listed = [strategies] if isinstance(strategies, str) or not isinstance(strategies, Sequence) else strategies
    chosen: dict[str, ReplicaAssignor] = {}
    for strategy in listed:
        if isinstance(strategy, str):
            chosen |= build_strategies([strategy], parameters)
        else:
            chosen[_unique_name(type(strategy).__name__, " ", chosen)] = strategy
    return chosen


def _unique_name(name: str, separator: str, taken: Container[str]) -> str:
    """Return a name that is not taken; append a number, starting at 2, if necessary."""
    numbered = (f"{name}{separator}{number}" for number in itertools.count(2))
    return next(free for free in itertools.chain([name], numbered) if free not in taken)


def _plan_row(result: StrategyResult, folder: str | None) -> PlanRow:
    return PlanRow(
        strategy=result.strategy,
        status=result.status,
        reason=result.reason,
        figures=result.figures,
        aims=frozenset(result.objectives),
        notes=result.notes,
        objective=result.objective,
        value=result.value,
        bound=result.bound,
        changes=len(result.changes) if result.has_plan else None,
        elections=result.num_elections if result.has_plan else None,
        batches=result.num_batches,
        folder=folder,
    )


def _describe_options(options: PlanOptions, plan_input: PlanInput) -> Iterator[str]:
    if options.remove:
        yield f"without {plural(len(options.remove), 'broker')} {', '.join(map(str, options.remove))}"
    if options.add:
        yield f"with {plural(len(options.add), 'broker')} {', '.join(options.add)}"
    if options.replication_factor is not None:
        yield f"replication factor {options.replication_factor}"
    if plan_input.topics is not None:
        listed = format_list("topics" if len(plan_input.topics) > 1 else "topic", plan_input.topics)
        yield f"{listed.replace(':', '', 1)} only"
    if not options.rack_aware:
        yield "not rack-aware"
