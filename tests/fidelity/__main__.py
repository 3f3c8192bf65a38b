"""Compare predictions with real Kafka clusters and report the result.

python -m tests.fidelity --kafka 4.3.1 --kafka 3.9.1
python -m tests.fidelity --kafka 4.3.1 --experiment crash
python -m tests.fidelity --write
python -m tests.fidelity calibrate --write
python -m tests.fidelity advice --write
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.fidelity import advice, advice_report, calibration
from tests.fidelity.report import write_page
from tests.fidelity.steps import EXPERIMENTS, RELEASES, run_steps
from tests.fidelity.stored_confirmation import read_confirmations, to_stored, write_confirmations
from tools.java import ClusterError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return exit code 1 if any task was not where predicted, 2 if a cluster failed."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    # SIGTERM raises SystemExit, so that hosts and nodes are stopped.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    if given[:1] == ["calibrate"]:
        return _calibrate(given[1:])
    if given[:1] == ["advice"]:
        return _advise(given[1:])
    parser = argparse.ArgumentParser(
        description="Compare predictions with real Kafka Streams groups. The first argument `calibrate` measures the "
        "times of a client instead, and `advice` rolls out what checkups recommend."
    )
    parser.add_argument("--kafka", action="append", metavar="VERSION", help=f"default: {' and '.join(RELEASES)}")
    names = [spec.name for spec in EXPERIMENTS]
    parser.add_argument("--experiment", action="append", choices=names, help="Repeatable; default: all of the release")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the scenarios of steps and all logs in a folder")
    parser.add_argument(
        "--write", action="store_true", help="write the tables of docs/explanation/fidelity.md from all stored results"
    )
    parser.add_argument("--only-write", action="store_true", help="write the tables without a run")
    options = parser.parse_args(given)
    has_differences = False
    try:
        for version in () if options.only_write else options.kafka or RELEASES:
            started_s = time.monotonic()
            confirmations = [
                to_stored(confirmation) for confirmation in run_steps(version, options.experiment, options.keep)
            ]
            write_confirmations(version, confirmations)
            for confirmation in confirmations:
                print(confirmation.summary())
                has_differences |= bool(confirmation.differences)
            print(f"{version}: {time.monotonic() - started_s:.0f} s")
    except ClusterError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if options.write or options.only_write:
        write_page([confirmation for version in RELEASES for confirmation in read_confirmations(version)])
    return 1 if has_differences else 0


def _calibrate(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fidelity calibrate", description="Measure the times of a real client."
    )
    parser.add_argument("--kafka", default=RELEASES[0], metavar="VERSION", help=f"default: {RELEASES[0]}")
    parser.add_argument("--repetitions", type=int, default=3, help="hosts that join and restart (default: 3)")
    parser.add_argument("--write", action="store_true", help=f"write {calibration.FILE.name}")
    options = parser.parse_args(arguments)
    if options.repetitions < 1:
        parser.error("--repetitions: must be at least 1")
    try:
        measured = calibration.calibrate(options.kafka, options.repetitions)
    except (ClusterError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(measured)
    if options.write:
        calibration.write(measured)
    return 0


def _advise(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fidelity advice", description="Roll out what checkups of weak applications recommend."
    )
    parser.add_argument("--kafka", default=RELEASES[0], metavar="VERSION", help=f"default: {RELEASES[0]}")
    parser.add_argument("--write", action="store_true", help=f"write the results of {advice_report.PAGE}")
    options = parser.parse_args(arguments)
    try:
        with tempfile.TemporaryDirectory() as folder:
            results = advice.roll_out_advice(Path(folder), options.kafka)
    except ClusterError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    missed = [
        f"{result.weak.application.id}, {step.step}: {'; '.join(advice.misses(step))}"
        for result in results
        for step in (*result.before, *result.after)
        if advice.misses(step)
    ]
    print("\n".join(missed) or "all as predicted")
    if options.write:
        advice_report.write_page(results)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
