"""Compare consumer partition assignors with a released Kafka on random groups, or record its answers."""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from assignors.consumers import registry
from assignors.consumers.registry import ConsumerAssignorInfo, ConsumerProtocol
from assignors.kafka_releases import CLIENTS, patch_of, registered_release
from tools.kafka_consumer_oracle.lives import AnsweredProblem, ConsumerTally, Json, answered_problems, compare
from tools.kafka_oracle.oracle import RUNS, write_problems
from tools.kafka_oracle.parity_page import PAGE, identical_share, version_numbers, with_newer

RESULTS = Path(__file__).with_name("results.json")
"""The stored runs, by release and assignors."""

BEGIN = "<!-- Below: made by `python -m tools.kafka_consumer_oracle reference`. -->\n"
END = "<!-- Above: made by `python -m tools.kafka_consumer_oracle reference`. -->\n"
HEADER = (
    "| assignor | protocol | Kafka | problems | identical | share | refused |",
    "|---|---|---|---|---|---|---|",
)


def merged(stored: Sequence[Json], runs: Sequence[Json]) -> list[Json]:
    """Return stored runs with newer ones, by release and assignors."""
    return with_newer(stored, runs, _key, _is_identical)


def markdown(runs: Sequence[Json]) -> str:
    """Return the table, with the largest run of each assignor and release, and the command of each run."""
    largest: dict[tuple[str, str, tuple[int, ...]], tuple[str, Json]] = {}
    for run in sorted(runs, key=lambda run: int(run["problems"])):
        for row in run["assignors"]:
            largest[row["protocol"], row["assignor"], version_numbers(run["kafka"])] = run["kafka"], row
    commands = [f"- Kafka {run['kafka']}, {run['date']}: `{run['command']}`" for run in runs]
    return "\n".join([*HEADER, *(_row(*largest[key]) for key in sorted(largest)), "", *commands, ""])


def read_results() -> list[Json]:
    """Return the stored runs."""
    runs: list[Json] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else []
    return runs


def write_page(runs: Path) -> int:
    """Store the summaries of all runs below `runs`, and write the generated part of the page; return their number."""
    summaries = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(runs.glob("*/consumers*.json"))]
    kept = merged(read_results(), summaries)
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(f"{head}{BEGIN}\n{markdown(kept)}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    return len(summaries)


def _row(release: str, row: Mapping[str, Any]) -> str:
    identical = identical_share(row["identical"], row["compared"])
    numbers = f"{row['compared']:,} | {row['identical']:,} | {identical} | {row['refused']:,}"
    return f"| `{row['assignor']}` | {row['protocol']} | {release} | {numbers} |"


def _key(run: Json) -> tuple[tuple[int, ...], tuple[str, ...]]:
    return version_numbers(run["kafka"]), tuple(f"{row['protocol']} {row['assignor']}" for row in run["assignors"])


def _is_identical(run: Json) -> bool:
    return all(row["compared"] == row["identical"] for row in run["assignors"])


NEWEST_KAFKA = CLIENTS["4.4"]
"""Newest release that has the assignors of clients and of brokers."""


def main() -> int:
    """Run the command line; return 1 if an answer differs."""
    return run(argument_parser().parse_args())


def argument_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.kafka_consumer_oracle", description=__doc__)
    parser.add_argument("command", choices=("compare", "record", "reference"))
    parser.add_argument("--kafka", type=patch_of, default=NEWEST_KAFKA, metavar="VERSION", help="a release")
    parser.add_argument("--problems", type=int, default=2000, help="number of problems for each assignor")
    parser.add_argument("--rounds", type=int, default=5, help="number of rebalances of each group")
    parser.add_argument("--seed", type=int, default=1, help="seed of the first group")
    parser.add_argument("--assignor", metavar="NAME", help="only assignors of this name, such as uniform")
    parser.add_argument("--out", type=Path, help="file for the answered problems: all (record), or those that differ")
    return parser


def run(options: argparse.Namespace) -> int:
    """Run the command that the options name; return 1 if an answer differs."""
    if options.command == "reference":
        print(f"{write_page(RUNS)} runs stored")
        return 0
    parser = argument_parser()
    assignors = [info for info in assignors_of(options.kafka) if options.assignor in (None, info.name_without_release)]
    if not assignors:
        parser.error(f"--kafka {options.kafka}: no consumer assignor of this release is known, such as {NEWEST_KAFKA}")
    if options.command == "record" and options.out is None:
        parser.error("record needs --out FILE.jsonl.gz")
    if min(options.problems, options.rounds) < 1:
        parser.error("--problems and --rounds: at least 1")
    if options.command == "record":
        write_problems(options.out, recorded(problems_of(assignors, options)))
        return 0
    tallies = compare(problems_of(assignors, options))
    for info, tally in tallies:
        print(
            f"Kafka {options.kafka}, {info.name} ({info.protocol}): "
            f"{tally.identical} of {tally.compared} problems identical ({tally.refused} exceptions)"
        )
    different = [problem for _, tally in tallies for problem in tally.different]
    if options.out is not None and different:
        write_problems(options.out, different)
    folder = RUNS / options.kafka
    folder.mkdir(parents=True, exist_ok=True)
    summary = json.dumps(summarize(options, tallies), indent=2)
    (folder / f"consumers{options.assignor or ''}.json").write_text(summary + "\n", encoding="utf-8")
    return 1 if different else 0


def assignors_of(kafka_version: str) -> list[ConsumerAssignorInfo]:
    """Return the assignors of a release's clients and brokers."""
    if kafka_version.count(".") != 2:
        return []
    return [
        info.at(kafka_version)
        for info in registry.built_in()
        if registered_release(kafka_version, info.releases) is not None
    ]


def problems_of(
    assignors: Sequence[ConsumerAssignorInfo], options: argparse.Namespace
) -> Iterator[tuple[ConsumerAssignorInfo, AnsweredProblem]]:
    """Yield the answered problems of assignors: all rounds of as many groups as needed."""
    groups = -(-options.problems // options.rounds)
    seeds = range(options.seed, options.seed + groups)
    for protocol in ConsumerProtocol:
        if of_protocol := [info for info in assignors if info.protocol is protocol]:
            yield from answered_problems(of_protocol, options.kafka, seeds, options.rounds)


def recorded(answered: Iterable[tuple[ConsumerAssignorInfo, AnsweredProblem]]) -> list[Json]:
    """Return the lines of a problem file, whose problems name the release, by group: such files are much smaller."""
    lines = [
        {"problem": {**problem.problem, "assignor": info.name}, "expected": problem.answer}
        for info, problem in answered
    ]
    return sorted(lines, key=lambda line: (line["problem"]["id"].partition("/")[0], line["problem"]["protocol"]))


def summarize(options: argparse.Namespace, tallies: Iterable[tuple[ConsumerAssignorInfo, ConsumerTally]]) -> Json:
    """Return the summary of a comparison, for the table of docs/reference/parity.md."""
    command = "make parity-consumers RELEASE={kafka} PROBLEMS={problems} SEED={seed}".format_map(vars(options))
    if options.assignor is not None:
        command += f" ASSIGNOR={options.assignor}"
    return {
        "kafka": options.kafka,
        "problems": options.problems,
        "date": datetime.date.today().isoformat(),
        "command": command,
        "assignors": [
            {"assignor": info.name_without_release, "protocol": str(info.protocol), **tally.as_row()}
            for info, tally in tallies
        ],
    }


if __name__ == "__main__":
    sys.exit(main())
