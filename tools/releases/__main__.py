"""Compare Kafka releases, and find those that the project does not know.

python -m tools.releases new
python -m tools.releases classes --from 4.3.1 --to 4.4.0
python -m tools.releases measure --problems 600 --groups 300
python -m tools.releases page
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from assignors.kafka_releases import BROKERS, CLIENTS, patch_of
from tools.java import ClusterError
from tools.releases import classes, maven, measure, page


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.releases", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    found = commands.add_parser("new", help=maven.run_new.__doc__)
    found.set_defaults(run=lambda options: maven.run_new())
    compared = commands.add_parser("classes", help=classes.run_classes.__doc__)
    compared.set_defaults(run=lambda options: classes.run_classes(patch_of(options.older), patch_of(options.newer)))
    compared.add_argument("--from", dest="older", required=True, metavar="VERSION", help="older release")
    compared.add_argument("--to", dest="newer", required=True, metavar="VERSION", help="newer release")
    commands.add_parser("page", help=page.run_page.__doc__).set_defaults(run=lambda options: page.run_page())
    measured = commands.add_parser("measure", help=run_measure.__doc__)
    measured.set_defaults(run=run_measure)
    measured.add_argument("--problems", type=int, default=600, help="number of random problems of clients")
    measured.add_argument("--groups", type=int, default=300, help="number of streams groups, 4 rounds each")
    measured.add_argument("--seed", type=int, default=1, help="seed of the problems and of the first group")
    measured.add_argument("--only", choices=("clients", "brokers"), help="ask only releases of clients, or of brokers")
    options = parser.parse_args(arguments)
    try:
        return int(options.run(options))
    except ClusterError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def run_measure(options: argparse.Namespace) -> int:
    """Ask all releases the same questions, and store how many answers differ."""
    command = f"python -m tools.releases measure --seed {options.seed}"
    if options.only != "brokers":
        records = measure.measure_clients(options.seed, options.problems)
        measure.store("clients", CLIENTS, f"{command} --only clients --problems {options.problems}", records)
    if options.only != "clients":
        records = measure.measure_brokers(options.seed, options.groups)
        measure.store("brokers", BROKERS, f"{command} --only brokers --groups {options.groups}", records)
    return 0


if __name__ == "__main__":
    sys.exit(main())
