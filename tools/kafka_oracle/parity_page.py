"""The table of docs/reference/parity.md: a row per assignor and release, from stored results of comparisons.

`python -m tools.kafka_oracle reference` stores the runs of `out/parity` in `results.json`, and writes the table.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from assignors import registry
from assignors.kafka_releases import registered_release
from tools.kafka_oracle.compare import Tallies, by_assignor, total

Json = dict[str, Any]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "parity.md"
RESULTS = Path(__file__).with_name("results.json")
"""The stored runs, one per release and program."""

MARK = "<!-- Below: made by `python -m tools.kafka_oracle reference` from tools/kafka_oracle/results.json. -->\n"
HEADER = (
    "| assignor | Kafka | problems | identical, sorted | identical, production | share | refused | order-sensitive |",
    "|---|---|---|---|---|---|---|---|",
)


def summarize(kafka_version: str, seed: int, problems: int, date: str, tallies: Tallies) -> Json:
    """Return the summary of a run, as stored in `out/parity/VERSION/summary.json`."""
    whole = total(tallies)
    return {
        "kafka": kafka_version,
        "seed": seed,
        "problems": problems,
        "date": date,
        "assignors": {
            name: {
                "compared": tally.compared,
                **{f"agreed_{order}": agreed for order, agreed in tally.agreed.items()},
                "refused": tally.refused,
                "order_sensitive": tally.order_sensitive,
            }
            for name, tally in by_assignor(tallies).items()
        },
        "identical": whole.identical(),
        "command": f"make parity KAFKA={kafka_version} PROBLEMS={problems} SEED={seed}",
    }


def merged(stored: Sequence[Json], runs: Sequence[Json]) -> list[Json]:
    """Return stored runs with newer ones, sorted by release and program."""
    return with_newer(stored, runs, _key, lambda run: bool(run["identical"]))


def with_newer(
    stored: Sequence[Json], runs: Sequence[Json], key: Callable[[Json], Any], is_identical: Callable[[Json], bool]
) -> list[Json]:
    """Return stored runs with newer ones, sorted by a key.

    A run replaces that of the same key if it has at least as many problems, or a difference.
    """
    by_key = {key(run): run for run in stored}
    for run in runs:
        before = by_key.get(key(run))
        if before is None or not is_identical(run) or run["problems"] >= before["problems"]:
            by_key[key(run)] = run
    return [by_key[one] for one in sorted(by_key)]


def markdown(runs: Sequence[Json]) -> str:
    """Return the table and the commands of all runs; releases of an assignor that no run is about have empty cells."""
    rows = {
        (name, version_numbers(run["kafka"])): _row(name, run["kafka"], row) for run in runs for name, row in _rows(run)
    }
    rows |= {(name, version_numbers(release)): _row(name, release, None) for name, release in not_compared(runs)}
    commands = [f"- Kafka {run['kafka']}, {run['date']}: `{run['command']}`" for run in runs]
    return "\n".join([*HEADER, *(rows[key] for key in sorted(rows)), "", *commands, ""])


def not_compared(runs: Sequence[Json]) -> Iterator[tuple[str, str]]:
    """Yield the assignors of Kafka with the registered releases that no run is about."""
    compared = {(name, run["kafka"]) for run in runs for name, _ in _rows(run)}
    for info in registry.built_in():
        for release in info.releases:
            of_release = [kafka for name, kafka in compared if name == info.name]
            if release not in {registered_release(kafka, info.releases) for kafka in of_release}:
                yield info.name, release


def read_results() -> list[Json]:
    """Return the stored runs."""
    runs: list[Json] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return runs


def write_page(runs: Path, page: Path = PAGE, results: Path = RESULTS) -> int:
    """Store the summaries of all runs below `runs`, and write the generated part of the page; return their number."""
    files = sorted([*runs.glob("*/summary.json"), *runs.glob("*/streams_groups.json")])
    summaries = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    stored = json.loads(results.read_text(encoding="utf-8")) if results.exists() else []
    kept = merged(stored, summaries)
    results.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    head, _, _ = page.read_text(encoding="utf-8").partition(MARK)
    page.write_text(f"{head}{MARK}\n{markdown(kept)}", encoding="utf-8")
    return len(summaries)


def _rows(run: Json) -> Iterator[tuple[str, Mapping[str, int]]]:
    """Yield the numbers of a run by the name of the assignor without its release."""
    for name, row in run["assignors"].items():
        yield registry.find(name).name_without_release, row


def _row(name: str, release: str, row: Mapping[str, int] | None) -> str:
    """Return a row of the table; None for an assignor that was not compared."""
    if row is None:
        cells = ["not compared", *["–"] * 5]
    else:
        identical = (row["agreed_sorted"], row["agreed_production"])
        numbers = [f"{row['compared']:,}", *(f"{number:,}" for number in identical)]
        share = identical_share(sum(identical), 2 * row["compared"])
        cells = [*numbers, share, f"{row['refused']:,}", f"{row['order_sensitive']:,}"]
    return f"| {' | '.join([f'`{name}`', release, *cells])} |"


def identical_share(identical: int, answers: int) -> str:
    """Return a share of answers in percent, rounded down, so that 100 % means all."""
    hundredths = 10_000 * identical // max(1, answers)
    return "100 %" if hundredths == 10_000 else f"{hundredths / 100:.2f} %"


def _key(run: Json) -> tuple[tuple[int, ...], str]:
    return version_numbers(run["kafka"]), run["command"].split(" --")[0].split(" KAFKA")[0]


def version_numbers(name: str) -> tuple[int, ...]:
    return tuple(int(part) for part in name.split(".") if part.isdecimal())
