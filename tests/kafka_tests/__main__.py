"""Run Kafka's own unit tests of assignment with this project's answers, and count how many pass.

Usage: python -m tests.kafka_tests [--release 4.3]… [--write]

The tests of the newest release run once more with answers in which one task is moved, to show that they can fail.
--write stores the counts, and writes their tables in docs/reference/parity.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from assignor_sim.text_files import write_text
from tests.kafka_tests.running import TEST_CLASSES, Counts, counts_by_class, run_tests
from tools.artifacts import KAFKA_TESTS

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "reference" / "parity.md"
RESULTS: Final = Path(__file__).with_name("results.json")
MADE_BY: Final = "made by `make kafka-tests ARGS=--write`"
BEGIN, END = f"<!-- Below: {MADE_BY}. -->\n", f"<!-- Above: {MADE_BY}. -->\n"
NEWEST: Final = list(KAFKA_TESTS)[-1]
HEADER: Final = ("tests", "ask for an answer", "pass", "answers", "identical")
CONTROL: Final = "fail with wrong answers"


def tables(results: dict[str, dict[str, Counts]]) -> str:
    """Return a table with a row per release, and one with a row per test class of the newest release, in Markdown.

    `results`: counts by test class, by version of Kafka in order.
    """
    newest = list(results)[-1]
    releases = {version: [sum(column) for column in zip(*of.values(), strict=True)] for version, of in results.items()}
    of_releases = _rows(("Kafka", *HEADER), {version: counts[: len(HEADER)] for version, counts in releases.items()})
    return "\n".join([*of_releases, "", *_rows((f"Kafka {newest}", *HEADER, CONTROL), results[newest]), ""])


def _rows(head: Sequence[str], rows: dict[str, Sequence[int]]) -> list[str]:
    lines = [f"| {' | '.join(head)} |", f"|---{'|---:' * (len(head) - 1)}|"]
    return lines + [f"| {' | '.join((name, *(f'{count:,}' for count in counts)))} |" for name, counts in rows.items()]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tests of releases, and print a line per release; 1 if a test fails, or an answer is not Kafka's."""
    parser = argparse.ArgumentParser(prog="python -m tests.kafka_tests", description=__doc__)
    parser.add_argument("--release", choices=KAFKA_TESTS, action="append")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args(arguments)
    stored = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    code = 0
    for release in options.release or KAFKA_TESTS:
        counts = counts_by_class(run_tests(release, TEST_CLASSES))
        tests, asking, passed, answers, identical = (sum(column) for column in zip(*counts.values(), strict=True))
        print(
            f"Kafka {KAFKA_TESTS[release]}: {passed} of {tests} tests pass, and {asking} of them ask for an answer; "
            f"{identical} of {answers} answers are Kafka's",
            flush=True,
        )
        code |= passed < tests or identical < answers
        if release == NEWEST:
            wrong = counts_by_class(run_tests(release, TEST_CLASSES, are_wrong=True))
            counts = {name: (*of, wrong[name][0] - wrong[name][2]) for name, of in counts.items()}
            failing = sum(of[-1] for of in counts.values())
            print(f"Kafka {KAFKA_TESTS[release]}, wrong answers: {failing} of {tests} tests fail", flush=True)
            code |= not failing
        stored[KAFKA_TESTS[release]] = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "classes": counts}
    if options.write:
        stored = {version: stored[version] for version in KAFKA_TESTS.values() if version in stored}
        write_text(RESULTS, json.dumps(stored, indent=1) + "\n")
        head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        made = tables({version: of["classes"] for version, of in stored.items()})
        write_text(PAGE, f"{head}{BEGIN}\n{made}\n{END}{rest.partition(END)[2]}")
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
