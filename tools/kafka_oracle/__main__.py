"""Run the assignors of a released Kafka version on problems.

python -m tools.kafka_oracle parity --kafka 3.9.1 --problems 3000 --seed 1
python -m tools.kafka_oracle check --kafka 4.0.2 tests/parity/data/*.jsonl.gz
python -m tools.kafka_oracle answer --kafka 4.3.1 problems.jsonl > answered.jsonl
python -m tools.kafka_oracle answer --kafka 4.3.1 --assignor mine.Nearest --classes mine.jar problems.jsonl
python -m tools.kafka_oracle time --kafka 4.3.1 problem.json.gz
python -m tools.kafka_oracle threads --kafka 4.3.1 --problems 3000 --seed 1
python -m tools.kafka_oracle generate --problems 100 --seed 1 > problems.jsonl
python -m tools.kafka_oracle reference
"""

from __future__ import annotations

import argparse
import datetime
import gzip
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from assignors.kafka_releases import patch_of
from scenarios.problems import Problem, ProblemError, read_problems
from tools.java import ClusterError
from tools.kafka_oracle import parity_page, threads
from tools.kafka_oracle.compare import Tallies, compare, our_answer, recorded_answers, render, save, total
from tools.kafka_oracle.generate import generate
from tools.kafka_oracle.oracle import RUNS, KafkaOracle, Oracle, check_version

Json = dict[str, Any]
OracleFactory = Callable[..., AbstractContextManager[Oracle]]

MEASURED_RUNS = 5
WARM_UPS = 2
BUDGET_S = 50.0
LIMIT_S = 150.0
STARTING_S = 60.0
"""Time for Java to start and to read the problem."""
OPTIONS = ("-Xmx4g",)
"""JVM options; defaults otherwise, as in production."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Kafka's run time on one problem.

    Attributes:
        runs_ms: Duration of each measured run; empty if Kafka was stopped.
        stopped_after_s: Time after which the first run was stopped; None if it finished.
    """

    name: str
    runs_ms: tuple[float, ...]
    stopped_after_s: float | None = None
    java: str = ""

    @property
    def median_ms(self) -> float | None:
        """Median of the measured runs; None if Kafka was stopped in the first run."""
        return median(self.runs_ms) if self.runs_ms else None

    def line(self) -> str:
        """Return one line of text."""
        if self.median_ms is None:
            return f"{self.name}: > {self.stopped_after_s:g} s (stopped)"
        least, most = min(self.runs_ms), max(self.runs_ms)
        return f"{self.name}: median {self.median_ms:.1f} ms of {len(self.runs_ms)} ({least:.1f} to {most:.1f})"

    def summary(self) -> Json:
        """Return the measurements as plain values."""
        return {
            "id": self.name,
            "median_ms": self.median_ms,
            "runs_ms": list(self.runs_ms),
            "stopped_after_s": self.stopped_after_s,
            "java": self.java,
        }


def time_problem(
    kafka_version: str,
    problem: Json,
    *,
    runs: int = MEASURED_RUNS,
    warm_ups: int = WARM_UPS,
    budget_s: float = BUDGET_S,
    limit_s: float = LIMIT_S,
    open_oracle: OracleFactory = KafkaOracle,
) -> Timing:
    """Measure the run time of Kafka's `assign` alone, with hash collections as in production, in a separate JVM.

    No run starts after `budget_s` seconds of runs; if that leaves no measured run, the last warm-up counts. A run that
    exceeds `limit_s` seconds is stopped and is the last one. `warm_ups`: number of runs before the measured ones.
    `budget_s`: time after which no run starts. `open_oracle`: starts the Java process; takes the arguments of
    `KafkaOracle`.
    """
    mode = ("time", str(warm_ups + runs), str(int(budget_s * 1000)), str(int(limit_s * 1000)))
    with open_oracle(kafka_version, mode, options=OPTIONS, limit_s=STARTING_S + budget_s + limit_s) as oracle:
        [(_, timed)] = oracle.ask([problem])
    runs_ms = measured(timed["nanos"], warm_ups)
    return Timing(str(problem.get("id", "")), runs_ms, None if runs_ms else limit_s, timed["java"])


