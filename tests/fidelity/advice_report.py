"""Rolled out recommendations as a part of docs/explanation/advice-on-a-cluster.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from simulator.plurals import counted
from tests.fidelity.advice import RolledOutAdvice, misses, needs_range
from tests.fidelity.confirmation import Confirmation
from tests.fidelity.report import markdown_table, replace_part
from tests.fidelity.step_outcome import TOLERANCE_MS, StepOutcome

PAGE = Path("docs/explanation/advice-on-a-cluster.md")
COMMAND = "python -m tests.fidelity advice --write"

CONVERGED = "converged after"
FIGURES: dict[str, Callable[[StepOutcome], str]] = {
    "cross-rack partitions": lambda outcome: str(outcome.cross_rack_partitions),
    "active moves": lambda outcome: str(outcome.active_moves),
    "rebalances": lambda outcome: str(len(outcome.rebalances_ms)),
    CONVERGED: lambda outcome: "–" if outcome.converged_ms is None else f"{outcome.converged_ms / 1000:.1f} s",
    "restored": lambda outcome: f"{outcome.restored_bytes / 1e6:.1f} MB",
}


def write_page(advice: Sequence[RolledOutAdvice], page: Path = PAGE) -> None:
    """Replace the generated parts of the page; raises ValueError if it has no place for them."""
    results = "\n".join(line for result in advice for line in _lines(result)).strip()
    text = replace_part(page.read_text(), "conclusion", _conclusion(advice), COMMAND, page)
    page.write_text(replace_part(text, "results", results, COMMAND, page))


def _conclusion(advice: Sequence[RolledOutAdvice]) -> str:
    steps = [step for result in advice for step in (*result.before, *result.after)]
    held = sum(not misses(step) for step in steps)
    in_range = sum(map(needs_range, steps))
    in_place = sum(not step.differences for step in steps)
    lines = [
        f"**Conclusion**: of {len(steps)} steps before and after the rollout of "
        f"{counted(len(advice), 'recommendation')}, {held} went as predicted in all that is compared below, "
        f"{in_range} of them only within the range of times that a run reports. "
        f"In {in_place}, every task was in its place.",
        "",
    ]
    for result in advice:
        (crash, *_), (later_crash, *_) = result.before, result.after
        before, after = (step.outcome.restored_bytes / 1e6 for step in (crash, later_crash))
        figure = (
            f"{' → '.join(map(str, result.cross_rack_partitions))} partitions are read from another rack"
            if result.weak.area == "bill"
            else f"{before:.0f} → {after:.0f} MB are restored in a crash"
        )
        lines.append(f"- `{result.weak.application.id}`: {figure}.")
    return "\n".join(lines)


def _lines(advice: RolledOutAdvice) -> Iterator[str]:
    application, rate = advice.weak.application, advice.restore_bytes_per_s
    restores = "" if rate is None else f" A host restores {rate / 1e6:.0f} MB/s."
    yield from ("", f"## `{application.id}`: {advice.weak.weakness}", "")
    yield from (f"{application.title}.{restores} The checkup says:", "", "```text", advice.screen.rstrip(), "```", "")
    yield from (f"Deployed: {', '.join(f'`{change}`' for change in advice.changes)}.", "", _rollout(advice), "")
    yield from ("**Before**: predicted / observed.", "", _steps(advice.before), "")
    promised = [advice.promised.get(step.step) for step in advice.after]
    yield from ("**After**: promised / predicted / observed.", "", _steps(advice.after, promised))
    missed = [
        f"- Not as predicted, {name}, *{step.step}*: {'; '.join(misses(step))}."
        for name, steps in (("before", advice.before), ("after", advice.after))
        for step in steps
        if misses(step)
    ]
    yield from ("", *missed) if missed else ()


def _rollout(advice: RolledOutAdvice) -> str:
    observed = {
        "rebalances": advice.rebalances,
        "active_moves": advice.active_moves,
        "cross_rack_source_partitions": advice.cross_rack_partitions[1],
    }
    titles = ("rebalances", "active moves", "cross-rack partitions afterwards")
    ranges = advice.report["rollout"]["ranges"]
    rows = [
        [title, " to ".join(dict.fromkeys(f"{value:g}" for value in ranges[key])), str(value)]
        for title, (key, value) in zip(titles, observed.items(), strict=True)
    ]
    return markdown_table(["rollout", "predicted", "observed"], rows)


def _steps(steps: Sequence[Confirmation], promised: Sequence[StepOutcome | None] | None = None) -> str:
    rows = []
    for number, step in enumerate(steps):
        row = [step.step]
        for figure, show in FIGURES.items():
            cells = [show(step.predicted_outcome) + _range(step, figure), show(step.outcome)]
            if promised is not None:
                outcome = promised[number]
                cells.insert(0, "–" if outcome is None else show(outcome))
            row.append(" / ".join(cells))
        rows.append(row)
    return markdown_table(["step", *FIGURES], rows)


def _range(step: Confirmation, figure: str) -> str:
    """Return the range of times that the run reports, if it is wide."""
    times = [outcome.converged_ms for outcome in step.range if outcome.converged_ms is not None]
    if figure != CONVERGED or not times or max(times) - min(times) <= TOLERANCE_MS:
        return ""
    return f" ({min(times) / 1000:.1f} to {max(times) / 1000:.1f} s)"
