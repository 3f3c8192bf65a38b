"""The exhibits: three questions that the benchmark answers, each with a figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import mean

from reports.analysis.metrics import COMPARABLE_METRICS
from reports.analysis.review.leaderboard import WinsAndLosses, compare_with_baseline
from scenarios.suite.benchmark import NAME
from scenarios.suite.documents import RESTORE, SIZES
from tools.benchmark.figures import shares_at_or_below, wins_and_losses
from tools.benchmark.results import RANKED, Results
from tools.benchmark.runs import METRICS
from tools.benchmark.tables import enumeration, median_percent, per_cent, table

MADE = "<!-- Made by `python -m tools.benchmark pages` from the results in v1/. -->\n"
HA = "high_availability"
STICKIES = ("legacy_sticky", "sticky_task_assignor", "streams_group_sticky@4.4")
STRATEGIES = (HA, f"{HA} min_traffic", f"{HA} balance_subtopology", "ha_subtopology_balance", "optimal")
BROKERS = ("streams_group_sticky@4.2", "streams_group_sticky@4.3", "streams_group_sticky@4.4")
OF_FAILURES = ("worst_downtime_ms", "worst_rack_loss")
"""Metrics of the worst case, for which `high_availability` is made."""

_MAX_GAP = 200.0
"""End of the axis of gaps, in per cent."""


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A page with its figures.

    Attributes:
        page: file name of the page.
        figures: content of its figures, by file name.
    """

    page: str
    text: str
    figures: Mapping[str, bytes]


def exhibits(results: Results) -> Iterator[Exhibit]:
    """Yield the exhibits."""
    yield _ha_and_sticky(results)
    yield _strategies(results)
    yield _brokers(results)


def _ha_and_sticky(results: Results) -> Exhibit:
    found = compare_with_baseline(results.table_of((*RANKED, *OF_FAILURES)), HA, STICKIES)
    picture = wins_and_losses("Scenarios against high_availability: lower–higher–equal", found)
    conclusions = "\n".join(f"- `{name}`: {_summary(found, name)}" for name in STICKIES)
    text = f"""# High availability against sticky

{MADE}
Against `high_availability`, Kafka's default, in {len(results.table.cases)} scenarios of [{NAME}](README.md):

{conclusions}

{_alt_picture("ha-against-sticky.svg", "Wins, losses and ties against high_availability", found)}

{_disagreements(found)}

The sticky assignors of clients give a task at once to the client that shall run it. It restores while the task is
down; `high_availability` lets the old client run it while a warm-up restores. A move that a
follow-up rebalance delays interrupts the task once more. The brokers' assignor has no warm-ups
either, and reads neither racks nor lags; it runs in streams
groups, so its figures contain the effects of their protocol. `legacy_sticky` is Kafka's internal
`LegacyStickyTaskAssignor`, `sticky_task_assignor` the public `StickyTaskAssignor` of KIP-924. The rack-aware
strategy of all is `none` here.

## Figures

{_comparison_table(found)}
Ratio: sum of the metric over all scenarios in which both values are known, divided by that of `high_availability`.
Large scenarios dominate it, so it can disagree with wins and losses.

## Final assignments

For the [instances](instances.md), after all copies have caught up:

{_instance_table(results, (HA, *STICKIES))}"""
    return Exhibit("ha-against-sticky.md", text, {"ha-against-sticky.svg": picture})


