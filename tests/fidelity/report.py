"""Confirmations as the tables of docs/explanation/fidelity.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tests.fidelity.shares import CONVERGENCE, DIMENSIONS, REBALANCES, REPLAYED, RESTORED, TASKS, THREADS, TIMES
from tests.fidelity.stored_confirmation import StoredConfirmation, format_times

PAGE = Path("docs/explanation/fidelity.md")
COMMAND = "python -m tests.fidelity --write"
BEGIN, END = "<!-- {name}: made by `{command}`. -->", "<!-- end of {name} -->"

MANY_APPLICATIONS = "assignors"
MANY_THREADS = "threads"
SEPARATE_JOINS = "the hosts joined in several rebalances"
WITHIN_RANGE = "within the range of rebalances that the simulator reports"
EARLY_WARMUP = "a warm-up was caught up before the follow-up rebalance"
REPORTED_COPIES = "the assignor uses copies that were or were not reported in time"
SEPARATE_ENDS = "threads of a client left or timed out one after another"
UNEXPLAINED = "not explained"


def write_page(confirmations: Sequence[StoredConfirmation], page: Path = PAGE) -> None:
    """Replace the tables of the page.

    Raises:
        ValueError: The page has no place for a table.
    """
    text = page.read_text()
    for name, table in tables(confirmations).items():
        text = replace_part(text, name, table, COMMAND, page)
    page.write_text(text)


def replace_part(text: str, name: str, part: str, command: str, page: Path) -> str:
    """Return the text of a page with another part between its comments; raises ValueError if it has none."""
    begin, end = BEGIN.format(name=name, command=command), END.format(name=name)
    before, found_begin, rest = text.partition(begin)
    _, found_end, after = rest.partition(end)
    if not (found_begin and found_end):
        raise ValueError(f"{page}: expected '{begin}' and '{end}' around '{name}'")
    return f"{before}{begin}\n\n{part}\n\n{end}{after}"


def tables(confirmations: Sequence[StoredConfirmation]) -> dict[str, str]:
    """Return the tables of the page, by name."""
    return {
        "summary": _summary_table(confirmations),
        "tasks": _tasks_table(confirmations),
        "threads": _threads_table(confirmations),
        "rebalances": _rebalances_table(confirmations),
        "times": _times_table(confirmations),
        "restored": _restored_table(confirmations),
        "misses": _misses_table(confirmations),
    }


def explain(stored: StoredConfirmation) -> str:
    """Return why a prediction was wrong, where the observation shows it."""
    if stored.joined_separately:
        return SEPARATE_JOINS
    if stored.is_within_range:
        return WITHIN_RANGE
    if stored.warmed_up_early and not stored.has_predicted_count:
        return EARLY_WARMUP
    if stored.depends_on_timing and stored.differences:
        return REPORTED_COPIES
    if stored.is_streams_group and stored.experiment == MANY_THREADS:
        return SEPARATE_ENDS
    return UNEXPLAINED


def _summary_table(confirmations: Sequence[StoredConfirmation]) -> str:
    releases = list(dict.fromkeys(stored.kafka for stored in confirmations))
    rows = []
    for dimension in DIMENSIONS:
        shares = [
            dimension.share([stored for stored in confirmations if stored.kafka == release]) for release in releases
        ]
        total = dimension.share(confirmations)
        alone = dimension.share([stored for stored in confirmations if stored.experiment != MANY_APPLICATIONS])
        target = "" if dimension.target is None else f"≥ {100 * dimension.target:.0f} %"
        rows.append(
            [dimension.title, dimension.unit, *map(str, shares), str(total), total.percent, alone.percent, target]
        )
    return markdown_table(
        ["compared", "unit", *(f"Kafka {release}" for release in releases), "all", "share", "few", "target"], rows
    )


def _tasks_table(confirmations: Sequence[StoredConfirmation]) -> str:
    def row(group: Sequence[StoredConfirmation]) -> list[str]:
        replayed = REPLAYED.share(group)
        tasks = sum(stored.tasks for stored in group)
        return [str(len(group)), str(tasks), str(TASKS.share(group)), str(replayed) if replayed.total else "not logged"]

    columns = ["steps", "tasks and standbys", "steps as predicted", "leader decisions replayed"]
    return _by_application(confirmations, columns, row)


def _threads_table(confirmations: Sequence[StoredConfirmation]) -> str:
    compared = [stored for stored in confirmations if stored.threads]

    def row(group: Sequence[StoredConfirmation]) -> list[str]:
        return [str(len(group)), str(THREADS.share(group)), THREADS.share(group).percent]

    return _by_application(compared, ["steps", "active tasks on the predicted thread", "share"], row)


def _rebalances_table(confirmations: Sequence[StoredConfirmation]) -> str:
    def row(group: Sequence[StoredConfirmation]) -> list[str]:
        return [
            str(len(group)),
            str(REBALANCES.share(group)),
            str(sum(stored.is_within_range for stored in group)),
            str(TIMES.share(group)),
            str(CONVERGENCE.share(group)),
        ]

    columns = [
        "steps",
        "number of rebalances as predicted",
        "not, but in the reported range",
        "at the predicted time",
        "converged as predicted",
    ]
    return _by_application(confirmations, columns, row)


def _times_table(confirmations: Sequence[StoredConfirmation]) -> str:
    """Return a table with one row per application and step, of the experiments with few applications on a host."""
    rows = [
        [
            stored.kafka,
            stored.title,
            stored.step,
            format_times(stored.predicted_rebalances_ms),
            format_times(stored.rebalances_ms),
            format_times([stored.predicted_converged_ms]),
            format_times([stored.converged_ms]),
        ]
        for stored in confirmations
        if stored.experiment != MANY_APPLICATIONS
    ]
    columns = ["Kafka", "application", "step", "rebalances at", "observed", "converged at", "observed"]
    return markdown_table(columns, rows)


def _restored_table(confirmations: Sequence[StoredConfirmation]) -> str:
    def row(group: Sequence[StoredConfirmation]) -> list[str]:
        predicted = sum(stored.predicted_restored_bytes for stored in group) / 1e6
        observed = sum(stored.restored_bytes for stored in group) / 1e6
        return [str(len(group)), str(RESTORED.share(group)), f"{predicted:,.1f}", f"{observed:,.1f}"]

    return _by_application(confirmations, ["steps", "steps as predicted", "MB predicted", "MB observed"], row)


def _misses_table(confirmations: Sequence[StoredConfirmation]) -> str:
    rows = [
        [stored.kafka, stored.title, stored.step, "; ".join(stored.misses()).replace("|", "\\|"), explain(stored)]
        for stored in confirmations
        if stored.misses()
    ]
    return markdown_table(["Kafka", "application", "step", "difference", "cause"], rows)


def _by_application(
    confirmations: Sequence[StoredConfirmation],
    columns: Sequence[str],
    row: Callable[[Sequence[StoredConfirmation]], list[str]],
) -> str:
    """Return a table with one row per release and application, and one for all."""
    groups: dict[tuple[str, str], list[StoredConfirmation]] = {}
    for stored in confirmations:
        groups.setdefault((stored.kafka, stored.title), []).append(stored)
    rows = [[kafka, title, *row(group)] for (kafka, title), group in groups.items()]
    return markdown_table(["Kafka", "application", *columns], [*rows, ["", "**all**", *row(confirmations)]])


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines).replace("| --- |", "|---|").replace(" --- |", "---|")
