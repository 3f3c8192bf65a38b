"""The pages of docs/benchmark, made from the stored results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from pipeline.review.case_runs import MAX_REBALANCES
from reports.analysis.metrics import COMPARABLE_METRICS
from scenarios.suite.benchmark import NAME, SCENARIOS_PER_FAMILY, benchmark_cases
from scenarios.suite.documents import RESTORE, SIZES
from scenarios.suite.standard import FAMILY_DESCRIPTIONS, VERSION
from tools.benchmark.entries import BASELINE, CLIENTS, ENTRIES
from tools.benchmark.exhibits import exhibits
from tools.benchmark.optima import PROGRAM
from tools.benchmark.results import CLOSE, RANKED, Results
from tools.benchmark.tables import cells_of_comparison, enumeration, median_percent, per_cent, table

FOLDER = Path(__file__).parents[2] / "docs" / "benchmark"
MADE = "<!-- Made by `python -m tools.benchmark pages` from the results in v1/. -->\n"
APPLICATIONS = ("uniform", "skewed", "threads", "standbys", "tags", "racks", "cold", "placements")


def files(results: Results | None = None) -> dict[Path, bytes]:
    """Return the content of every page and figure, by path."""
    found = Results.read() if results is None else results
    texts = {"README.md": readme(found), "instances.md": instances_page(found), "leaderboard.md": leaderboard(found)}
    drawn: dict[str, bytes] = {}
    for exhibit in exhibits(found):
        texts[exhibit.page] = exhibit.text
        drawn |= exhibit.figures
    return {FOLDER / name: text.encode() for name, text in texts.items()} | {
        FOLDER / "pictures" / name: content for name, content in drawn.items()
    }


def readme(results: Results) -> str:
    """Return the page that describes the benchmark."""
    cases = benchmark_cases()
    families = len({case.family for case in cases})
    rows = [row for row in results.instances if row["stored"] == "1"]
    proven = sum(row["status"] == "optimal" for row in rows)
    return f"""# {NAME}

{MADE}
A fixed set of problems on which assignors of Kafka Streams are measured and ranked, with reference answers of
Kafka's own classes and proven optima. It has two parts:

- **Scenarios**: {len(cases)} simulated scenarios of {families} families, in which an assignor computes every
  rebalance. They measure traffic, restored state, downtime and convergence.
- **Instances**: {len(rows)} single assignment problems as JSON, which any program can solve without this one. The
  optimum is proven for {proven}. Another {len(results.instances) - len(rows)} large ones are generated.

{leaders(results)} [The leaderboard](leaderboard.md) has all {len(ENTRIES)} entries.

| page | content |
|---|---|
| [Leaderboard](leaderboard.md) | ranks of Kafka's assignors and of the alternatives, per family and overall |
| [Instances](instances.md) | families, sizes, digests, optima, and how to solve them with another program |
| [High availability against sticky](ha-against-sticky.md) | the default against those of clients and brokers |
| [Strategies against the optimum](strategies-against-the-optimum.md) | `min_traffic`, `balance_subtopology` |
| [Brokers 4.3 against 4.4](brokers-4.3-against-4.4.md) | the assignor of streams groups in three releases |

## Scenarios

The first {SCENARIOS_PER_FAMILY} scenarios of each random family of [the suite of
reviews]({"../reference/review-suite.md"}) ({VERSION}, seed 1), each with one seed, and its known problems without
the three slowest. `scenarios.suite.benchmark.benchmark_cases()` returns them.

{_families()}
## Metrics

The rank of an assignor in a scenario and a metric is its place among all entries; equal values share the mean of
their places. A value is unknown if the run does not become stable, and then ranks last. The score is the mean rank
over all scenarios of a family, then over families, then over these metrics, all with the same weight:

{_metrics()}
Ranks depend on which entries take part; compare scores of one table only. Other metrics of the runs are in
[runs.csv](v1/runs.csv).

The objective of instances is KIP-925's cost with the default weights of Kafka's default assignor: 10 for each
partition that a stateful task or a standby reads across racks, 1 for each that a stateless task reads, and 1 for
each copy on a client that did not hold it. The optimum is the minimum over all *balanced* assignments: every task is
active once and has its standbys on other clients, and every client has its share by threads, rounded either way, of
stateful tasks, of stateless tasks and of standbys. An unbalanced assignment can cost less than the optimum; it
counts as unbalanced, and not as optimal.

