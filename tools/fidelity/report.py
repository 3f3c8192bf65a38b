"""How it went: kept as JSON, told as the tables of docs/explanation/fidelity.md."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.fidelity.experiment import Confirmation

OUT = Path("out")
PAGE = Path("docs/explanation/fidelity.md")
BEGINS, ENDS = "<!-- {name}: made by `python -m tools.fidelity --write`. -->", "<!-- end of {name} -->"


@dataclass(frozen=True, slots=True)
class StoredConfirmation:
    """A confirmation as it was kept; times in milliseconds."""

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


def write_confirmations(kafka_version: str, confirmed: Iterable[Confirmation]) -> Path:
    """Keep what was confirmed on one release; return the file."""
    OUT.mkdir(exist_ok=True)
    file = OUT / f"fidelity-{kafka_version}.json"
    file.write_text(json.dumps([_plain(each) for each in confirmed], indent=1) + "\n")
    return file


def read_confirmations(kafka_version: str) -> list[StoredConfirmation]:
    """What was kept of one release."""
    rows = json.loads((OUT / f"fidelity-{kafka_version}.json").read_text())
    names = StoredConfirmation.__dataclass_fields__
    return [
        StoredConfirmation(**{**{name: row[name] for name in names}, "differences": tuple(row["differences"])})
        for row in rows
    ]


def write_page(told: Sequence[StoredConfirmation]) -> None:
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
        "replay_differences": [differences for differences in each.replayed if differences],
        "tasks": sum(len(tasks) for role in (each.observed.active, each.observed.standby) for tasks in role.values()),
        "is_streams_group": each.is_streams_group,
        "predicted_rounds": each.predicted.rounds,
        "rounds": each.rounds,
        "predicted_first_ms": each.predicted.first_ms,
        "first_ms": each.first_ms,
        "predicted_settling_ms": each.predicted.settling_ms,
        "settling_ms": each.settling_ms,
        "replayed": len(each.replayed),
        "replayed_alike": sum(not differences for differences in each.replayed),
        "predicted": each.predicted.shares.describe(),
        "observed": each.observed.describe(),
    }


def _steps(told: Sequence[StoredConfirmation]) -> str:
    """One line for each application and release: how much was compared, and how much came as predicted."""
    lines = [
        "| Kafka | who assigns | steps | tasks and standbys | as predicted | as many rebalances | answers replayed |",
        "|---|---|---|---|---|---|---|",
    ]
    groups: dict[tuple[str, str], list[StoredConfirmation]] = {}
    for each in told:
        groups.setdefault((each.kafka, each.title), []).append(each)
    for (kafka, title), group in groups.items():
        lines.append(f"| {kafka} | {title} | {_counts(group)} |")
    lines.append(f"| | **all** | {_counts(told)} |")
    return "\n".join(lines)


def _counts(group: Sequence[StoredConfirmation]) -> str:
    right = sum(not each.differences for each in group)
    as_many = sum(each.rounds == each.predicted_rounds for each in group)
    replayed = sum(each.replayed for each in group)
    alike = sum(each.replayed_alike for each in group)
    rounds = f"{as_many} of {len(group)}"
    answers = f"{alike} of {replayed}" if replayed else "not logged"
    return f"{len(group)} | {sum(each.tasks for each in group)} | {right} of {len(group)} | {rounds} | {answers}"


def _timing(told: Sequence[StoredConfirmation]) -> str:
    """One line for each step, kind of group and release; of several applications, the least and the most."""
    lines = [
        "| Kafka | step | applications | rebalances | seen | s to the first | seen | s until settled | seen |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    groups: dict[tuple[str, str], list[StoredConfirmation]] = {}
    for each in told:
        kind = "streams group: " if each.is_streams_group else ""
        groups.setdefault((each.kafka, f"{kind}{each.step}"), []).append(each)
    for (kafka, step), group in groups.items():
        cells = [
            _range([float(each.predicted_rounds) for each in group], "{:.0f}"),
            _range([float(each.rounds) for each in group], "{:.0f}"),
        ]
        timed = [each for each in group if each.first_ms is not None]
        cells += [_seconds([each.predicted_first_ms for each in timed]), _seconds([each.first_ms for each in timed])]
        cells += [
            _seconds([each.predicted_settling_ms for each in group]),
            _seconds([each.settling_ms for each in group]),
        ]
        lines.append(f"| {kafka} | {step} | {len(group)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _seconds(values_ms: Sequence[int | None]) -> str:
    return _range([value / 1000 for value in values_ms if value is not None], "{:.1f}")


def _range(values: Sequence[float], form: str) -> str:
    ends = list(dict.fromkeys(form.format(value) for value in (min(values), max(values)))) if values else []
    return " to ".join(ends)