def measured(nanos: list[int], warm_ups: int) -> tuple[float, ...]:
    """Return the measured runs in milliseconds: those after the warm-ups, or the last one if there are none."""
    return tuple(n / 1e6 for n in nanos[warm_ups:] or nanos[-1:])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return exit code 0 (OK), 1 (an answer differs) or 2 (invalid input)."""
    options = argument_parser().parse_args(arguments)
    try:
        if "kafka" in options:
            check_version(options.kafka)
        return int(options.run(options))
    except (ClusterError, ProblemError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def run_parity(options: argparse.Namespace) -> int:
    """Compare the answers of Kafka and of the reimplementation to random problems."""
    out = options.out / options.kafka
    tallies: Tallies = {}
    started = time.monotonic()
    with KafkaOracle(options.kafka) as oracle:
        problems = ({**problem, "kafka": options.kafka} for problem in generate(options.seed, options.problems))
        wrong = save(compare(oracle, problems, our_answer, tallies), out / "disagreements.jsonl")
    print(f"Kafka {options.kafka}, {options.problems} problems from seed {options.seed}:")
    print(render(tallies))
    date = datetime.date.today().isoformat()
    summary = parity_page.summarize(options.kafka, options.seed, options.problems, date, tallies)
    (out / "summary.json").write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    return _print_result(tallies, wrong, out / "disagreements.jsonl", started)


def run_check(options: argparse.Namespace) -> int:
    """Compare the answers of Kafka with recorded ones."""
    tallies: Tallies = {}
    started = time.monotonic()
    recorded = [problem for path in options.files for problem in _read(path)]
    saved = options.out / options.kafka / "check_disagreements.jsonl"
    with KafkaOracle(options.kafka) as oracle:
        problems = [dict(problem.problem) for problem in recorded]
        copies = [
            Problem(old.line, new, old.expected, old.expected_hash_order)
            for old, new in zip(recorded, problems, strict=True)
        ]
        wrong = save(compare(oracle, problems, recorded_answers(copies), tallies), saved)
    print(f"Kafka {options.kafka}, the recorded answers of {', '.join(map(str, options.files))}:")
    print(render(tallies))
    return _print_result(tallies, wrong, saved, started)


def run_answer(options: argparse.Namespace) -> int:
    """Write Kafka's answers, as pairs of problem and answer."""
    named = {"kafka": options.kafka, **({} if options.assignor is None else {"assignor": options.assignor})}
    with KafkaOracle(options.kafka, classes=options.classes) as oracle:
        for path in options.files:
            for problem, answers in oracle.ask({**item.problem, **named} for item in _read(path)):
                pair = {"problem": problem, "expected": answers["sorted"], "expected_hash_order": answers["production"]}
                print(json.dumps(pair))
    return 0


def run_time(options: argparse.Namespace) -> int:
    """Measure Kafka's run time, one JVM per problem."""
    for path in options.files:
        for problem in _read(path):
            timed = time_problem(
                options.kafka,
                dict(problem.problem),
                runs=options.runs,
                warm_ups=options.warm_ups,
                budget_s=options.budget_s,
                limit_s=options.limit_s,
            )
            print(json.dumps(timed.summary()) if options.format == "json" else timed.line(), flush=True)
    return 0


def run_threads(options: argparse.Namespace) -> int:
    """Compare the assignment of tasks to threads by Kafka and by the reimplementation, for random clients."""
    with KafkaOracle(options.kafka, (), main_class=threads.MAIN_CLASS) as oracle:
        return compare_threads(oracle, options)


