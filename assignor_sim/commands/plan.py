"""`assignor-sim plan`: where replicas and leaders should be, by one strategy or side by side, as files Kafka takes."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assignor_sim.console.exits import DIFFERENT, exit_on_error

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from assignor_sim.plan_request import PlanInput
    from assignors.replicas.plan import ReplicaAssignor
    from scenarios.clusters.cluster_reader import LoadedCluster
    from scenarios.kafka.plan_files.batches import BatchLimits

_USUAL = "exact_flow"


class PlanFormat(StrEnum):
    """How plans are printed."""

    TEXT = "text"
    JSON = "json"


def plan(
    cluster: Annotated[
        Path,
        typer.Argument(
            help="Scenario (file, or name of a shipped one), JSON of kafka-reassign-partitions.sh, or what "
            "kafka-topics.sh --describe prints; - is standard input.",
            metavar="CLUSTER",
        ),
    ],
    strategy: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Ask this one, in place of {_USUAL}: a name, or package.module:Class; with its parameters behind it, "
            "as in leader_max_flow,pruning=none. May be repeated."
        ),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Ask every built-in strategy.")] = False,
    from_: Annotated[
        list[Path] | None,
        typer.Option(
            "--from",
            help="Judge and write a plan made elsewhere: reassignment JSON or Cruise Control's proposals. Repeatable.",
            metavar="FILE",
        ),
    ] = None,
    brokers: Annotated[
        Path | None,
        typer.Option(
            help="The brokers: what kafka-broker-api-versions.sh prints, or lines of id,rack,capacity,throughput.",
            metavar="FILE",
        ),
    ] = None,
    log_dirs: Annotated[
        Path | None, typer.Option(help="The sizes: what kafka-log-dirs.sh --describe prints.", metavar="FILE")
    ] = None,
    rates: Annotated[
        Path | None, typer.Option(help="Measured rates: the directory that ingest wrote.", metavar="DIR")
    ] = None,
    remove_broker: Annotated[
        list[int] | None, typer.Option(help="Take this one out of use. May be repeated.", metavar="ID")
    ] = None,
    add_broker: Annotated[
        list[str] | None, typer.Option(help="A broker to come. May be repeated.", metavar="ID:RACK[:CAPACITY]")
    ] = None,
    replication_factor: Annotated[
        int | None, typer.Option(help="How many replicas every partition shall have.", min=1, metavar="N")
    ] = None,
    topics: Annotated[
        list[str] | None,
        typer.Option(help="Only these may change, separated by commas. May be repeated.", metavar="NAMES"),
    ] = None,
    topics_file: Annotated[
        Path | None,
        typer.Option(
            "--topics-to-move-json-file",
            help="Only these topics, and those of --topics, may change: a file as for kafka-reassign-partitions.sh.",
            metavar="FILE",
        ),
    ] = None,
    no_racks: Annotated[bool, typer.Option("--no-racks", help="Leave racks out of account.")] = False,
    out: Annotated[Path | None, typer.Option(help="Directory for the files.", metavar="DIR")] = None,
    batch_partitions: Annotated[
        int | None, typer.Option(help="Cut the plan into batches of so many partitions.", min=1, metavar="N")
    ] = None,
    batch_bytes: Annotated[
        str | None, typer.Option(help="Cut it into batches that copy at most so much, as in 500 GB.", metavar="SIZE")
    ] = None,
    throttle: Annotated[
        str | None,
        typer.Option(help="Write scripts that carry plans out at this rate per broker, as in 50 MB/s.", metavar="RATE"),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(help="How long strategies that search may do so, in seconds.", min=0.001, metavar="S"),
    ] = None,
    headroom: Annotated[
        float | None,
        typer.Option(help="Share of every capacity to keep free (capacity_packing).", min=0, max=0.99, metavar="SHARE"),
    ] = None,
    goals: Annotated[
        str | None,
        typer.Option(help="Cruise Control goals, most important first, separated by commas (goal_chain)."),
    ] = None,
    constraints: Annotated[
        Path | None,
        typer.Option(help="Constraints of your own, one a line (preferred_leader_ilp).", metavar="FILE"),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            help="Draws what a strategy draws, and replicas that a scenario does not place.", min=0, metavar="N"
        ),
    ] = None,
    shuffles: Annotated[
        int, typer.Option(help="Ask in so many orders whether a plan stays the same; 0: do not.", min=0, metavar="N")
    ] = 20,
    write_lp: Annotated[
        Path | None,
        typer.Option("--write-lp", help="Write the integer programme of a strategy that has one.", metavar="FILE"),
    ] = None,
    format_: Annotated[PlanFormat, typer.Option("--format", help="How it is printed.")] = PlanFormat.TEXT,
) -> None:
    """Plan where replicas and leaders should be, and compare strategies by six criteria.

    Example: [bold]assignor-sim plan order_processing --add-broker 7:az1 --out out/plan[/bold]
    """
    from assignor_sim.console.progress import show_progress
    from assignor_sim.plan_answers import current_row, run_strategies
    from assignor_sim.plan_given import evaluate_imported_plan, read_imported_plan
    from assignor_sim.plan_output import PAGE, check_out, describe_cluster, rows_with_folders, write_plan_folder
    from assignor_sim.plan_parameters import ParameterOptions, strategy_parameters
    from assignor_sim.plan_request import PlanOptions, build_plan_input, build_strategies
    from assignor_sim.plan_topics import read_topics
    from assignor_sim.text_files import write_text
    from assignors.errors import AssignorError
    from assignors.replicas.registry import built_in
    from reports.render.terminal.plans import render
    from scenarios.language.errors import ScenarioError
    from simulator.results.result_directory import ResultsError

    with exit_on_error(ScenarioError, AssignorError, ResultsError, OSError):
        if strategy and all_:
            raise AssignorError("--all: asks every strategy, so leave --strategy out")
        names = [info.name for info in built_in()] if all_ else strategy or ([] if from_ else [_USUAL])
        options = ParameterOptions(time_limit, seed, headroom, goals, constraints)
        chosen = build_strategies(names, *strategy_parameters(options))
        check_out(out)
        read = _read(cluster, brokers, log_dirs, rates, seed)
        listed = read_topics(topics_file, read.state) if topics_file is not None else ()
        chosen_topics = (*(topics or ()), *listed)
        wishes = PlanOptions(remove_broker or (), add_broker or (), replication_factor, chosen_topics, not no_racks)
        asked = build_plan_input(read.state, wishes, read.log_dirs)
        limits = _limits(batch_partitions, batch_bytes, throttle, asked)
        given = [read_imported_plan(path, asked) for path in dict.fromkeys(from_ or ())]
        programme = None if write_lp is None else _programme(write_lp, chosen, asked)
        for remark in (*read.remarks, *asked.remarks):
            print(f"warning: {remark}", file=sys.stderr)
        with show_progress() as on_progress:
            found = [evaluate_imported_plan(each, asked, limits) for each in given]
            found += run_strategies(chosen, asked, limits, shuffles, on_progress)
        told = describe_cluster(str(cluster), read.remarks, asked, wishes)
        rows = [current_row(asked), *rows_with_folders(found, out)]
        is_planned = any(answer.has_plan for answer in found)
        if out is not None and is_planned:
            write_plan_folder(out, asked, found, rows, told)
        if write_lp is not None and programme is not None:
            write_text(write_lp, programme)
        print(render(told, rows, format_.value), end="")
        if out is not None and is_planned and format_ is PlanFormat.TEXT:
            print(f"\nFigures and page: {out / PAGE}")
    if not is_planned:
        print("no plan, and nothing written", file=sys.stderr)
        raise typer.Exit(DIFFERENT)


def _read(
    cluster: Path, brokers: Path | None, log_dirs: Path | None, rates: Path | None, seed: int | None
) -> LoadedCluster:
    from assignor_sim.text_files import STANDARD
    from scenarios.clusters.cluster_reader import read_cluster
    from scenarios.language.errors import Mistake, ScenarioError
    from scenarios.language.text_files import MAX_IMPORT_BYTES, UnreadableError, read_text
    from scenarios.shipped import find_scenario

    path = None if cluster == STANDARD else find_scenario(cluster)
    source = "standard input" if path is None else str(path)
    try:
        if path is None:
            text = sys.stdin.read()
        else:
            text = read_text(path, MAX_IMPORT_BYTES, f"longer than {MAX_IMPORT_BYTES:,} bytes")
    except (UnreadableError, UnicodeDecodeError) as error:
        why = "not UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(error)
        raise ScenarioError([Mistake(source, None, "", why)]) from None
    return read_cluster(source, text, path=path, brokers=brokers, log_dirs=log_dirs, rates=rates, seed=seed)


def _limits(partitions: int | None, size: str | None, throttle: str | None, asked: PlanInput) -> BatchLimits:
    from assignors.replicas.planning import PlanError
    from scenarios.kafka.plan_files.batches import BatchLimits
    from scenarios.language.units import parse_bytes, parse_bytes_per_s

    most = _amount("--batch-bytes", size, parse_bytes)
    if most is not None and asked.state.size_bytes is None:
        raise PlanError("--batch-bytes: the sizes of partitions are not known; --log-dirs FILE tells them")
    rate = _amount("--throttle", throttle, parse_bytes_per_s)
    if rate == 0:
        raise PlanError("--throttle: nothing would ever be copied at a rate of 0")
    return BatchLimits(partitions, most, rate)


def _amount(option: str, text: str | None, parse: Callable[[object], int]) -> int | None:
    from assignors.replicas.planning import PlanError

    try:
        return None if text is None else parse(int(text) if text.isdecimal() else text)
    except ValueError as error:
        raise PlanError(f"{option}: {error}") from None


def _programme(file: Path, chosen: Mapping[str, ReplicaAssignor], asked: PlanInput) -> str:
    """The integer programme of the one strategy that has one."""
    from assignors.replicas.planning import PlanError

    if not file.parent.is_dir():
        raise PlanError(f"--write-lp {file}: there is no folder {file.parent}")
    writers = [writer for each in chosen.values() if (writer := getattr(each, "lp_text", None)) is not None]
    if len(writers) != 1:
        how_many = "several of the strategies have" if writers else "none of the strategies has"
        raise PlanError(f"--write-lp: {how_many} an integer programme; name one that has, by --strategy")
    return str(writers[0](asked.state.take(asked.rows), asked.request))
