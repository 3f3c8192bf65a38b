"""How it went: kept as JSON, told as the tables of docs/explanation/fidelity.md."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.fidelity.play import Confirmation

OUT = Path("out")
PAGE = Path("docs/explanation/fidelity.md")
BEGINS, ENDS = "<!-- {name}: made by `python -m tools.fidelity --write`. -->", "<!-- end of {name} -->"
NOTEWORTHY = 0.2
"""How far an observed time may be from the predicted one before the table marks it."""


@dataclass(frozen=True, slots=True)
class Told:
    """A confirmation as it was kept; times in milliseconds."""

    kafka: str
    step: str
    application: str
    title: str
    differences: tuple[str, ...]
    tasks: int
    predicted_rounds: int
    rounds: int | None
    predicted_first_ms: int | None
    first_ms: int | None
    predicted_settling_ms: int | None
    settling_ms: int | None


def write_confirmations(kafka_version: str, confirmed: Iterable[Confirmation]) -> Path:
    """Keep what was confirmed on one release; return the file."""
    OUT.mkdir(exist_ok=True)
    file = OUT / f"fidelity-{kafka_version}.json"
    file.write_text(json.dumps([_plain(each) for each in confirmed], indent=1) + "\n")
    return file


def read_confirmations(kafka_version: str) -> list[Told]:
    """What was kept of one release."""
    rows = json.loads((OUT / f"fidelity-{kafka_version}.json").read_text())
    names = Told.__dataclass_fields__
    return [Told(**{**{name: row[name] for name in names}, "differences": tuple(row["differences"])}) for row in rows]


def write_page(told: Sequence[Told]) -> None:
    """Put the tables where the page has them."""
    text = PAGE.read_text()
    for name, table in (("steps", _steps(told)), ("timing", _timing(told))):
        begins, ends = BEGINS.format(name=name), ENDS.format(name=name)
        before, _, rest = text.partition(begins)
        _, _, after = rest.partition(ends)
        text = f"{before}{begins}\n\n{table}\n\n{ends}{after}"
    PAGE.write_text(text)


def _plain(each: Confirmation) -> dict[str, Any]:
    return {
        "kafka": each.kafka,
        "step": each.step,
        "application": each.application,
        "title": each.title,
        "differences": each.differences,
        "tasks": sum(len(tasks) for role in (each.observed.active, each.observed.standby) for tasks in role.values()),
        "predicted_rounds": each.predicted.rounds,
        "rounds": each.rounds,
        "predicted_first_ms": each.predicted.first_ms,
        "first_ms": each.first_ms,
        "predicted_settling_ms": each.predicted.settling_ms,
        "settling_ms": each.settling_ms,
        "predicted": each.predicted.shares.describe(),
        "observed": each.observed.describe(),
    }


def _steps(told: Sequence[Told]) -> str:
    """One line for each step and release: how many applications, and how many came as predicted."""
    rows: dict[tuple[str, str], list[Told]] = {}
    for each in told:
        rows.setdefault((each.kafka, each.step), []).append(each)
    lines = ["| Kafka | step | applications | tasks and standbys compared | as predicted |", "|---|---|---|---|---|"]
    for (kafka, step), group in rows.items():
        right = sum(not each.differences for each in group)
        lines.append(f"| {kafka} | {step} | {len(group)} | {sum(e.tasks for e in group)} | {right} of {len(group)} |")
    right = sum(not each.differences for each in told)
    lines.append(f"| | **all** | **{len(told)}** | **{sum(e.tasks for e in told)}** | **{right} of {len(told)}** |")
    return "\n".join(lines)


def _timing(told: Sequence[Told]) -> str:
    """Rounds and times, of every step that had any."""
    lines = [
        "| Kafka | step | who assigns | rounds said, seen | s to the first assignment | s from there until settled |",
        "|---|---|---|---|---|---|",
    ]
    for each in told:
        if each.predicted_rounds or each.rounds:
            rounds = f"{each.predicted_rounds}, {'–' if each.rounds is None else each.rounds}"
            first = _compared(each.predicted_first_ms, each.first_ms) if each.first_ms is not None else ""
            settling = _compared(each.predicted_settling_ms, each.settling_ms)
            lines.append(f"| {each.kafka} | {each.step} | {each.title} | {rounds} | {first} | {settling} |")
    return "\n".join(lines)


def _compared(said_ms: int | None, seen_ms: int | None) -> str:
    if said_ms is None or seen_ms is None:
        return ""
    deviation = (seen_ms - said_ms) / said_ms if said_ms else None
    by = "" if deviation is None else f" ({deviation:+.0%})"
    text = f"{said_ms / 1000:.1f}, {seen_ms / 1000:.1f}{by}"
    return f"**{text}**" if deviation is not None and abs(deviation) > NOTEWORTHY else text
