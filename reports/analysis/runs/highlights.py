"""What to see in each section of a report: one sentence per section, from the figures of its runs."""

from __future__ import annotations

from collections.abc import Sequence

from reports.analysis.comparison import ComparisonRow, Tables, best_rows, rows_of_run, table_rows
from reports.analysis.formatting import NumberFormat, format_bytes, format_clock, format_count, format_number
from reports.analysis.metrics import METRIC, METRICS, Metric
from reports.analysis.runs.breakdowns import Breakdown, assignor_label, runs_by_assignor
from reports.analysis.runs.grids import ALL, ClientLoad, RackMatrix
from reports.analysis.runs.time_series import TimeSeries, displaced_tasks, series
from reports.analysis.text import printable
from simulator.plurals import counted

MAX_NAMED = 3
"""Maximum number of assignors named in a sentence."""


def contrast(rows: Sequence[ComparisonRow], metric: Metric) -> str:
    """Return the assignors with the lowest and the highest median of a metric.

    Compares formatted values, so that values that look equal are equal. Returns, for example
    `lowest with sticky (11.1 min), highest with HA (35.6 min)`, or `45 s with every assignor`; empty if the metric is
    unknown for all.
    """
    known = [(spread.median, row.assignor) for row in rows if (spread := row.spreads[metric.name]) is not None]
    return contrast_of(known, metric.write, len(rows))


def contrast_of(known: Sequence[tuple[float, str]], write: NumberFormat, number: int) -> str:
    """Return the names with the lowest and the highest value, of `number` names; empty without known values."""
    if not known:
        return ""
    lowest, highest = write(min(known)[0]), write(max(known)[0])
    if len(known) == 1:
        return f"{lowest} with {printable(known[0][1])}"
    if lowest == highest:
        return f"{lowest} with every assignor" + ("" if len(known) == number else " for which it is known")
    low = [name for value, name in known if write(value) == lowest]
    high = [name for value, name in known if write(value) == highest]
    return f"lowest with {_names(low)} ({lowest}), highest with {_names(high)} ({highest})"


def settled_sentence(tables: Tables) -> str:
    """Return when all tasks were on their final client, earliest and latest assignor; empty without rebalances.

    `tables`: those of one scenario; must hold `runs` and `rounds`.
    """
    lines = [line for line in series(tables, displaced_tasks) if any(value is not None for value in line.values)]
    known = [(float(at_ms), line.label) for line in lines if (at_ms := settled_ms(line)) is not None]
    open_ = [line.label for line in lines if settled_ms(line) is None]
    text = contrast_of(known, format_clock, len(lines)).replace("lowest", "earliest").replace("highest", "latest")
    parts = [f"Settled: {text}"] if text else []
    parts += [f"{'not' if text else 'Not'} all tasks settle with {_names(open_)}"] if open_ else []
    return f"{'; '.join(parts)}." if parts else ""


def settled_ms(line: TimeSeries) -> int | None:
    """Return the time from which all tasks stay on their final client; None if the last value is not 0."""
    if not line.values or line.values[-1] != 0:
        return None
    last = next((index for index in reversed(range(len(line.values))) if line.values[index]), -1)
    return line.at_ms[last + 1]


def comparison_sentence(rows: Sequence[ComparisonRow], differing: int, total: int) -> str:
    """Return how many metrics differ and which assignor is alone best most often.

    `differing`: number of metrics that differ between assignors.
    """
    if len(rows) == 1:
        return f"{format_count(total)} metrics of {printable(rows[0].assignor)}; there is no other assignor to compare."
    counts = {row.assignor: 0 for row in rows}
    for metric in METRICS:
        winners = best_rows(rows, metric)
        if len(winners) == 1:
            counts[winners[0].assignor] += 1
    most = max(counts.values(), default=0)
    first = f"{format_count(differing)} of {format_count(total)} metrics differ between the assignors"
    if not most:
        return f"{first}; no assignor is alone best in any."
    leaders = [name for name, count in counts.items() if count == most]
    alone = "is alone best most often" if len(leaders) == 1 else "are alone best equally often"
    return f"{first}; {_names(leaders)} {alone}, in {most}."


def player_sentence(tables: Tables) -> str:
    """Return the rebalance that moves the most tasks in the first run of any assignor."""
    runs = runs_by_assignor(tables)
    largest: tuple[int, str] | None = None
    for key, assignor_runs in runs.items():
        for row in rows_of_run(tables, "rounds", key, assignor_runs[0]["seed"]).to_pylist():
            if row["active_moves"] and (largest is None or row["active_moves"] > largest[0]):
                where = (
                    f"round {row['round']} of {printable(assignor_label(key, runs))} at {format_clock(row['at_ms'])}"
                )
                largest = row["active_moves"], where
    if largest is None:
        return "No rebalance moves an active task after the first assignment."
    moves = "1 active task moves" if largest[0] == 1 else f"{format_count(largest[0])} active tasks move"
    return f"The largest rebalance is {largest[1]}: {moves}."