## Rules for reporting

State with every result:

1. `{NAME}`, and the part: scenarios or instances. Results of a selection name it.
2. The assignor with its release or commit and all configs that differ from Kafka's defaults.
3. All entries of the table, since ranks depend on them, and the versions of what computed it.
4. The number of runs that failed or did not become stable, and of answers that are invalid, unbalanced or did not
   settle. No case is left out because of its result.
5. Ties as ties. Two values are equal if they differ by less than 10⁻⁹ of the larger one.
6. For differences from a baseline: wins, losses and ties, and the p-value of the sign test, Holm-corrected over all
   comparisons of the table.
7. Compute time separately, with machine, warm-up and median of at least five calls; it is no part of the score.
   Simulated time includes the predicted compute time of Kafka's group leader, which does not depend on the machine.
8. An optimum only with a proof; otherwise the best known cost and the bound.

Seeds of the benchmark are known, so an assignor can be tuned to them. Confirm a claim with
[`assignor-sim review --seed`](../how-to/review-an-assignor.md) and another seed.

## Versions

A version never changes: other cases, metrics, objectives or rules make another version. The tables change if an
entry is added or an error is corrected; the changelog says so.

<!-- not run: takes minutes -->
```sh
make leaderboard
```

This computes everything again, without any cache, and writes the same bytes; it needs a JDK and Maven for Kafka's
answers. A test computes some scenarios and instances again and compares them with the stored results.
"""


def _families() -> str:
    cases = benchmark_cases()
    return table(
        ("family", "scenarios", "what they have in common"),
        [
            (f"`{family}`", str(sum(case.family == family for case in cases)), FAMILY_DESCRIPTIONS[family])
            for family in dict.fromkeys(case.family for case in cases)
        ],
        right=(1,),
    )


def _metrics() -> str:
    rows = [(f"`{key}`", COMPARABLE_METRICS[key].title, COMPARABLE_METRICS[key].meaning) for key in RANKED]
    return table(("key", "title", "meaning"), rows)


def instances_page(results: Results) -> str:
    """Return the page of the instances."""
    stored = [row for row in results.instances if row["stored"] == "1"]
    generated = [row for row in results.instances if row["stored"] != "1"]
    proven = [row for row in stored if row["status"] == "optimal"]
    unknown = sum(row["status"] == "unknown racks" for row in stored)
    programs = sum(row["proof"] == PROGRAM for row in proven)
    bounded = len(stored) - len(proven) - unknown
    return f"""# Instances

{MADE}
{len(stored)} assignment problems, each one line of [instances.jsonl.gz](v1/instances.jsonl.gz) in
[the format of `assignor-sim assign`](../reference/problems.md). The optimum is proven for {len(proven)}:
for {len(proven) - programs} without standbys by a min-cost flow, for {programs} with standbys by a min-cost flow, or
by an integer program (HiGHS) where the flow places two copies of a task on one client. For {unknown}, the racks of
clients or partitions are unknown, so no cost is defined. {bounded} have only a bound.

An instance of a scenario is the state of the second assignment of its run with `high_availability`, which the first
event causes; of the only assignment, if no event follows. Its previous assignment is therefore that of
`high_availability`. The rack-aware strategy belongs to the entry; in the instances, it is `none`.

| file | content |
|---|---|
| [instances.csv](v1/instances.csv) | SHA-256, size, best known cost, lower bound, status and proof of every instance |
| [instances.jsonl.gz](v1/instances.jsonl.gz) | the problems, each with the answer of Kafka's `high_availability` |
| [answers.jsonl.gz](v1/answers.jsonl.gz) | first assignments of all of Kafka's assignors, with their releases |
| [solutions.csv](v1/solutions.csv) | the final assignments of all entries: cost, balance, moves |
| [runs.csv](v1/runs.csv) | the simulated runs of the scenarios |

{_sizes(stored)}
## Solving them with another program

A line has `problem` and `expected`. The SHA-256 in `instances.csv` is that of the text after
`{{"problem":` up to `,"expected":`. To check the stored answers, and to solve the instances with another assignor:

