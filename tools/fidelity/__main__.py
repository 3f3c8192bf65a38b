"""Compare predictions with real Kafka clusters and report the result.

python -m tools.fidelity --kafka 4.3.1 --kafka 3.9.1
python -m tools.fidelity --write
python -m tools.fidelity calibrate --write
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tools.fidelity import calibration
from tools.fidelity.report import read_confirmations, write_confirmations, write_page
from tools.fidelity.steps import run_steps
from tools.kafka_cluster.java import ClusterError

RELEASES = ("4.3.1", "3.9.1")
"""The latest release, and one of the previous major version."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return exit code 1 if any prediction was wrong, 2 if a cluster failed."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["calibrate"]:
        return _calibrate(given[1:])
    parser = argparse.ArgumentParser(
        description="Compare predictions with real Kafka Streams groups. The first argument `calibrate` measures the "
        "times of a client instead."
    )
    parser.add_argument("--kafka", action="append", metavar="VERSION", help=f"default: {' and '.join(RELEASES)}")
    parser.add_argument("--write", action="store_true", help="write the tables of docs/explanation/fidelity.md")
    options = parser.parse_args(given)
    has_differences = False
    try:
        for version in options.kafka or RELEASES:
            confirmations = run_steps(version)
            write_confirmations(version, confirmations)
            for confirmation in confirmations:
                result = "; ".join(confirmation.differences) or "as predicted"
                print(f"{version}  {confirmation.step:35} {confirmation.application:15} {result}")
                has_differences |= bool(confirmation.differences)
    except ClusterError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if options.write:
        write_page(
            [confirmation for version in options.kafka or RELEASES for confirmation in read_confirmations(version)]
        )
    return 1 if has_differences else 0


def _calibrate(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.fidelity calibrate", description="Measure the times of a real client."
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


if __name__ == "__main__":
    sys.exit(main())