def downtime_sentence(tables: Tables) -> str:
    """Return the task with the longest downtime over all assignors and seeds."""
    rows = table_rows(tables, "tasks")
    worst = max(rows, key=lambda row: row["downtime_ms"], default=None)
    if worst is None:
        return "The application has no tasks."
    if not worst["downtime_ms"]:
        return "No task is down at any time after the first assignment."
    label = assignor_label((worst["scenario"], worst["assignor"]), runs_by_assignor(tables))
    time = METRIC["worst_downtime_ms"].write(worst["downtime_ms"])
    return f"The longest downtime is {time}: task {printable(worst['task'])} with {printable(label)}."


def timeline_sentence(tables: Tables) -> str:
    """Return the event after which a group needs the longest to converge."""
    rows = [row for row in table_rows(tables, "convergence") if row["number"]]
    slowest = max(rows, key=lambda row: row["observed_ms"], default=None)
    if slowest is None:
        return "No event after the start causes a rebalance."
    label = printable(assignor_label((slowest["scenario"], slowest["assignor"]), runs_by_assignor(tables)))
    time = METRIC["time_to_converge_ms"].write(slowest["observed_ms"])
    event = printable(slowest["event"])
    if slowest["time_to_converge_ms"] is None:
        return f"Slowest: {label} has not converged {time} after the event “{event}”."
    return f"Slowest: {label} converges {time} after the event “{event}”."


def load_sentence(loads: dict[str, list[ClientLoad]]) -> str:
    """Return the assignor with the largest difference in tasks per thread between two clients at the end."""
    ranges = {
        label: (min(load.per_thread for load in run_loads), max(load.per_thread for load in run_loads))
        for label, run_loads in loads.items()
        if run_loads
    }
    if not ranges:
        return "No client has tasks at the end."
    widest = max(high - low for low, high in ranges.values())
    if not widest:
        with_all = " with every assignor" if len(ranges) > 1 else ""
        return f"Every client has the same number of tasks per thread{with_all}."
    labels = [label for label, (low, high) in ranges.items() if high - low == widest]
    low, high = ranges[labels[0]]
    between = f"{format_number(low)} to {format_number(high)} tasks per thread"
    if len(ranges) == 1:
        return f"The clients have {between}."
    return f"Most uneven: {_names(labels)}, for example {between} with {printable(labels[0])}."


def moves_sentence(moves: Breakdown) -> str:
    """Return the assignor with the most active task moves, and their most frequent reason."""
    known = [(bar.label, bar.values) for bar in moves.bars if bar.values is not None and sum(bar.values) > 0]
    if not known:
        return "No active task moves after the first assignment."
    label, values = max(known, key=lambda bar: sum(bar[1]))
    reason = max(range(len(values)), key=lambda part: values[part])
    mainly = f"mainly for the reason “{moves.parts[reason]}” ({format_count(values[reason])})"
    times = counted(sum(values), "time")
    if len(moves.bars) == 1:
        return f"{printable(label)} moves active tasks {times}, {mainly}."
    return f"{printable(label)} moves active tasks most often ({times}), {mainly}."


def traffic_sentence(kinds: Breakdown, matrices: Sequence[RackMatrix]) -> str:
    """Return the largest kind of cross-rack traffic, and the pair of racks with the most traffic."""
    sums = [
        (bar.values[part], name, bar.label) for bar in kinds.bars if bar.values for part, name in enumerate(kinds.parts)
    ]
    amount, kind, label = max(sums, default=(0.0, "", ""))
    if not amount:
        return "No bytes cross racks."
    first = f"The largest kind is {kind}: {format_bytes(amount)} with {printable(label)}"
    pairs = [
        (sent, source, target, matrix.label)
        for matrix in matrices
        for row, source in enumerate(matrix.racks)
        for column, target in enumerate(matrix.racks)
        if matrix.heat[row][column] and (sent := matrix.bytes_by_kind[ALL][row][column])
    ]
    if not pairs:
        return f"{first}."
    sent, source, target, where = max(pairs)
    path = f"{printable(source)} to {printable(target)}"
    return f"{first}; most bytes go from {path}: {format_bytes(sent)} with {printable(where)}."


def _names(names: Sequence[str]) -> str:
    """Return names as `a`, `a and b`, or `a, b, c and 2 more`."""
    shown = [printable(name) for name in names[:MAX_NAMED]]
    more = len(names) - len(shown)
    if more:
        return f"{', '.join(shown)} and {more} more"
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))