def _strategies(results: Results) -> Exhibit:
    gaps = {name: results.scores[name].gaps for name in STRATEGIES}
    picture = shares_at_or_below(
        "Cost above the proven optimum, balanced final assignments", "cost above the optimum (%)", gaps, _MAX_GAP
    )
    metrics = ("cross_rack_source_partitions", "cross_rack_bytes", "active_moves", "subtopology_skew", "load_skew")
    found = compare_with_baseline(results.table_of(metrics), HA, STRATEGIES[1:])
    scores = [results.scores[name] for name in STRATEGIES]
    shares = "; ".join(
        f"{name} {100 * sum(gap == 0 for gap in values) / len(values):.0f} %" for name, values in gaps.items()
    )
    optimal = "\n".join(
        f"- `{score.entry}`: {per_cent(score.optimal, score.proven)} of the balanced final assignments are optimal, "
        f"median gap {median_percent(score.median_gap)}; {score.cross_rack:,} cross-rack source "
        "partitions in all instances."
        for score in scores
    )
    alt = f"Distribution of the cost above the optimum. At the optimum: {shares}"
    text = f"""# Rack-aware strategies against the optimum

{MADE}
How close Kafka's strategies of `rack.aware.assignment.strategy` are to the proven optimum of KIP-925's cost, for the
[instances](instances.md):

{optimal}

![{alt}](pictures/strategies-against-the-optimum.svg)

Each line is the share of instances whose cost is at most so far above the optimum; gaps above {_MAX_GAP:.0f} % are
beyond the axis. The cost weighs a cross-rack partition 10 and a moved copy 1. The optimum moves active tasks and
standbys together; Kafka's strategies first assign without racks, then improve active tasks, then standbys.
`ha_subtopology_balance` is the exact `balance_subtopology`. Two causes keep `optimal` above the optimum in
some instances: it separates the copies of a task by racks, and every follow-up rebalance computes a new target from
the copies that clients hold by then.

## Balance of subtopologies

{_skew_sentence(results)}

{_skew_table(results)}
Subtopology skew: the largest difference between two clients in active tasks of one subtopology, of the final
assignments.

## Simulated scenarios

Against `high_availability` without a strategy, in {len(results.table.cases)} scenarios:

{chr(10).join(f"- `{name}`: {_summary(found, name)}" for name in STRATEGIES[1:])}

{_comparison_table(found)}"""
    return Exhibit("strategies-against-the-optimum.md", text, {"strategies-against-the-optimum.svg": picture})


def _brokers(results: Results) -> Exhibit:
    base, head = BROKERS[1], BROKERS[2]
    answers = {(line["entry"], line["id"]): line["answer"] for line in results.answers}
    ids = sorted({line["id"] for line in results.answers})
    pairs = {
        (first, second): sum(answers[first, one] != answers[second, one] for one in ids)
        for first, second in combinations(BROKERS, 2)
    }
    table_ = results.table_of(METRICS)
    found = compare_with_baseline(table_, base, (head, BROKERS[0]))
    of_head = [one for one in found if one.assignor == head]
    changed = [one for one in of_head if one.wins + one.losses]
    picture = wins_and_losses("Scenarios against brokers of Kafka 4.3: lower–higher–equal", of_head)
    ranks = {rank.assignor: rank.score for rank in results.ranks}
    differing = _differing_scenarios(results, base, head)
    rows = [(f"`{first}`", f"`{second}`", str(count), str(len(ids))) for (first, second), count in pairs.items()]
    text = f"""# Assignor of brokers: 4.3 against 4.4

{MADE}
The assignor of streams groups (KIP-1071) runs on brokers, so an upgrade of the brokers changes it. From Kafka 4.3.1
to 4.4.0:

- The first assignment differs in {pairs[base, head]} of {len(ids)} [instances](instances.md).
- In the simulation, at least one figure differs in {differing} of {len(table_.cases)} scenarios, in {len(changed)} of
  {len(METRICS)} metrics.
- 4.4 against 4.3: {_summary(found, head)}
- Mean ranks on the [leaderboard](leaderboard.md): {ranks[base]:.2f} with 4.3, {ranks[head]:.2f} with 4.4.

{_alt_picture("brokers-4.3-against-4.4.svg", "Wins, losses and ties of brokers 4.4 against 4.3", of_head)}

4.4.0 ranks candidates by the offsets that members report, breaks ties differently, and has the fix of KAFKA-20899,
which 4.2.2 has and 4.3.1 lacks. The instances contain reported offsets; the simulated clients are those of 4.3,
which do not report any, so the scenarios show the other two differences only. Only the assignor differs between the
entries: brokers have the protocol and the defaults of 4.4 in all runs, so this is not a whole upgrade, which
[differences between releases](../reference/releases.md) shows. Neither release reads racks. KIP-1357, in 4.4, makes
the interface of the assignor public and changes no assignment.

## First assignments

{table(("release", "other release", "different assignments", "instances"), rows, right=(2, 3))}
## Figures

{_comparison_table(of_head)}
## Final assignments

{_instance_table(results, BROKERS)}"""
    return Exhibit("brokers-4.3-against-4.4.md", text, {"brokers-4.3-against-4.4.svg": picture})


def _differing_scenarios(results: Results, first: str, second: str) -> int:
    by_entry: dict[str, dict[str, tuple[str, ...]]] = {first: {}, second: {}}
    for row in results.runs:
        if row["entry"] in by_entry:
            by_entry[row["entry"]][row["case"]] = tuple(row[metric] for metric in ("verdict", *METRICS))
    return sum(by_entry[first][case] != by_entry[second][case] for case in by_entry[first])


