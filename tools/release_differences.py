"""Ask every released Kafka the same questions, and write the table of docs/reference/parity.md on what changed.

python -m tools.release_differences --problems 2000 --groups 300
"""

from __future__ import annotations

import argparse
import datetime
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scenarios.problems import Problem, answer_differences
from tools.kafka_group_oracle.lives import answered_problems
from tools.kafka_group_oracle.oracle import run_assignor
from tools.kafka_oracle import threads
from tools.kafka_oracle.generate import generate
from tools.kafka_oracle.oracle import KafkaOracle
from tools.kafka_oracle.parity_page import PAGE

Json = dict[str, Any]

CLIENTS = ("3.8.1", "3.9.1", "4.0.2", "4.1.2", "4.2.1", "4.3.1")
"""The last patch of each minor release of `kafka-streams`, oldest first."""

BROKERS = ("4.2.0", "4.3.1", "4.4.0")
"""A patch of each minor release of `kafka-group-coordinator` with streams groups, oldest first."""

BEGIN = "<!-- Below: made by `python -m tools.release_differences`. -->\n"
END = "<!-- Above: made by `python -m tools.release_differences`. -->\n"

THREADS = "tasks to threads"
ROUNDS = 4

Row = Mapping[str, tuple[int, int]]
"""The numbers of different answers and of problems, by release."""


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.release_differences",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--problems", type=int, default=2000, help="number of random problems of clients")
    parser.add_argument("--groups", type=int, default=300, help=f"number of streams groups, {ROUNDS} rounds each")
    parser.add_argument("--seed", type=int, default=1, help="seed of the problems and of the first group")
    parser.add_argument(
        "--only", choices=("clients", "brokers"), help="ask only the releases of clients, or of brokers"
    )
    options = parser.parse_args()
    rows: dict[str, Row] = {}
    command = f"python -m tools.release_differences --seed {options.seed}"
    if options.only != "brokers":
        rows |= compare_clients(list(generate(options.seed, options.problems)))
        rows[THREADS] = compare_threads(list(threads.generate(options.seed, options.problems)))
        command += f" --problems {options.problems}"
    if options.only != "clients":
        rows["streams_group_sticky"] = compare_brokers(range(options.seed, options.seed + options.groups))
        command += f" --groups {options.groups}"
    if options.only is not None:
        command += f" --only {options.only}"
    write_section(f"{markdown(rows)}\n{datetime.date.today().isoformat()}: `{command}`\n")
    return 0


def compare_clients(problems: Sequence[Json]) -> dict[str, Row]:
    """Return how many answers of each release of clients differ from the newest, by assignor."""
    answers = {release: [answer for _, answer in _ask(release, problems)] for release in CLIENTS}
    assignors = sorted({problem["assignor"] for problem in problems})
    positions = {name: [at for at, problem in enumerate(problems) if problem["assignor"] == name] for name in assignors}
    return {
        name: {
            release: (sum(differ(answers[release][at], answers[CLIENTS[-1]][at]) for at in ats), len(ats))
            for release in CLIENTS
        }
        for name, ats in positions.items()
    }


def _ask(release: str, problems: Sequence[Json]) -> Iterator[tuple[Json, Json]]:
    with KafkaOracle(release) as oracle:
        yield from oracle.ask(problems)


def compare_threads(problems: Sequence[Json]) -> Row:
    """Return how many assignments of tasks to threads differ from the newest release of clients."""
    answers = {}
    for release in CLIENTS:
        with KafkaOracle(release, (), main_class=threads.MAIN_CLASS) as oracle:
            answers[release] = [answer for _, answer in oracle.ask(problems)]
    newest = answers[CLIENTS[-1]]
    return {
        release: (sum(one != other for one, other in zip(answers[release], newest, strict=True)), len(problems))
        for release in CLIENTS
    }


def compare_brokers(seeds: range) -> Row:
    """Return how many answers of each release of brokers differ from the newest, in lives with the newest."""
    lives = answered_problems(BROKERS[-1], seeds, ROUNDS)
    answered = [(problem, _both_orders(problem)) for problem, _ in lives]
    row = {}
    for release in BROKERS:
        answers = run_assignor([dict(problem.problem) for problem, _ in answered], release)
        different = sum(differ(answer, newest) for answer, (_, newest) in zip(answers, answered, strict=True))
        row[release] = (different, len(answered))
    return row


def _both_orders(problem: Problem) -> Json:
    return {"sorted": problem.expected, "production": problem.expected_hash_order or problem.expected}


def differ(answers: Json, newest: Json) -> bool:
    """Return whether an answer differs in any order; exceptions whose class only moved are the same."""
    return any(
        answer_differences(_without_package(newest[order]), _without_package(answers[order])) for order in newest
    )


def _without_package(answer: Json) -> Json:
    error = answer["error"]
    return answer if error is None else {**answer, "error": error.partition(":")[0].rpartition(".")[2]}


def markdown(rows: Mapping[str, Row]) -> str:
    """Return the table: the share of different answers by assignor and minor release."""
    releases = sorted({release for row in rows.values() for release in row}, key=_version)
    lines = [f"| assignor | problems | {' | '.join(releases)} |", "|---" * (2 + len(releases)) + "|"]
    for name, row in rows.items():
        problems = next(iter(row.values()))[1]
        shown = name if name == THREADS else f"`{name}`"
        cells = (_cell(*row[release]) if release in row else "–" for release in releases)
        lines.append(f"| {shown} | {problems:,} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(different: int, problems: int) -> str:
    return f"{different / problems:.1%} ({different:,})".replace("%", " %") if different else "0"


def _version(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")))


def write_section(text: str) -> None:
    """Replace the section of the page."""
    head, begin, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{PAGE} has no section between the marks of tools.release_differences")
    PAGE.write_text(f"{head}{BEGIN}\n{text}\n{END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
