"""The table of docs/reference/parity.md, from the summaries of `parity` runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.kafka_oracle.compare import Tallies, by_assignor, total

Json = dict[str, Any]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "parity.md"
MARK = "<!-- Below: made by `python -m tools.kafka_oracle reference` from the runs it names. -->\n"


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
    }


def markdown(summaries: Sequence[Json]) -> str:
    """Return the table and the commands of all runs."""
    lines = [
        "| Kafka | assignor | compared | identical, sorted | identical, production | refused | order-sensitive |",
        "|---|---|---|---|---|---|---|",
    ]
    for summary in summaries:
        for name, row in summary["assignors"].items():
            numbers = ("compared", "agreed_sorted", "agreed_production", "refused", "order_sensitive")
            cells = [summary["kafka"], f"`{name}`", *(f"{row[number]:,}" for number in numbers)]
            lines.append(f"| {' | '.join(cells)} |")
    lines.append("")
    for summary in summaries:
        command = summary.get("command") or (
            f"make parity KAFKA={summary['kafka']} PROBLEMS={summary['problems']} SEED={summary['seed']}"
        )
        lines.append(f"- Kafka {summary['kafka']}, {summary['date']}: `{command}`")
    return "\n".join(lines) + "\n"


def write_page(runs: Path, page: Path = PAGE) -> int:
    """Update the generated part of the page by the summaries of all runs below `runs`; return their number.

    Rows of releases and assignors that no run is about remain.
    """
    files = [*runs.glob("*/summary.json"), *runs.glob("*/streams_groups.json")]
    summaries = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    head, _, before = page.read_text(encoding="utf-8").partition(MARK)
    header = markdown([]).splitlines()[:2]
    rows, commands = _generated(before)
    new_rows, new_commands = _generated(markdown(summaries))
    rows, commands = rows | new_rows, commands | new_commands
    listed = (
        [rows[key] for key in sorted(rows, key=_row_order)],
        [commands[key] for key in sorted(commands, key=_row_order)],
    )
    page.write_text("\n".join([f"{head}{MARK}", *header, *listed[0], "", *listed[1], ""]), encoding="utf-8")
    return len(summaries)


def _generated(text: str) -> tuple[dict[tuple[str, str], str], dict[tuple[str, str], str]]:
    """Return the rows of a generated part by release and assignor, and the commands by release and program."""
    rows, commands = {}, {}
    for line in text.splitlines():
        if line.startswith("| ") and line[2].isdecimal():
            kafka, assignor = (cell.strip() for cell in line.split("|")[1:3])
            rows[kafka, assignor] = line
        elif line.startswith("- Kafka "):
            kafka, _, command = line.removeprefix("- Kafka ").partition(", ")
            commands[kafka, command.partition("`")[2].split(" ")[0]] = line
    return rows, commands


def _row_order(key: tuple[str, str]) -> tuple[tuple[int, ...], str]:
    return _version(key[0]), key[1].strip("`")


def _version(name: str) -> tuple[int, ...]:
    return tuple(int(part) for part in name.split(".") if part.isdecimal())
