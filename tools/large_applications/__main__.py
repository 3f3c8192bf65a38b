"""Measure large applications and long histories, and print their table.

`python -m tools.large_applications out/large.json` measures this code; `--before REVISION` also an older revision, each
workload with one after the other. `--write` writes the table into docs/development/performance.md.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tools.large_applications.measuring import REPOSITORY, Limits, code_of, measure
from tools.large_applications.tables import DUCKDB, ROWS, table

Json = dict[str, Any]

PAGE = REPOSITORY / "docs" / "development" / "performance.md"
START = "<!-- Large applications: made by `make bench-large`. -->\n"
END = "<!-- End of large applications. -->\n"
PARTITIONS = 1_000
INTERVAL_S = 300
LONGER = 10
"""The days of `long_ingest` per day of `ingest`."""

_MEMORY_BYTES = 16_000_000_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, store the figures, and print the table or write it into the page."""
    names = [row.workload for row in ROWS]
    parser = argparse.ArgumentParser(
        prog="python -m tools.large_applications",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("figures", type=Path, help="JSON file; figures of workloads that are not measured are kept")
    parser.add_argument("--before", metavar="REVISION", help="measure this revision as well")
    parser.add_argument("--workload", action="append", choices=names, help="only this one; repeatable")
    parser.add_argument(
        "--days",
        type=int,
        default=30,
        help="days of readings: 288,000 each; a longer history has ten times as many (default: 30)",
    )
    parser.add_argument("--limit", type=float, default=10.0, metavar="MIN", help="end workloads after this time")
    parser.add_argument("--print", action="store_true", help="measure nothing, only print what is stored")
    parser.add_argument("--write", action="store_true", help="write the page")
    options = parser.parse_args(arguments)
    limits = Limits(options.limit * 60, _MEMORY_BYTES)
    figures: dict[str, dict[str, Json]] = (
        json.loads(options.figures.read_text(encoding="utf-8")) if options.figures.exists() else {"now": {}}
    )
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        codes = {"now": REPOSITORY}
        if options.before:
            codes["before"] = stack.enter_context(code_of(options.before, Path(folder)))
        for name in [] if options.print else options.workload or names:
            inputs = [_readings(Path(folder), name, options.days)] if name in DUCKDB else []
            for when, code in codes.items():
                print(f"{name}, {when}", file=sys.stderr, flush=True)
                measured = measure(name, *inputs, code=code, limits=limits)
                figures.setdefault(when, {})[name] = measured
                print(json.dumps(measured), file=sys.stderr, flush=True)
            if name in DUCKDB:
                figures["now"][DUCKDB[name]] = measure("ingest_by_duckdb", *inputs, code=REPOSITORY, limits=limits)
            options.figures.write_text(json.dumps(figures, indent=2), encoding="utf-8")
    print(table(figures))
    if options.write:
        write_page(figures)
    return 0


def _readings(folder: Path, workload: str, days: int) -> str:
    """Write readings of many partitions with faults, ten times as many for a longer history; return their folder."""
    from pipeline.generate.faults import Faults
    from pipeline.generate.measurements import Schedule
    from pipeline.generate.population import Population
    from pipeline.generate.writing import generate
    from pipeline.session import connect

    faults = Faults(gaps=0.002, duplicates=0.002, late=0.002, malformed=0.0005, resets=0.001, skew=0.3)
    population = Population(PARTITIONS, seed=7, skewed=faults.skew)
    with connect("local[2]") as spark:
        schedule = Schedule(days * LONGER if workload == "long_ingest" else days, INTERVAL_S)
        return generate(spark, str(folder / workload), population, schedule, faults).metrics


def write_page(figures: dict[str, dict[str, Json]], page: Path = PAGE) -> None:
    """Replace the table between the marks of the page."""
    head, start, rest = page.read_text(encoding="utf-8").partition(START)
    _, end, tail = rest.partition(END)
    if not (start and end):
        raise ValueError(f"{page} lacks the marks of the table")
    page.write_text(f"{head}{START}\n{table(figures)}\n{END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
