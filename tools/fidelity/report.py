"""Confirmations as JSON files, and as the tables of docs/explanation/fidelity.md."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.fidelity.experiment import Confirmation

OUT = Path("out")
PAGE = Path("docs/explanation/fidelity.md")
BEGIN, END = "<!-- {name}: made by `python -m tools.fidelity --write`. -->", "<!-- end of {name} -->"


@dataclass(frozen=True, slots=True)
class StoredConfirmation:
    """A confirmation as stored in JSON; times in milliseconds."""

    kafka: str
    step: str
    application: str
    title: str
    differences: tuple[str, ...]
    tasks: int
    is_streams_group: bool
    predicted_rounds: int
    rounds: int
    predicted_first_ms: int | None
    first_ms: int | None
    predicted_settling_ms: int | None
    settling_ms: int | None
    replayed: int
    replayed_alike: int


def write_confirmations(kafka_version: str, confirmations: Iterable[Confirmation]) -> Path:
    """Store the confirmations of a release; return the path of the file."""
    OUT.mkdir(exist_ok=True)
    file = OUT / f"fidelity-{kafka_version}.json"
    file.write_text(json.dumps([_to_json(confirmation) for confirmation in confirmations], indent=1) + "\n")
    return file


def read_confirmations(kafka_version: str) -> list[StoredConfirmation]:
    """Return the stored confirmations of a release."""
    rows = json.loads((OUT / f"fidelity-{kafka_version}.json").read_text())
    names = StoredConfirmation.__dataclass_fields__
    return [
        StoredConfirmation(**{**{name: row[name] for name in names}, "differences": tuple(row["differences"])})
        for row in rows
    ]


def write_page(confirmations: Sequence[StoredConfirmation]) -> None:
    """Replace the tables of the page."""
    text = PAGE.read_text()
    for name, table in (("steps", _steps_table(confirmations)), ("timing", _timing_table(confirmations))):
        begin, end = BEGIN.format(name=name), END.format(name=name)
        before, _, rest = text.partition(begin)
        _, _, after = rest.partition(end)
        text = f"{before}{begin}\n\n{table}\n\n{end}{after}"
    PAGE.write_text(text)


def _to_json(confirmation: Confirmation) -> dict[str, Any]:
    observed = confirmation.observed
    return {
        "kafka": confirmation.kafka,
        "step": confirmation.step,
        "application": confirmation.application,
        "title": confirmation.title,
        "differences": confirmation.differences,
        "replay_differences": [differences for differences in confirmation.replay_differences if differences],
        "tasks": sum(len(tasks) for role in (observed.active, observed.standby) for tasks in role.values()),
        "is_streams_group": confirmation.is_streams_group,
        "predicted_rounds": confirmation.predicted.rounds,
        "rounds": confirmation.rounds,
        "predicted_first_ms": confirmation.predicted.first_ms,
        "first_ms": confirmation.first_ms,
        "predicted_settling_ms": confirmation.predicted.settling_ms,
        "settling_ms": confirmation.settling_ms,
        "replayed": len(confirmation.replay_differences),
        "replayed_alike": sum(not differences for differences in confirmation.replay_differences),
        "predicted": confirmation.predicted.tasks.to_json(),
        "observed": observed.to_json(),
    }


def _steps_table(confirmations: Sequence[StoredConfirmation]) -> str:
    """Return a table with one row per release and application: what was compared, and how much was as predicted."""
    lines = [
        "| Kafka | application | steps | tasks and standbys | as predicted | number of rebalances as predicted "
        "| leader decisions replayed |",
        "|---|---|---|---|---|---|---|",
    ]
    groups: dict[tuple[str, str], list[StoredConfirmation]] = {}
    for confirmation in confirmations:
        groups.setdefault((confirmation.kafka, confirmation.title), []).append(confirmation)
    for (kafka, title), group in groups.items():
        lines.append(f"| {kafka} | {title} | {_counts(group)} |")
    lines.append(f"| | **all** | {_counts(confirmations)} |")
    return "\n".join(lines)


def _counts(group: Sequence[StoredConfirmation]) -> str:
    correct = sum(not confirmation.differences for confirmation in group)
    same_rounds = sum(confirmation.rounds == confirmation.predicted_rounds for confirmation in group)
    replayed = sum(confirmation.replayed for confirmation in group)
    equal = sum(confirmation.replayed_alike for confirmation in group)
    tasks = sum(confirmation.tasks for confirmation in group)
    rounds = f"{same_rounds} of {len(group)}"
    decisions = f"{equal} of {replayed}" if replayed else "not logged"
    return f"{len(group)} | {tasks} | {correct} of {len(group)} | {rounds} | {decisions}"


def _timing_table(confirmations: Sequence[StoredConfirmation]) -> str:
    """Return a table with one row per release, group type and step; minimum and maximum over the applications."""
    lines = [
        "| Kafka | step | applications | rebalances | observed | s to the first | observed | s to settle | observed |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    groups: dict[tuple[str, str], list[StoredConfirmation]] = {}
    for confirmation in confirmations:
        prefix = "streams group: " if confirmation.is_streams_group else ""
        groups.setdefault((confirmation.kafka, f"{prefix}{confirmation.step}"), []).append(confirmation)
    for (kafka, step), group in groups.items():
        timed = [confirmation for confirmation in group if confirmation.first_ms is not None]
        cells = [
            _range([float(confirmation.predicted_rounds) for confirmation in group], "{:.0f}"),
            _range([float(confirmation.rounds) for confirmation in group], "{:.0f}"),
            _seconds([confirmation.predicted_first_ms for confirmation in timed]),
            _seconds([confirmation.first_ms for confirmation in timed]),
            _seconds([confirmation.predicted_settling_ms for confirmation in group]),
            _seconds([confirmation.settling_ms for confirmation in group]),
        ]
        lines.append(f"| {kafka} | {step} | {len(group)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _seconds(values_ms: Sequence[int | None]) -> str:
    return _range([value / 1000 for value in values_ms if value is not None], "{:.1f}")


def _range(values: Sequence[float], number_format: str) -> str:
    limits = list(dict.fromkeys(number_format.format(value) for value in (min(values), max(values)))) if values else []
    return " to ".join(limits)
