"""What a comparison does not show at a glance, said in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reports.analysis.comparison import ComparisonRow, RunProblem, rows_by_scenario
from reports.analysis.formatting import format_count, format_duration, format_range
from reports.analysis.metric import Metric
from reports.analysis.metrics import METRIC

WORTH_MENTIONING_MS = 1_000
"""From here on it matters how long the group leader computes."""

_LIMIT = "max.poll.interval.ms"
_MOST_PARTITIONS = 4
_ENDED = {"failed": "failed", "never": "never comes to rest", "cycling": "goes in circles"}
_WHY = (
    "Kafka's cost counts partitions, and takes any replica in the rack as local; bytes are read from leaders unless "
    "brokers serve the nearest replica, and are written, replicated and restored too."
)


@dataclass(frozen=True, slots=True)
class Note:
    """A remark on assignors of a scenario, in a sentence or two."""

    scenario: str
    assignors: tuple[str, ...]
    text: str


def notes(rows: Sequence[ComparisonRow]) -> list[Note]:
    """Say why runs did not end well, for how long leaders compute, what is proven, and where figures disagree."""
    found: list[Note] = []
    for scenario, group in rows_by_scenario(rows).items():
        for row in group:
            found += (Note(scenario, (row.assignor,), text) for text in _on_one(row))
        found += _unavailability(scenario, group)
        found += _proofs(scenario, group)
        found += _disagreement(scenario, group)
    return found


def _on_one(row: ComparisonRow) -> Iterator[str]:
    firsts: dict[str, RunProblem] = {}
    for each in row.causes:
        firsts.setdefault(each.verdict, each)
    yield from (_why(row, cause) for cause in firsts.values())
    computing = row.spreads["leader_compute_ms"]
    # Where the leader computes for too long, the cause has told so already.
    if computing and computing.most >= WORTH_MENTIONING_MS and not any(_LIMIT in each.text for each in row.causes):
        yield f"{row.assignor}: the group leader would compute for about {format_duration(computing.most)}."


def _unavailability(scenario: str, rows: Sequence[ComparisonRow]) -> Iterator[Note]:
    """Say how many partitions were unavailable, which is the same for all assignors."""
    for row in rows:
        count, worst = row.spreads["unavailable_partitions"], row.spreads["worst_unavailable_ms"]
        if count and worst and count.most:
            partitions = "1 partition" if count.most == 1 else f"{format_count(count.most)} partitions"
            yield Note(
                scenario,
                tuple(_names(rows)),
                f"{partitions} had no leader or too few in-sync replicas{_named(row.unavailable)}, for up to "
                f"{format_duration(worst.most)}; tasks that read or write them were down meanwhile (table "
                "unavailable_partitions).",
            )
            return


def _named(partitions: Sequence[str]) -> str:
    """Name the first few partitions, in brackets."""
    if not partitions:
        return ""
    more = ", …" if len(partitions) > _MOST_PARTITIONS else ""
    return f" ({', '.join(partitions[:_MOST_PARTITIONS])}{more})"


def _proofs(scenario: str, rows: Sequence[ComparisonRow]) -> Iterator[Note]:
    """Say which optima are known, and how far the others are from it."""
    known = [row for row in rows if row.proofs and all(each.is_exact for each in row.proofs)]
    if known:
        optima = ", ".join(f"{_optimum(row)} of {row.assignor}" for row in known)
        text = f"Proven optimum, the lowest cost at equal balance in the deciding round: {optima}."
        yield Note(scenario, tuple(_names(known)), text)
    for row in rows:
        unknown = [each for each in row.proofs if not each.is_exact]
        if unknown:
            first = unknown[0]
            which = (
                f" ({len(unknown)} of {len(row.seeds)} runs, as with seed {first.seed})" if len(row.seeds) > 1 else ""
            )
            between = f"{format_count(first.least)} and {format_count(first.cheapest)}"
            text = f"{row.assignor}: the optimum is not proven{which}; it is between {between}."
            yield Note(scenario, (row.assignor,), text)


def _optimum(row: ComparisonRow) -> str:
    costs = [each.least for each in row.proofs]
    return format_range(min(costs), max(costs), format_count) if min(costs) < max(costs) else format_count(costs[0])


def _why(row: ComparisonRow, cause: RunProblem) -> str:
    """`sticky goes in circles (2 of 3 runs, as with seed 7): round 9 brings back the assignment of round 5.`"""
    ended = _ENDED.get(cause.verdict, cause.verdict)
    same = sum(each.verdict == cause.verdict for each in row.causes)
    which = f" ({same} of {len(row.seeds)} runs, as with seed {cause.seed})" if len(row.seeds) > 1 else ""
    return f"{row.assignor} {ended}{which}: {cause.text.rstrip('.')}."


def _disagreement(scenario: str, rows: Sequence[ComparisonRow]) -> Iterator[Note]:
    """Say where fewest partitions are not fewest bytes; at rest if it is so there, otherwise in the whole run."""
    partitions = METRIC["cross_rack_source_partitions"]
    for name, when in (("cross_rack_bytes_per_s", "at rest"), ("cross_rack_bytes", "in the whole run")):
        metric = METRIC[name]
        known = [row for row in rows if row.took_part and row.has_all(name) and row.has_all(partitions.name)]
        fewest, least = _least(known, partitions), _least(known, metric)
        if fewest and not set(_names(fewest)) & set(_names(least)):
            # Of those that share the fewest partitions, the one that does best by bytes too.
            one, other = min(fewest, key=lambda row: _median(row, metric)), least[0]
            yield Note(
                scenario,
                (one.assignor, other.assignor),
                f"{one.assignor} reads the fewest partitions across racks, {_both(one, other, partitions)}, but "
                f"{other.assignor} sends fewer bytes between racks {when}: {_both(other, one, metric)}. {_WHY}",
            )
            return


def _least(rows: Sequence[ComparisonRow], metric: Metric) -> list[ComparisonRow]:
    """The rows whose median is written like the least."""
    least = min((_median(row, metric) for row in rows), default=0)
    return [row for row in rows if metric.write(_median(row, metric)) == metric.write(least)]


def _median(row: ComparisonRow, metric: Metric) -> float:
    spread = row.spreads[metric.name]
    return spread.median if spread else 0


def _both(one: ComparisonRow, other: ComparisonRow, metric: Metric) -> str:
    return f"{metric.write(_median(one, metric))} against {metric.write(_median(other, metric))}"


def _names(rows: Sequence[ComparisonRow]) -> list[str]:
    return [row.assignor for row in rows]
