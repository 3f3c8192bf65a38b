"""Put predictions to the test on real Kafkas, and tell how it went.

python -m tools.fidelity --kafka 4.3.1 --kafka 3.9.1
python -m tools.fidelity --write
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tools.fidelity.report import read_confirmations, write_confirmations, write_page
from tools.fidelity.steps import run_steps
from tools.kafka_cluster.java import ClusterError

RELEASES = ("4.3.1", "3.9.1")
"""The newest, and one of the line before."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code: 1 if something did not come as predicted."""
    parser = argparse.ArgumentParser(description="Predict what a real Kafka Streams group will do, and look.")
    parser.add_argument("--kafka", action="append", metavar="VERSION", help=f"default: {' and '.join(RELEASES)}")
    parser.add_argument("--write", action="store_true", help="write the tables of docs/explanation/fidelity.md")
    options = parser.parse_args(arguments)
    differs = False
    try:
        for version in options.kafka or RELEASES:
            confirmed = run_steps(version)
            write_confirmations(version, confirmed)
            for each in confirmed:
                print(
                    f"{version}  {each.step:35} {each.application:15} {'; '.join(each.differences) or 'as predicted'}"
                )
                differs |= bool(each.differences)
    except ClusterError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    if options.write:
        write_page([one for version in options.kafka or RELEASES for one in read_confirmations(version)])
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
