"""`assignor-sim plan`: plan replica placements by one or several strategies, as files for Kafka's tools."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assignor_sim.console import options
from assignor_sim.console.messages import DIFFERENT, exit_on_error, print_error, print_remark
from assignor_sim.console.progress import show_progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from assignor_sim.api.plan_comparison import ClusterLike, PlanComparison
    from assignors.replicas.plan import ReplicaAssignor

_DEFAULT = "exact_flow"
_MAX_CHANGES_ON_TERMINALS = 20


class PlanFormat(StrEnum):
    """The output format of plans."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"


def plan(
    cluster: Annotated[
        Path | None,
        typer.Argument(
            help="Scenario (file or shipped name), JSON of kafka-reassign-partitions.sh, or output of "
            "kafka-topics.sh --describe; - for standard input.",
            metavar="CLUSTER",
            autocompletion=options.complete_scenario,
        ),
    ] = None,
    bootstrap: options.Bootstrap = None,
    command_config: options.CommandConfig = None,
    strategy: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Use this strategy instead of {_DEFAULT}: a name or package.module:Class, with parameters as in "
            "leader_max_flow,pruning=none. Repeatable.",
            autocompletion=options.complete_strategy,
        ),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Use every built-in strategy.")] = False,
    from_: Annotated[
        list[Path] | None,
        typer.Option(
            "--from",
            help="Evaluate a plan of another tool: reassignment JSON or Cruise Control proposals. Repeatable.",
            metavar="FILE",
        ),
    ] = None,
    brokers: Annotated[
        Path | None,
        typer.Option(
            help="Read brokers from output of kafka-broker-api-versions.sh, or lines of id,rack,capacity,throughput.",
            metavar="FILE",
        ),
    ] = None,
    log_dirs: Annotated[
        Path | None, typer.Option(help="Read sizes from output of kafka-log-dirs.sh --describe.", metavar="FILE")
    ] = None,
    rates: Annotated[
        Path | None, typer.Option(help="Read measured rates from a directory of ingest.", metavar="DIR")
    ] = None,
    remove_broker: Annotated[
        list[int] | None, typer.Option(help="Decommission this broker. Repeatable.", metavar="ID")
    ] = None,
    add_broker: Annotated[
        list[str] | None, typer.Option(help="Add a broker. Repeatable.", metavar="ID:RACK[:CAPACITY]")
    ] = None,
    replication_factor: Annotated[
        int | None, typer.Option(help="Set the replication factor of every partition.", min=1, metavar="N")
    ] = None,
    topics: Annotated[
        list[str] | None,
        typer.Option(help="Change only these topics, separated by commas. Repeatable.", metavar="NAMES"),
    ] = None,
    topics_file: Annotated[
        Path | None,
        typer.Option(
            "--topics-to-move-json-file",
            help="Change only the topics of this file (as for kafka-reassign-partitions.sh) and those of --topics.",
            metavar="FILE",
        ),
    ] = None,
    no_racks: Annotated[bool, typer.Option("--no-racks", help="Ignore racks.")] = False,
    out: Annotated[Path | None, typer.Option(help="Write the plans to this directory.", metavar="DIR")] = None,
    batch_partitions: Annotated[
        int | None, typer.Option(help="Split plans into batches of at most N partitions.", min=1, metavar="N")
    ] = None,
    batch_bytes: Annotated[
        str | None, typer.Option(help="Split plans into batches that copy at most SIZE, as in 500 GB.", metavar="SIZE")
    ] = None,
    throttle: Annotated[
        str | None,
        typer.Option(help="Write scripts that execute plans at this rate per broker, as in 50 MB/s.", metavar="RATE"),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(help="Limit the search of a strategy to S seconds.", min=0.001, metavar="S"),
    ] = None,
    headroom: Annotated[
        float | None,
        typer.Option(
            help="Keep this share of every capacity free (capacity_packing).", min=0, max=0.99, metavar="SHARE"
        ),
    ] = None,
    goals: Annotated[
        str | None,
        typer.Option(help="Use these Cruise Control goals, most important first, separated by commas (goal_chain)."),
    ] = None,
    constraints: Annotated[
        Path | None,
        typer.Option(help="Read additional constraints, one per line (preferred_leader_ilp).", metavar="FILE"),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            help="Random seed of strategies, and of replicas that a scenario does not place.", min=0, metavar="N"
        ),
    ] = None,
    shuffles: Annotated[
        int | None,
        typer.Option(
            help="Test the stability of plans over N input orders; 0 for no test (default: 20; fewer for more than "
            "10,000 partitions).",
            min=0,
            metavar="N",
        ),
    ] = None,
    write_lp: Annotated[
        Path | None,
        typer.Option("--write-lp", help="Write the integer program of a strategy that has one.", metavar="FILE"),
    ] = None,
    changes: Annotated[
        int | None,
        typer.Option(
            help="List at most N changed partitions per plan (default: all of a single plan, 20 on a terminal).",
            min=0,
            metavar="N",
        ),
    ] = None,
    format_: Annotated[PlanFormat, typer.Option("--format", help="Output format.")] = PlanFormat.TEXT,
) -> None:
    """Plan replicas and preferred leaders: what changes, the brokers before and after, and six criteria.

    Example: [bold]assignor-sim plan order_processing --add-broker 7:az1 --out out/plan[/bold]
    """
    from assignor_sim.api.plan_comparison import PAGE, compare_plans, load_cluster
    from assignor_sim.text_files import write_text
    from assignors.errors import AssignorError
    from assignors.replicas.registry import built_in
    from reports.analysis.plans.results import PLAN_KIND, records
    from reports.render.plan import render
    from scenarios.kafka.plan_files import BatchLimits
    from scenarios.planning.plan_input import (
        PlanOptions,
        StrategyOptions,
        build_strategies,
        read_topics,
        strategy_parameters,
    )
    from simulator.results.result_directory import check_writable

    with exit_on_error(OSError):
        if strategy and all_:
            raise AssignorError("--all: cannot be combined with --strategy")
        names = [info.name for info in built_in()] if all_ else strategy or ([] if from_ else [_DEFAULT])
        strategy_options = StrategyOptions(time_limit, seed, headroom, goals, constraints)
        strategies = build_strategies(names, *strategy_parameters(strategy_options))
        if write_lp is not None:
            _check_lp_file(write_lp, strategies)
        if out is not None:
            check_writable(out, PLAN_KIND)
        _check_source(cluster, bootstrap, command_config)
        properties = None if bootstrap is None else options.read_properties(command_config)
        loaded = load_cluster(
            _input(cluster),
            bootstrap=bootstrap,
            properties=properties,
            brokers=brokers,
            log_dirs=log_dirs,
            rates=rates,
            seed=seed,
        )
        listed_topics = read_topics(topics_file, loaded.state) if topics_file is not None else ()
        plan_options = PlanOptions(
            remove_broker or (),
            add_broker or (),
            replication_factor,
            (*(topics or ()), *listed_topics),
            rack_aware=not no_racks,
            imported=from_ or (),
            limits=BatchLimits(batch_partitions, _parse("--batch-bytes", batch_bytes), _parse("--throttle", throttle)),
            num_orders=shuffles,
        )
        with show_progress() as on_progress:
            comparison = compare_plans(loaded, strategies, plan_options, on_progress)
        for warning in comparison.warnings:
            print_remark("warning", warning)
        is_saved = out is not None and comparison.has_plan
        rows = comparison.rows(out if is_saved else None)
        if format_ is PlanFormat.JSON:
            record = {**_with_changes(comparison), "plans": records(rows)}
            print(json.dumps(record, indent=2, ensure_ascii=False))
        else:
            print(render(comparison.results_with(rows), format_.value), end="")
        if format_ is PlanFormat.TEXT:
            for text in _diffs(comparison, changes):
                print(f"\n{text}", end="")
        if write_lp is not None:
            write_text(write_lp, comparison.lp_text())
        if out is not None and is_saved:
            comparison.save(out, options.command_line())
        if out is not None and is_saved and format_ is PlanFormat.TEXT:
            print(f"\nPage: {out / PAGE}")
    if not comparison.has_plan:
        print_error("no plan found; nothing written")
        raise typer.Exit(DIFFERENT)