def _summary(found: Sequence[WinsAndLosses], assignor: str) -> str:
    """Return in which metrics an assignor is significantly lower and higher than the baseline."""
    own = [one for one in found if one.assignor == assignor]

    def titles(verdict: str) -> str:
        names = [COMPARABLE_METRICS[one.metric].title for one in own if one.verdict == verdict]
        return enumeration([name[0].lower() + name[1:] for name in names])

    decided = [one for one in own if one.verdict]
    if not decided:
        return f"no significant difference in any of {len(own)} metrics."
    parts = [
        f"{word} in {titles(verdict)}"
        for word, verdict in (("lower", "better"), ("higher", "worse"))
        if any(one.verdict == verdict for one in own)
    ]
    rest = f"; no significant difference in the other {len(own) - len(decided)} metrics" if own != decided else ""
    return f"significantly {', '.join(parts)}{rest}."


def _disagreements(found: Sequence[WinsAndLosses]) -> str:
    """Return in which metrics an assignor is significantly lower in most scenarios, but higher in the sum."""
    parts = [
        f"{COMPARABLE_METRICS[one.metric].title} of `{one.assignor}` (ratio {one.ratio:.2f}, "
        f"{one.wins} scenarios lower, {one.losses} higher)"
        for one in found
        if one.ratio is not None and one.verdict == "better" and one.ratio > 1
    ]
    if not parts:
        return "Sums over all scenarios agree with the numbers of scenarios."
    return (
        f"A few large differences can outweigh many small ones: the sum over all scenarios is higher than with "
        f"`{HA}` in {enumeration(parts)}. Stores of the random scenarios have "
        f"{SIZES[0]} to {SIZES[-1]} and are restored at {RESTORE}; results may differ for larger states."
    )


def _alt_picture(file: str, subject: str, found: Sequence[WinsAndLosses]) -> str:
    parts = []
    for name in dict.fromkeys(one.assignor for one in found):
        counts = ", ".join(
            f"{COMPARABLE_METRICS[one.metric].title} {one.wins}–{one.losses}–{one.ties}"
            for one in found
            if one.assignor == name
        )
        parts.append(f"{name}: {counts}")
    return f"![{subject}, by metric. {'. '.join(parts)}](pictures/{file})"


def _comparison_table(found: Sequence[WinsAndLosses]) -> str:
    rows = [
        (
            one.assignor,
            COMPARABLE_METRICS[one.metric].title,
            str(one.wins),
            str(one.losses),
            str(one.ties),
            "–" if one.ratio is None else f"{one.ratio:.2f}",
            f"{one.p:.2g}" if one.wins + one.losses else "",
            one.verdict,
        )
        for one in found
    ]
    headers = ("entry", "metric", "lower", "higher", "equal", "ratio", "p", "")
    return table(headers, rows, right=range(2, 7))


def _instance_table(results: Results, names: Sequence[str]) -> str:
    rows = [
        (
            name,
            str(score.settled),
            str(score.balanced),
            per_cent(score.optimal, score.proven),
            median_percent(score.median_gap),
            f"{score.cross_rack:,}",
            f"{score.moved:,}",
        )
        for name in names
        for score in [results.scores[name]]
    ]
    headers = (
        "entry",
        "settled",
        "balanced",
        "optimal",
        "median gap",
        "cross-rack source partitions",
        "restored copies",
    )
    return table(headers, rows, right=range(1, 7))


def _skews(results: Results, name: str) -> list[int]:
    return [
        int(row["subtopology_skew"]) for row in results.solutions if row["entry"] == name and row["subtopology_skew"]
    ]


def _skew_table(results: Results) -> str:
    rows = [
        (name, f"{mean(skews):.2f}", str(max(skews)), str(sum(skew <= 1 for skew in skews)), str(len(skews)))
        for name in STRATEGIES
        for skews in [_skews(results, name)]
    ]
    return table(("entry", "mean skew", "maximum", "instances with at most 1", "instances"), rows, right=range(1, 5))


def _skew_sentence(results: Results) -> str:
    traffic, balance = (mean(_skews(results, f"{HA} {name}")) for name in ("min_traffic", "balance_subtopology"))
    word = "higher than" if traffic > balance else "lower than" if traffic < balance else "equal to"
    return (
        f"The mean skew with `min_traffic` ({traffic:.2f}) is {word} that with `balance_subtopology` ({balance:.2f})."
    )