def compare_threads(oracle: Oracle, options: argparse.Namespace) -> int:
    """Compare the assignment of tasks to threads by an oracle and by the reimplementation.

    `oracle`: Kafka, or a replacement; `options`: options of the command `threads`. Returns the exit code.
    """
    tally: Counter[str] = Counter()
    started = time.monotonic()
    answered = list(threads.compare(oracle, threads.generate(options.seed, options.problems), tally))
    wrong = [pair for pair in answered if "found" in pair]
    saved = options.out / options.kafka / "threads_disagreements.jsonl.gz"
    saved.unlink(missing_ok=True)
    if options.record is not None:
        threads.write(answered, options.record)
    if wrong:
        threads.write(wrong, saved)
    print(f"Kafka {options.kafka}, the threads of {options.problems} clients from seed {options.seed}:")
    print(threads.render(tally))
    took = f"{time.monotonic() - started:.0f} s"
    if answered and not wrong:
        print(f"All {len(answered)} identical; {took}.")
        return 0
    print(f"{len(wrong)} of {len(answered)} differ: {saved}; {took}." if wrong else "Nothing to compare.")
    return 1


def run_generate(options: argparse.Namespace) -> int:
    """Write the problems of a seed."""
    for problem in generate(options.seed, options.problems):
        print(json.dumps(problem))
    return 0


def run_reference(options: argparse.Namespace) -> int:
    """Write the table of docs/reference/parity.md from the runs in the output directory."""
    print(f"{parity_page.PAGE.name}: {parity_page.write_page(options.out)} runs")
    return 0


def _print_result(tallies: Tallies, wrong: int, saved: Path, started: float) -> int:
    whole = total(tallies)
    took = f"{time.monotonic() - started:.0f} s"
    if wrong == 0 and whole.compared > 0:
        print(f"All {whole.compared} identical in both orders; {took}.")
        return 0
    what = f"{wrong} of {whole.compared} differ: {saved}" if wrong else "Nothing to compare"
    print(f"{what}; {took}.")
    return 1


def _read(path: Path) -> Iterator[Problem]:
    """Yield the problems of a file, compressed or not."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as source:
        yield from read_problems(source, str(path))


def argument_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.kafka_oracle", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: object, *, kafka: bool = True, files: bool = False, seed: bool = False) -> None:
        added = commands.add_parser(name, help=run.__doc__, description=run.__doc__)
        added.set_defaults(run=run)
        if kafka:
            added.add_argument("--kafka", type=patch_of, required=True, metavar="VERSION", help="a release")
        if files:
            added.add_argument("files", nargs="+", type=Path, metavar="FILE", help="problem files")
        if seed:
            added.add_argument("--problems", type=int, default=3000, metavar="N")
            added.add_argument("--seed", type=int, default=1)
        if name in ("parity", "check", "reference", "threads"):
            added.add_argument("--out", type=Path, default=RUNS, metavar="DIR", help="output directory of runs")
        if name == "answer":
            added.add_argument(
                "--assignor", metavar="CLASS", help="a TaskAssignor class that replaces the problems' assignors"
            )
            added.add_argument(
                "--classes", type=Path, action="append", default=[], metavar="PATH", help="folder or jar of its classes"
            )
        if name == "threads":
            added.add_argument("--record", type=Path, metavar="FILE", help="file for Kafka's answers, compressed")
        if name == "time":
            added.add_argument("--runs", type=int, default=MEASURED_RUNS)
            added.add_argument("--warm-ups", type=int, default=WARM_UPS)
            added.add_argument("--budget-s", type=float, default=BUDGET_S)
            added.add_argument("--limit-s", type=float, default=LIMIT_S)
            added.add_argument("--format", choices=("text", "json"), default="text")

    command("parity", run_parity, seed=True)
    command("check", run_check, files=True)
    command("answer", run_answer, files=True)
    command("time", run_time, files=True)
    command("threads", run_threads, seed=True)
    command("generate", run_generate, kafka=False, seed=True)
    command("reference", run_reference, kafka=False)
    return parser


if __name__ == "__main__":
    sys.exit(main())