def _check_source(cluster: Path | None, bootstrap: str | None, command_config: Path | None) -> None:
    from assignors.replicas.planning import PlanError

    if (cluster is None) == (bootstrap is None):
        raise PlanError("give either CLUSTER (a scenario or file) or --bootstrap HOST:PORT (a running cluster)")
    if command_config is not None and bootstrap is None:
        raise PlanError("--command-config requires --bootstrap")


def _diffs(comparison: PlanComparison, max_changes: int | None) -> Iterator[str]:
    """Yield the changes of a single plan, or of all plans if their number is given."""
    planned = [result.strategy for result in comparison.results if result.has_plan]
    if max_changes is None and len(planned) > 1:
        return
    if max_changes is None and sys.stdout.isatty():
        max_changes = _MAX_CHANGES_ON_TERMINALS
    for strategy in planned:
        yield comparison.diff(strategy, max_changes)


def _with_changes(comparison: PlanComparison) -> dict[str, Any]:
    """Return the description of the cluster, and the changes of each plan."""
    from reports.analysis.plans.results import change_records

    planned = [result.strategy for result in comparison.results if result.has_plan]
    changes = {
        strategy: change_records(comparison.changes(strategy), comparison.broker_loads(strategy))
        for strategy in planned
    }
    return {**comparison.describe(), "changes": changes}


def _input(cluster: Path | None) -> ClusterLike | None:
    """Return the argument, or the cluster on standard input."""
    from assignor_sim.text_files import STANDARD

    return sys.stdin if cluster == STANDARD else cluster


def _parse(option: str, text: str | None) -> int | None:
    from assignors.replicas.planning import PlanError
    from scenarios.language.units import parse_bytes, parse_bytes_per_s

    parse: Callable[[object], int] = parse_bytes_per_s if option == "--throttle" else parse_bytes
    try:
        return None if text is None else parse(int(text) if text.isdecimal() else text)
    except ValueError as error:
        raise PlanError(f"{option}: {error}") from None


def _check_lp_file(file: Path, strategies: Mapping[str, ReplicaAssignor]) -> None:
    """Check that exactly one strategy has an integer program, and that the file can be written.

    Raises PlanError if no strategy has a program, or several have.
    """
    from assignor_sim.text_files import check_output
    from assignors.replicas.plan import LpWriter
    from assignors.replicas.planning import PlanError

    check_output(file, "--write-lp")
    num_programs = sum(isinstance(strategy, LpWriter) for strategy in strategies.values())
    if num_programs != 1:
        count = "several strategies have" if num_programs else "no strategy has"
        raise PlanError(f"--write-lp: {count} an integer program; select one that has, by --strategy")
