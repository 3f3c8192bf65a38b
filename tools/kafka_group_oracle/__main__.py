"""Compare answers for streams groups, or the table of their configs, with a released Kafka; or record answers."""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from assignors import registry
from assignors.built_in_assignors import AssignorInfo
from assignors.java.hash_order import CollectionOrder
from assignors.kafka_releases import patch_of
from scenarios.language.streams_group_configs import STREAMS_GROUP_CONFIGS, StreamsGroupConfig
from scenarios.problems import Problem, answer_differences, solve_problem
from tools.kafka_group_oracle.lives import answered_problems, assignor_of
from tools.kafka_group_oracle.oracle import NEWEST_KAFKA, CustomClass, Json, read_configs
from tools.kafka_oracle import parity_page
from tools.kafka_oracle.compare import Tally
from tools.kafka_oracle.oracle import RUNS, write_problems

_LIMITS: Final = {"[1,...]": " ≥ 1", "[0,...]": " ≥ 0"}


def config_differences(kafka_version: str, released: Mapping[str, Json]) -> Iterator[str]:
    """Yield what differs between the table and a release, one sentence per key.

    `released`: type, default, valid values and visibility of each config of the release, by key.
    """
    major, minor = map(int, kafka_version.split(".")[:2])
    known = [(key, since, config) for config in STREAMS_GROUP_CONFIGS for key, since in config.first_releases()]
    table = {key: config for key, since, config in known if since <= (major, minor)}
    for key in sorted({*table, *released}):
        if key not in released:
            yield f"{key}: not in Kafka {kafka_version}"
        elif key not in table:
            yield f"{key}: in Kafka {kafka_version} only"
        else:
            ours, theirs = _described(table[key]), _described_release(released[key])
            if ours != theirs:
                yield f"{key}: {ours} in the table, {theirs} in Kafka {kafka_version}"


def _described(config: StreamsGroupConfig) -> tuple[str, str | None, bool]:
    return config.valid, config.default, config.is_internal


def _described_release(config: Json) -> tuple[str, str | None, bool]:
    return config["type"].lower() + _LIMITS.get(config["valid"], ""), config["default"], config["internal"]


def main() -> int:
    """Run the command line; return 1 if an answer differs."""
    return run(argument_parser().parse_args())


def argument_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.kafka_group_oracle", description=__doc__)
    parser.add_argument("command", choices=("compare", "record", "configs"))
    parser.add_argument("--kafka", type=patch_of, default=NEWEST_KAFKA, metavar="VERSION", help="a release")
    parser.add_argument("--groups", type=int, default=2000, help="number of random groups")
    parser.add_argument("--rounds", type=int, default=6, help="number of assignments of each group")
    parser.add_argument("--seed", type=int, default=1, help="seed of the first group")
    parser.add_argument("--out", type=Path, help="file for the answered problems: all (record), or those that differ")
    parser.add_argument("--assignor", metavar="CLASS", help="a custom Java class instead of Kafka's (KIP-1357)")
    parser.add_argument("--classes", type=Path, action="append", default=[], help="folder or jar of its classes")
    parser.add_argument("--port", metavar="NAME", help="the same assignor in Python, as package.module:Class")
    return parser


def run(options: argparse.Namespace) -> int:
    """Run the command that the options name; return 1 if an answer differs."""
    parser = argument_parser()
    if options.kafka.count(".") != 2:
        parser.error(f"--kafka {options.kafka}: not a release such as {NEWEST_KAFKA}")
    if (options.assignor is None) != (options.port is None):
        parser.error("--assignor and --port: name both, the class in Java and the same assignor in Python")
    if options.command == "configs":
        return compare_configs(options.kafka)
    custom = None if options.assignor is None else CustomClass(options.assignor, options.classes)
    seeds = range(options.seed, options.seed + options.groups)
    answered = answered_problems(options.kafka, seeds, options.rounds, custom)
    if options.command == "record":
        if options.out is None:
            parser.error("record needs --out FILE.jsonl.gz")
        write_problems(options.out, (line for _, line in answered))
        return 0
    info = registry.find(assignor_of(options.kafka)) if custom is None else registry.load(options.port)
    tally = compare(answered, options.kafka, info, options.out)
    if custom is not None:
        return 0 if tally.identical() else 1
    folder = RUNS / options.kafka
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "streams_groups.json").write_text(
        json.dumps(summarize(options, tally), indent=2) + "\n", encoding="utf-8"
    )
    return 0 if tally.identical() else 1


def compare_configs(kafka_version: str) -> int:
    """Print how the table of configs differs from a release; return 1 if it does."""
    released = read_configs(kafka_version)
    differences = list(config_differences(kafka_version, released))
    for difference in differences:
        print(difference, file=sys.stderr)
    print(f"Kafka {kafka_version}: {len(released)} configs of streams groups, {len(differences)} differ from the table")
    return 1 if differences else 0


def compare(
    answered: Iterator[tuple[Problem, Json]], kafka_version: str, info: AssignorInfo, out: Path | None
) -> Tally:
    """Count identical answers in both collection orders, and print the problems that differ."""
    tally, wrong = Tally(), []
    for problem, line in answered:
        tally.compared += 1
        tally.refused += (problem.expected or {})["error"] is not None
        tally.order_sensitive += problem.expected_hash_order is not None
        differences = []
        for order in CollectionOrder:
            ours = solve_problem(problem, "random", info, order)
            of_order = answer_differences(problem.expected_answer(order) or {}, ours)
            tally.agreed[order] += not of_order
            differences += [f"{order}: {text}" for text in of_order]
        if differences:
            print(f"{problem.id}, {differences[0][:300]}", file=sys.stderr)
            wrong.append(line)
    print(
        f"Kafka {kafka_version}, {info.name}: {tally.compared - len(wrong)} of {tally.compared} problems identical",
        end=" ",
    )
    print(f"in both orders ({tally.order_sensitive} depend on the order)")
    if out is not None and wrong:
        write_problems(out, iter(wrong))
    return tally


def summarize(options: argparse.Namespace, tally: Tally) -> Json:
    """Return the summary of a comparison, for the table of docs/reference/parity.md."""
    command = (
        "python -m tools.kafka_group_oracle compare --kafka {kafka} --groups {groups} --rounds {rounds} --seed {seed}"
    )
    tallies = {(assignor_of(options.kafka), ""): tally}
    date = datetime.date.today().isoformat()
    summary = parity_page.summarize(options.kafka, options.seed, tally.compared, date, tallies)
    return {**summary, "command": command.format_map(vars(options))}


if __name__ == "__main__":
    sys.exit(main())
