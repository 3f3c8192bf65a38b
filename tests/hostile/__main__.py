"""Try random hostile inputs, count them in a file, and print the table of the counts.

`python -m tests.hostile try out/counts.jsonl --seconds 20` tries inputs of every kind for 20 seconds each, and appends
the counts; `--kind` (repeatable) and `--inputs` restrict it. Inputs that the file counts already are not tried again,
so several calls add up. The first failures of each kind go to standard error.

`python -m tests.hostile table out/*.jsonl` prints the table of `docs/development/hostile-input.md`.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.hostile.kinds import KINDS, READERS, Attack

_SHOWN = 3


def main() -> None:
    """Run a subcommand."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile")
    commands = parser.add_subparsers(dest="command", required=True)
    trying = commands.add_parser("try", help="Try inputs and append the counts to a file.")
    trying.add_argument("counts", type=Path)
    trying.add_argument("--kind", action="append", choices=list(KINDS), help="Only this kind. Repeatable.")
    trying.add_argument("--seconds", type=float, default=float("inf"), help="Time per kind.")
    trying.add_argument("--inputs", type=int, help="Number of inputs per kind.")
    table = commands.add_parser("table", help="Print the table of the counts.")
    table.add_argument("counts", type=Path, nargs="+")
    arguments = parser.parse_args()
    if arguments.command == "table":
        print(counts_table(arguments.counts), end="")
        return
    if arguments.inputs is None and arguments.seconds == float("inf"):
        parser.error("name --seconds or --inputs")
    with tempfile.TemporaryDirectory(prefix="assignor-sim-hostile-") as folder:
        for kind in arguments.kind or KINDS:
            first = sum(tried for tried, _ in read_counts([arguments.counts], kind))
            tried, failed = try_inputs(kind, KINDS[kind], first, arguments.inputs, arguments.seconds, Path(folder))
            with arguments.counts.open("a", encoding="utf-8") as file:
                print(json.dumps({"kind": kind, "tried": tried, "failed": failed}), file=file)


def try_inputs(
    kind: str, attack: Attack, first: int, inputs: int | None, seconds: float, folder: Path
) -> tuple[int, int]:
    """Return the number of inputs that were tried and that failed.

    Args:
        kind: the kind of input, a part of the seed.
        attack: tries one input.
        first: number of the first input, the other part of the seed.
        inputs: maximum number of inputs; None without a maximum.
        seconds: time after which no further input is tried.
        folder: a folder for temporary files.
    """
    failed = 0
    end = time.monotonic() + seconds
    for number in itertools.count():
        if number == inputs or time.monotonic() >= end:
            return number, failed
        seed = f"{kind} {first + number}"
        try:
            failure = attack(random.Random(seed), folder)
        except Exception:
            failure = traceback.format_exc()
        if failure is not None:
            failed += 1
            if failed <= _SHOWN:
                print(f"seed '{seed}': {failure}", file=sys.stderr, flush=True)
    raise AssertionError


def read_counts(files: Iterable[Path], kind: str | None = None) -> list[tuple[int, int]]:
    """Return the numbers of inputs tried and failed in each line of the files, of one kind or of all."""
    lines = [line for file in files if file.exists() for line in file.read_text(encoding="utf-8").splitlines()]
    counts = [json.loads(line) for line in lines]
    return [(count["tried"], count["failed"]) for count in counts if kind in (None, count["kind"])]


def counts_table(files: Sequence[Path]) -> str:
    """Return the counts of each kind, and their sums, as a Markdown table."""
    lines = ["| kind of input | read by | tried | failed |", "|---|---|---:|---:|"]
    totals: Counter[str] = Counter()
    for kind in KINDS:
        counts = read_counts(files, kind)
        tried, failed = sum(tried for tried, _ in counts), sum(failed for _, failed in counts)
        totals.update(tried=tried, failed=failed)
        lines.append(f"| {kind} | {READERS[kind]} | {tried:,} | {failed:,} |")
    lines.append(f"| **all** | | **{totals['tried']:,}** | **{totals['failed']:,}** |")
    return "\n".join(lines) + "\n"


main()