<!-- not run: needs a checkout; tests/tools/benchmark compares the same answers -->
```sh
assignor-sim assign --check docs/benchmark/v1/instances.jsonl.gz
assignor-sim assign docs/benchmark/v1/instances.jsonl.gz --assignor mypkg.nearest:Nearest -o answers.jsonl
```

Two results of an instance are comparable:

- The **first** assignment, for the state as it is. `answers.jsonl.gz` has Kafka's. {_equal_answers(results)}
- The **final** assignment: every copy catches up, the assignor is called again for the new state, and so on, with
  `max_warmup_replicas` set to the number of tasks, until two assignments in a row are equal, in at most 50 calls.
  Cost and moves are measured from the state of the instance. `solutions.csv` has these figures.

`task_offsets` and `task_end_offsets`, which only brokers from Kafka 4.4 on read, are derived from the lags.

## Large instances

The shapes of Kafka's `StreamsAssignmentScaleTest` and beyond, for a new group. `python -m tools.benchmark instances
-o DIR` writes every instance as a file of its own, also these, with the digests of `instances.csv`. Kafka's answers
to them are not computed.

{_large(generated)}"""


def _sizes(rows: Sequence[dict[str, str]]) -> str:
    families = dict.fromkeys(row["id"].partition("/")[0] for row in rows)
    return table(
        ("family", "instances", "tasks", "clients", "threads", "racks", "standbys", "optimum proven"),
        [_size_row(name, [row for row in rows if row["id"].startswith(f"{name}/")]) for name in families],
        right=range(1, 8),
    )


def _size_row(name: str, rows: Sequence[dict[str, str]]) -> tuple[str, ...]:
    def span(key: str) -> str:
        numbers = [int(row[key]) for row in rows]
        return str(min(numbers)) if min(numbers) == max(numbers) else f"{min(numbers)}–{max(numbers)}"

    proven = sum(row["status"] == "optimal" for row in rows)
    return f"`{name}`", str(len(rows)), *map(span, ("tasks", "clients", "threads", "racks", "standbys")), str(proven)


def _large(rows: Iterable[dict[str, str]]) -> str:
    return table(
        ("instance", "tasks", "clients", "threads", "optimum", "SHA-256"),
        [
            (
                f"`{row['id']}`",
                *(f"{int(row[key]):,}" for key in ("tasks", "clients", "threads", "best")),
                f"`{row['sha256'][:16]}…`",
            )
            for row in rows
        ],
        right=range(1, 5),
    )


def _equal_answers(results: Results) -> str:
    clients = [line for line in results.answers if len(line["kafka"]) == len(CLIENTS)]
    assignors = len({line["entry"] for line in clients})
    return (
        f"The classes of Kafka {', '.join(CLIENTS)} give the same answers to all instances with each of the "
        f"{assignors} assignors and strategies of clients, and this project's assignors give the answers "
        "of every class, task for task."
    )


def leaderboard(results: Results) -> str:
    """Return the leaderboard."""
    families = list(dict.fromkeys(family for family, _ in results.table.cases))
    events = [family for family in families if family not in APPLICATIONS]
    versions = ", ".join(f"{name} {version}" for name, version in results.versions.items())
    unstable = sum(not row["time_to_converge_ms"] for row in results.runs)
    return f"""# Leaderboard

{MADE}
{_conclusion(results)}

[{NAME}](README.md): {len(results.table.cases)} scenarios, {len(ENTRIES)} entries, {len(results.runs):,} runs.
{_left_out(results)}{unstable} runs have no time to converge, because their group never became stable after an event;
they rank last there. A run that still rebalances after {MAX_REBALANCES} rebalances is stopped, and ranks last in
everything. `streams_group_sticky` runs in streams groups, all others in classic groups, so its ranks contain the
effects of the protocol, such as no probing rebalances. Computed with {versions}.

## Overall

Mean ranks, 1 is the best and {len(ENTRIES)} the worst. Every metric and every family has the same weight. Not
stable: runs that still rebalanced or probed at their end.

{_overall(results)}
## Families: applications

Mean ranks over all metrics and the scenarios of a family.

{_by_family(results, [family for family in families if family in APPLICATIONS])}
## Families: events and known problems

{_by_family(results, events)}
## Against the default

Scenarios in which the entry is lower than `{BASELINE}`, higher, and equal. **Bold**: significant by the sign test (p
< 0.05, Holm-corrected over {len(results.against_baseline)} comparisons).

{_against(results)}
## Instances

Final assignments of the [instances](instances.md). The gap is the cost above the proven optimum, of balanced
assignments for instances with a positive optimum. An assignment is balanced if every client has its share of
stateful tasks, of stateless tasks and of standbys; Kafka's assignors do not all aim at that. Sums are over settled
instances.

{_instances(results)}
`ha_min_bytes` needs rates of topics, which instances do not have. `optimal` separates the copies of a task by
racks, which the objective does not, and computes a new target in every follow-up rebalance.

## Entries

{_entries()}"""


def _left_out(results: Results) -> str:
    count = results.table.left_out
    return f"{count} scenarios are invalid for some entry and left out. " if count else ""


def _conclusion(results: Results) -> str:
    default = next(number for number, rank in enumerate(results.ranks, start=1) if rank.assignor == BASELINE)
    lead = {
        COMPARABLE_METRICS[key].title: min(results.ranks, key=lambda rank: (rank.by_metric[key], rank.assignor))
        for key in RANKED
    }
    best = "; ".join(f"{title}, `{rank.assignor}`" for title, rank in lead.items())
    return (
        f"{leaders(results)} The default, `{BASELINE}`, is in place {default} of {len(ENTRIES)}. Best mean rank by "
        f"metric: {best}. The score is a convention, as all metrics weigh the same. Stores of the random scenarios "
        f"have {SIZES[0]} to {SIZES[-1]} and are restored at {RESTORE}; results may differ for larger states."
    )


def leaders(results: Results) -> str:
    """Return which entries have the best score; those that are close to it share it."""
    names = enumeration([f"`{rank.assignor}`" for rank in results.leaders])
    score = results.leaders[0].score
    if len(results.leaders) == 1:
        return f"{names} has the best mean rank ({score:.2f})."
    return f"{names} have the best mean ranks ({score:.2f}), which differ by less than {CLOSE:g}."


def _overall(results: Results) -> str:
    return table(
        ("#", "entry", "score", *(COMPARABLE_METRICS[key].title for key in RANKED), "not stable"),
        [
            (
                str(place),
                rank.assignor,
                f"**{rank.score:.2f}**",
                *(f"{rank.by_metric[key]:.1f}" for key in RANKED),
                str(results.unstable(rank.assignor) or ""),
            )
            for place, rank in enumerate(results.ranks, start=1)
        ],
        right=(0, *range(2, 4 + len(RANKED))),
    )


def _by_family(results: Results, families: Sequence[str]) -> str:
    return table(
        ("entry", *families),
        [(rank.assignor, *(f"{rank.by_family[name]:.1f}" for name in families)) for rank in results.ranks],
        right=range(1, 1 + len(families)),
    )


def _against(results: Results) -> str:
    rows = []
    for rank in results.ranks:
        found = {one.metric: one for one in results.against_baseline if one.assignor == rank.assignor}
        if found:
            rows.append((rank.assignor, *(cells_of_comparison(found[key]) for key in RANKED)))
    return table(("entry", *(COMPARABLE_METRICS[key].title for key in RANKED)), rows, right=range(1, 1 + len(RANKED)))


def _instances(results: Results) -> str:
    return table(
        ("entry", "settled", "balanced", "optimal", "median gap", "cross-rack source partitions", "restored copies"),
        list(_instance_rows(results)),
        right=range(1, 7),
    )


def _instance_rows(results: Results) -> Iterator[tuple[str, ...]]:
    for entry in ENTRIES:
        score = results.scores[entry.name]
        if score.not_applicable:
            continue
        yield (
            entry.name,
            str(score.settled),
            str(score.balanced),
            per_cent(score.optimal, score.proven),
            median_percent(score.median_gap),
            f"{score.cross_rack:,}",
            f"{score.moved:,}",
        )


def _entries() -> str:
    return table(
        ("entry", "assignor", "configs", "classes of Kafka that give the same answers"),
        [
            (
                f"`{entry.name}`",
                f"`{entry.assignor}`",
                ", ".join(f"`{key}={value}`" for key, value in entry.configs.items()),
                ", ".join(entry.java) or "not Kafka's",
            )
            for entry in ENTRIES
        ],
    )
