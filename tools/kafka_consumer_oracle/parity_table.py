"""The table of consumer assignors in docs/reference/parity.md, from stored results of comparisons."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Json = dict[str, Any]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "parity.md"
RESULTS = Path(__file__).with_name("results.json")
"""The stored runs, by release and assignors."""

BEGIN = "<!-- Below: made by `python -m tools.kafka_consumer_oracle reference`. -->\n"
END = "<!-- Above: made by `python -m tools.kafka_consumer_oracle reference`. -->\n"
HEADER = (
    "| assignor | protocol | Kafka | problems | identical | share | refused |",
    "|---|---|---|---|---|---|---|",
)


def merged(stored: Sequence[Json], runs: Sequence[Json]) -> list[Json]:
    """Return stored runs with newer ones, by release and assignors.

    A run with fewer problems replaces a stored one only if it differs from Kafka.
    """
    by_key = {_key(run): run for run in stored}
    for run in runs:
        before = by_key.get(_key(run))
        if before is None or run["problems"] >= before["problems"] or not _is_identical(run):
            by_key[_key(run)] = run
    return [by_key[key] for key in sorted(by_key)]


def markdown(runs: Sequence[Json]) -> str:
    """Return the table, with the largest run of each assignor and release, and the command of each run."""
    largest: dict[tuple[str, str, tuple[int, ...]], tuple[str, Json]] = {}
    for run in sorted(runs, key=lambda run: int(run["problems"])):
        for row in run["assignors"]:
            largest[row["protocol"], row["assignor"], _version(run["kafka"])] = run["kafka"], row
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
    hundredths = 10_000 * row["identical"] // max(1, row["compared"])
    share = "100 %" if hundredths == 10_000 else f"{hundredths / 100:.2f} %"
    numbers = f"{row['compared']:,} | {row['identical']:,} | {share} | {row['refused']:,}"
    return f"| `{row['assignor']}` | {row['protocol']} | {release} | {numbers} |"


def _key(run: Json) -> tuple[tuple[int, ...], tuple[str, ...]]:
    return _version(run["kafka"]), tuple(f"{row['protocol']} {row['assignor']}" for row in run["assignors"])


def _is_identical(run: Json) -> bool:
    return all(row["compared"] == row["identical"] for row in run["assignors"])


def _version(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")))
