"""Notes on a comparison, in sentences, and the comparison as flat records for JSON, CSV and data frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reports.analysis.comparison import ComparisonRow, RunProblem, rows_by_scenario, verdict_text
from reports.analysis.formatting import format_count, format_duration, format_number, format_range
from reports.analysis.metrics import METRIC, Metric
from reports.analysis.text import listed
from simulator.plurals import counted
from simulator.results.verdict import Verdict, times_differ

_PREFIXES = ("early_", "", "late_")


def time_range_text(row: ComparisonRow) -> str:
    """Return `x converges in 10 s or 80 s, with 2 or 3 rebalances, … the copy of 0_1 on c catches up 1.2 s after …`.

    `row`: an assignor in a scenario, with at least one run whose outcome depends on client times.
    """
    first = row.time_ranges[0]
    affected, runs = len(row.time_ranges), len(row.seeds)
    which = f" ({affected} of {runs} runs, for example seed {first['seed']})" if runs > 1 else ""
    factor = format_number(first["uncertainty"])
    return (
        f"{row.assignor} converges in {_times(first)}, with {_rebalances(first)}{which}, depending on client times, "
        f"which are known within a factor of {factor} (application.times){_reason(first)}."
    )


def _times(outcome: Mapping[str, Any]) -> str:
    values = [outcome[f"{prefix}time_to_converge_ms"] for prefix in _PREFIXES]
    known = sorted(value for value in values if value is not None)
    if known and not times_differ(known[0], known[-1]):
        known = known[1:2] or known
    texts = [format_duration(value) for value in known] + ["not at all"] * (None in values)
    return " or ".join(dict.fromkeys(texts))


def _rebalances(outcome: Mapping[str, Any]) -> str:
    values = [outcome[f"{prefix}rebalances_to_converge"] for prefix in _PREFIXES]
    known = sorted({value for value in values if value is not None})
    texts = [format_count(value) for value in known] or ["unknown"]
    return f"{' or '.join(texts)} {'rebalance' if known == [1] else 'rebalances'}"


def _reason(outcome: Mapping[str, Any]) -> str:
    if outcome["task"] is None:
        return "" if outcome["round"] is None else f"; rebalance {outcome['round']} decides"
    copy = f"the copy of {outcome['task']} on {outcome['client']}"
    if outcome["caught_up_after_ms"] is None:
        return f"; {copy} decides at rebalance {outcome['round']}"
    after_ms = outcome["caught_up_after_ms"]
    side = "before" if after_ms < 0 else "after"
    return f"; {copy} catches up {format_duration(abs(after_ms))} {side} rebalance {outcome['round']}"


MIN_NOTED_COMPUTE_MS = 1_000
"""Minimum leader compute time for a note."""

_POLL_INTERVAL = "max.poll.interval.ms"
_MAX_NAMED_PARTITIONS = 4
_VERDICT_TEXTS: Mapping[str, str] = {
    Verdict.FAILED: "failed",
    Verdict.STOPPED: "did not end",
    Verdict.NEVER: "never converges",
    Verdict.CYCLING: "cycles",
}
_WHY_METRICS_CONFLICT = (
    "Kafka's cost counts partitions and treats any replica in the rack as local. Bytes are read from leaders unless "
    "brokers serve the nearest replica, and also written, replicated and restored."
)


@dataclass(frozen=True, slots=True)
class Note:
    """A remark on assignors of a scenario, in one or two sentences."""

    scenario: str
    assignors: tuple[str, ...]
    text: str


def notes(rows: Sequence[ComparisonRow]) -> list[Note]:
    """Return notes on releases and protocols that differ, problems, client and compute times, neighbors,
    unavailability, optima and conflicting metrics.
    """
    result: list[Note] = []
    for scenario, group in rows_by_scenario(rows).items():
        result += _releases(scenario, group)
        for row in group:
            result += (Note(scenario, (row.assignor,), text) for text in _row_notes(row))
        result += _neighbors(scenario, group)
        result += _unavailability(scenario, group)
        result += _proofs(scenario, group)
        result += _conflict(scenario, group)
    return result


def _releases(scenario: str, rows: Sequence[ComparisonRow]) -> Iterator[Note]:
    """Yield a note on the assignors with the same Kafka releases and group protocol, if these differ."""
    alike: dict[tuple[str | None, str | None, str | None], list[str]] = {}
    for row in rows:
        alike.setdefault((row.broker_release, row.client_release, row.protocol), []).append(row.assignor)
    if len(alike) < 2:
        return
    for (brokers, clients, protocol), names in alike.items():
        releases = (
            f"Kafka {brokers}" if brokers == clients else f"brokers of Kafka {brokers}, clients of Kafka {clients}"
        )
        yield Note(scenario, tuple(names), f"{listed(names)}: {releases}, {protocol} protocol.")


def _row_notes(row: ComparisonRow) -> Iterator[str]:
    first_problems: dict[str, RunProblem] = {}
    for problem in row.problems:
        first_problems.setdefault(problem.verdict, problem)
    yield from (_problem_text(row, problem) for problem in first_problems.values())
    if row.time_ranges:
        yield time_range_text(row)
    compute_time = row.spreads["leader_compute_ms"]
    # A compute time above max.poll.interval.ms is already part of the problem.
    if (
        compute_time
        and compute_time.maximum >= MIN_NOTED_COMPUTE_MS
        and not any(_POLL_INTERVAL in problem.text for problem in row.problems)
    ):
        yield f"{row.assignor}: the group leader needs about {format_duration(compute_time.maximum)} to compute."


def _unavailability(scenario: str, rows: Sequence[ComparisonRow]) -> Iterator[Note]:
    """Yield a note on unavailable partitions, which are the same for all assignors."""
    for row in rows:
        count, worst = row.spreads["unavailable_partitions"], row.spreads["worst_unavailable_ms"]
        if count and worst and count.maximum:
            partitions = counted(count.maximum, "partition")
            yield Note(
                scenario,
                tuple(_names(rows)),
                f"{partitions} had no leader or too few in-sync replicas{_first_names(row.unavailable)}, for up to "
                f"{format_duration(worst.maximum)}; tasks that read or write them were down "
                "(table unavailable_partitions).",
            )
            return


def _neighbors(scenario: str, rows: Sequence[ComparisonRow]) -> Iterator[Note]:
    """Yield a note per assignor on the applications that ran at the same time and restored from the same brokers."""
    for row in rows:
        for neighbor in row.neighbors:
            median = f" (median of {neighbor.runs} runs)" if neighbor.runs > 1 else ""
            text = f"Alongside {row.assignor}{median}: {neighbor.describe()}."
            yield Note(scenario, (row.assignor,), text)


def _first_names(partitions: Sequence[str]) -> str:
    """Return the first few partitions in parentheses."""
    if not partitions:
        return ""
    more = ", …" if len(partitions) > _MAX_NAMED_PARTITIONS else ""
    return f" ({', '.join(partitions[:_MAX_NAMED_PARTITIONS])}{more})"


def _proofs(scenario: str, rows: Sequence[ComparisonRow]) -> Iterator[Note]:
    """Yield notes on the assignors with a proven optimum, and on the bounds for the others."""
    proven = [row for row in rows if row.proofs and all(proof.is_exact for proof in row.proofs)]
    if proven:
        optima = ", ".join(f"{_optimum(row)} ({row.assignor})" for row in proven)
        text = f"Proven optimum (lowest cost at equal balance, deciding round): {optima}."
        yield Note(scenario, tuple(_names(proven)), text)
    for row in rows:
        unproven = [proof for proof in row.proofs if not proof.is_exact]
        if unproven:
            first = unproven[0]
            which = (
                f" ({len(unproven)} of {len(row.seeds)} runs, for example seed {first.seed})"
                if len(row.seeds) > 1
                else ""
            )
            between = f"{format_count(first.lower_bound)} and {format_count(first.best_known_cost)}"
            text = f"{row.assignor}: the optimum is not proven{which}; it is between {between}."
            yield Note(scenario, (row.assignor,), text)


def _optimum(row: ComparisonRow) -> str:
    costs = [proof.lower_bound for proof in row.proofs]
    return format_range(min(costs), max(costs), format_count) if min(costs) < max(costs) else format_count(costs[0])


def _problem_text(row: ComparisonRow, problem: RunProblem) -> str:
    """Return `sticky cycles (2 of 3 runs, for example seed 7): round 9 repeats the assignment of round 5.`."""
    ended = _VERDICT_TEXTS.get(problem.verdict, problem.verdict)
    same = sum(other.verdict == problem.verdict for other in row.problems)
    which = f" ({same} of {len(row.seeds)} runs, for example seed {problem.seed})" if len(row.seeds) > 1 else ""
    return f"{row.assignor} {ended}{which}: {problem.text.rstrip('.')}."


def _conflict(scenario: str, rows: Sequence[ComparisonRow]) -> Iterator[Note]:
    """Yield a note if the assignor with the fewest cross-rack partitions does not send the fewest bytes.

    Yields at most one note: on the steady state if the metrics conflict there, otherwise on the whole run.
    """
    partitions = METRIC["cross_rack_source_partitions"]
    for name, when in (("cross_rack_bytes_per_s", "in the steady state"), ("cross_rack_bytes", "in the whole run")):
        metric = METRIC[name]
        known = [row for row in rows if row.is_comparable and row.has_all(name) and row.has_all(partitions.name)]
        fewest, least = _lowest_rows(known, partitions), _lowest_rows(known, metric)
        if fewest and not set(_names(fewest)) & set(_names(least)):
            # Among rows with equally few partitions, take the one with the fewest bytes.
            fewest_row, least_row = min(fewest, key=lambda row: _median(row, metric)), least[0]
            yield Note(
                scenario,
                (fewest_row.assignor, least_row.assignor),
                f"{fewest_row.assignor} has the fewest cross-rack source partitions, "
                f"{_versus(fewest_row, least_row, partitions)}, but {least_row.assignor} sends fewer bytes between "
                f"racks {when}: {_versus(least_row, fewest_row, metric)}. {_WHY_METRICS_CONFLICT}",
            )
            return


def _lowest_rows(rows: Sequence[ComparisonRow], metric: Metric) -> list[ComparisonRow]:
    """Return the rows with the lowest median of a metric; medians that are formatted alike are equal."""
    least = min((_median(row, metric) for row in rows), default=0)
    return [row for row in rows if metric.write(_median(row, metric)) == metric.write(least)]


def _median(row: ComparisonRow, metric: Metric) -> float:
    spread = row.spreads[metric.name]
    return spread.median if spread else 0


def _versus(row: ComparisonRow, other: ComparisonRow, metric: Metric) -> str:
    return f"{metric.write(_median(row, metric))} versus {metric.write(_median(other, metric))}"


def _names(rows: Sequence[ComparisonRow]) -> list[str]:
    return [row.assignor for row in rows]


_LABEL_KEYS = (
    "scenario",
    "assignor",
    "broker_release",
    "client_release",
    "protocol",
    "seeds",
    "verdict",
    "cause",
    "notes",
)


def record_keys(metrics: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the keys of a record in order, with those of the given metrics; by default of all."""
    names = metrics or tuple(METRIC)
    return (*_LABEL_KEYS, *(name + part for name in names for part in ("", "_min", "_max", "_runs")))


def records(rows: Sequence[ComparisonRow], metrics: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return the rows as flat records with the keys `record_keys`.

    Each metric has its median, `_min`, `_max` and the number of `_runs` in which it is known. `cause` is the first
    problem of a run, `notes` are the notes on the assignor. If other applications ran at the same time, `neighbors` has
    their medians.
    """
    all_notes = notes(rows)
    return [
        _record(row, metrics, [n.text for n in all_notes if n.scenario == row.scenario and row.assignor in n.assignors])
        for row in rows
    ]


def _record(row: ComparisonRow, metrics: Sequence[str], row_notes: list[str]) -> dict[str, Any]:
    cause = row.problems[0].text if row.problems else None
    values: list[Any] = [row.scenario, row.assignor, row.broker_release, row.client_release, row.protocol]
    values += [list(row.seeds), verdict_text(row), cause, row_notes]
    for name in metrics or METRIC:
        spread = row.spreads[name]
        values += [spread.median, spread.minimum, spread.maximum, spread.runs] if spread else [None, None, None, 0]
    record = dict(zip(record_keys(metrics), values, strict=True))
    if row.neighbors:
        record["neighbors"] = [neighbor.record() for neighbor in row.neighbors]
    return record
