"""Search for sequences of rebalances, which are not simulated, in which an assignor violates an invariant.

Guarantees: a sequence depends on the seed and its number only, and the result on the number of sequences; neither
depends on the number of processes nor on the clock, which only ends the search between two parts.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from operator import itemgetter
from random import Random
from typing import Any, Final
from uuid import UUID

from assignors import registry
from assignors.contract import Invariant, MakeAssignor
from assignors.errors import AssignorError, CustomAssignorError
from assignors.java.hash_order import CollectionOrder
from assignors.model.assignment import TaskAssignor
from assignors.model.sequence import MembershipSequence, SequenceOutcome
from assignors.model.state import ApplicationState
from assignors.sequences import run_sequences, states_in, violations_in
from pipeline.pool import Call, RunAll, process_pool
from pipeline.review.case_runs import Reviewed, check_scenario, load_case
from pipeline.review.shrinking import violation_comment
from reports.analysis.review.sequences import (
    FoundSequence,
    SequenceComparison,
    SequenceCount,
    SequenceReport,
    scenario_file,
)
from scenarios.problems import problem_document
from scenarios.suite.documents import document_text, sequence_document
from scenarios.suite.standard import SuiteCase
from simulator.plurals import counted

_PART: Final = 500
"""Sequences of a request to a process."""

_MAX_SHRINKINGS: Final = 20_000
_RELABELINGS: Final = 50
_FIGURES: Final = ("uneven", "uneven_stateful")

_MAX_SCENARIOS: Final = 5
"""Scenarios of sequences that are run until one shows the violation."""

Smallest = tuple[MembershipSequence, str, tuple[str, ...], str]
"""A smallest sequence, what the assignor did in it, its rebalances as lines of a problem file, and a scenario."""


@dataclass(frozen=True, slots=True)
class SequenceOptions:
    """How to search.

    Attributes:
        sequences: number of sequences; None for no limit.
        until_s: wall-clock time in seconds after which no further part starts; None for no limit.
    """

    seed: int
    sequences: int | None
    until_s: float | None


def random_sequence(seed: int, number: int) -> MembershipSequence:
    """Draw a sequence: 2 to 7 processes, of which some leave, join or return once to three times."""
    draw = Random(f"sequences/{seed}/{number}")
    subtopologies = tuple((draw.randint(1, 8), draw.random() < 0.8) for _ in range(draw.randint(1, 3)))
    count = draw.randint(2, 7)
    processes = tuple((str(UUID(int=draw.getrandbits(128), version=4)), draw.randint(1, 4)) for _ in range(count))
    present = set(range(count)) if draw.random() < 0.8 else set(draw.sample(range(count), draw.randint(1, count)))
    rounds: list[tuple[int, ...]] = []
    for _ in range(draw.choice((1, 1, 2, 3))):
        rounds += [tuple(sorted(present))] * draw.randint(1, 2)
        absent, most = sorted(set(range(count)) - present), draw.choice((1, 1, count))
        if absent and (len(present) == 1 or draw.random() < 0.4):
            present |= set(draw.sample(absent, min(len(absent), most)))
        elif len(present) > 1:
            present -= set(draw.sample(sorted(present), min((len(present) + 1) // 2, most)))
    standbys = draw.choice((0, 1, 1, 2, 2))
    return MembershipSequence(subtopologies, processes, standbys, (*rounds, tuple(sorted(present))))


@dataclass(slots=True)
class _Tally:
    """The outcomes of some sequences.

    Attributes:
        violated: number of sequences in which an invariant does not hold, by its key.
        smallest: the size and the number of the smallest of them, the first one of equal size.
        uneven: number of sequences with uneven shares, by the name of the figure.
        worst: the highest value of the figure.
    """

    violated: Counter[str] = field(default_factory=Counter)
    smallest: dict[str, tuple[int, int]] = field(default_factory=dict)
    uneven: Counter[str] = field(default_factory=Counter)
    worst: Counter[str] = field(default_factory=Counter)

    def add(self, number: int, sequence: MembershipSequence, outcome: SequenceOutcome) -> None:
        """Count the outcome of a sequence."""
        for invariant in outcome.violated:
            self.violated[invariant] += 1
            self._note(invariant, (_size(sequence), number))
        for figure in _FIGURES:
            self.uneven[figure] += getattr(outcome, figure) > 0
            self.worst[figure] = max(self.worst[figure], getattr(outcome, figure))

    def merge(self, other: _Tally) -> None:
        """Add the outcomes of other sequences."""
        self.violated += other.violated
        for invariant, smallest in other.smallest.items():
            self._note(invariant, smallest)
        self.uneven += other.uneven
        self.worst |= other.worst

    def _note(self, invariant: str, sized: tuple[int, int]) -> None:
        self.smallest[invariant] = min(sized, self.smallest.get(invariant, sized))


def _size(sequence: MembershipSequence) -> int:
    threads = sum(1 + threads for _, threads in sequence.processes)
    return threads + sum(tasks for tasks, _ in sequence.subtopologies) + len(sequence.rounds)


def outcomes_of(seed: int, numbers: range, reviewed: Reviewed) -> list[SequenceOutcome]:
    """Return the outcomes of the sequences with some numbers."""
    return run_sequences([random_sequence(seed, number) for number in numbers], _maker(reviewed))


def run_part(seed: int, numbers: range, reviewed: Reviewed) -> _Tally:
    """Run the sequences with some numbers."""
    tally = _Tally()
    for number, outcome in zip(numbers, outcomes_of(seed, numbers, reviewed), strict=True):
        tally.add(number, random_sequence(seed, number), outcome)
    return tally


def find_smallest(seed: int, found: tuple[int, str], reviewed: Reviewed) -> Smallest:
    """Return a smallest sequence with a violation, what the assignor did, the rebalances as problems, and a scenario.

    `found`: the number of a sequence, and the invariant that it violates. Where no smaller sequence has the violation,
    other process ids are tried, on which ties depend.
    """
    number, invariant = found
    make, sequence = _maker(reviewed), random_sequence(seed, number)
    draw = Random(f"process ids/{seed}/{number}")
    runs = 0
    while runs < _MAX_SHRINKINGS:
        smaller = list(dict.fromkeys(smaller_sequences(sequence)))
        others = [_with_other_ids(one, draw) for _ in range(_RELABELINGS) for one in smaller]
        for candidates in (smaller, others):
            runs += len(candidates)
            outcomes = zip(candidates, run_sequences(candidates, make), strict=True)
            violating = next((one for one, outcome in outcomes if invariant in outcome.violated), None)
            if violating is not None:
                break
        if violating is None:
            break
        sequence = violating
    messages = (one.message for one in violations_in(sequence, make) if one.invariant == invariant)
    message = next(messages, "did not recur when the sequence was run alone")
    problems = _problems(states_in(sequence, make), invariant, reviewed)
    return sequence, message, problems, _scenario(sequence, invariant, reviewed, draw)


def _scenario(sequence: MembershipSequence, invariant: str, reviewed: Reviewed, draw: Random) -> str:
    """Return a scenario in whose run the assignor violates the invariant, too; empty if none is found.

    A coordinator lists members in the order of a hash map and not of their ids, so it may take other process ids.
    """
    candidates = [sequence, *(_with_other_ids(sequence, draw) for _ in range(_PART))]
    outcomes = zip(candidates, run_sequences(candidates, reviewed.make), strict=True)
    violating = [one for one, outcome in outcomes if invariant in outcome.violated]
    file = scenario_file(invariant)
    for candidate in violating[:_MAX_SCENARIOS]:
        document = {**sequence_document(file.removesuffix(".yaml"), candidate), "seeds": [1]}
        scenario = load_case(SuiteCase("sequences", file, 1, document), reviewed)
        outcome = check_scenario(scenario, reviewed.spec(scenario), 1, (), 0, (Invariant(invariant),))
        message = next((one.message for one in outcome.violations if one.invariant == invariant), None)
        if message is not None:
            origin = "A sequence of rebalances as a scenario"
            return document_text(document, violation_comment(reviewed, invariant, message, origin, file))
    return ""


def _problems(states: Sequence[ApplicationState], invariant: str, reviewed: Reviewed) -> tuple[str, ...]:
    """Return the states as lines of a problem file, which names an assignor of this project of the same kind."""
    try:
        name = registry.find(reviewed.name).name
    except AssignorError:
        in_streams_groups = registry.resolve(reviewed.assignor).info.in_streams_groups
        name = "streams_group_sticky" if in_streams_groups else "high_availability"
    documents = (problem_document(state, f"{invariant}/{number}", name) for number, state in enumerate(states, start=1))
    return tuple(json.dumps(document) for document in documents)


def _with_other_ids(sequence: MembershipSequence, draw: Random) -> MembershipSequence:
    processes = tuple((str(UUID(int=draw.getrandbits(128), version=4)), threads) for _, threads in sequence.processes)
    return replace(sequence, processes=processes)


def smaller_sequences(sequence: MembershipSequence) -> Iterator[MembershipSequence]:
    """Yield sequences with fewer processes, rebalances, tasks, threads or standbys."""
    for place in range(len(sequence.processes)):
        rounds = [tuple(one - (one > place) for one in present if one != place) for present in sequence.rounds]
        if all(rounds):
            processes = sequence.processes[:place] + sequence.processes[place + 1 :]
            yield replace(sequence, processes=processes, rounds=tuple(rounds))
    for number in range(len(sequence.rounds)):
        if len(sequence.rounds) > 1:
            yield replace(sequence, rounds=sequence.rounds[:number] + sequence.rounds[number + 1 :])
    for number, (tasks, has_state) in enumerate(sequence.subtopologies):
        before, after = sequence.subtopologies[:number], sequence.subtopologies[number + 1 :]
        if before or after:
            yield replace(sequence, subtopologies=before + after)
        for fewer in (tasks // 2, tasks - 1):
            if fewer:
                yield replace(sequence, subtopologies=(*before, (fewer, has_state), *after))
    for place, (process, threads) in enumerate(sequence.processes):
        for fewer in (1, threads - 1):
            if 0 < fewer < threads:
                processes = (*sequence.processes[:place], (process, fewer), *sequence.processes[place + 1 :])
                yield replace(sequence, processes=processes)
    if sequence.standbys:
        yield replace(sequence, standbys=sequence.standbys - 1)


def search_sequences(
    reviewed: Reviewed,
    options: SequenceOptions,
    *,
    workers: int | None = None,
    on_progress: Callable[[str], None] = lambda text: None,
) -> SequenceReport:
    """Search for violations; returns how many sequences have each, and the smallest sequence that was found.

    `workers`: number of processes; by default one for each CPU.
    """
    deadline = inf if options.until_s is None else time.monotonic() + options.until_s
    tally, done = _Tally(), 0
    with process_pool(workers) as pool:
        while done < (inf if options.sequences is None else options.sequences) and time.monotonic() < deadline:
            parts = list(_parts(done, options.sequences, 2 * pool.workers))
            run = partial(_ask, pool.call, run_part, options.seed, reviewed=reviewed)
            for _, part in sorted(pool.map(run, parts), key=itemgetter(0)):
                tally.merge(part)
            done = parts[-1].stop
            on_progress(f"{done:,} sequences, {counted(sum(tally.violated.values()), 'violation')}")
        invariants = sorted(tally.violated)
        found = [(tally.smallest[invariant][1], invariant) for invariant in invariants]
        shrink = partial(_ask, pool.call, find_smallest, options.seed, reviewed=reviewed)
        smallest = [small for _, small in sorted(pool.map(shrink, found), key=itemgetter(0))]
    return SequenceReport(
        assignor=reviewed.label,
        seed=options.seed,
        sequences=done,
        violations=tuple(
            _found(invariant, tally.violated[invariant], number, small)
            for (number, invariant), small in zip(found, smallest, strict=True)
        ),
        uneven=tally.uneven["uneven"],
        worst_uneven=tally.worst["uneven"],
        uneven_stateful=tally.uneven["uneven_stateful"],
        worst_uneven_stateful=tally.worst["uneven_stateful"],
    )


def _ask(call: Call, function: Callable[..., Any], *arguments: Any, reviewed: Reviewed) -> Any:
    """Call a function in a process; if the assignor ends that, in one in which it has a process of its own."""
    try:
        return call(function, *arguments, reviewed)
    except CustomAssignorError:
        return call(function, *arguments, reviewed.isolated)


def compare_sequences(run_all: RunAll, base: Reviewed, head: Reviewed, seed: int, sequences: int) -> SequenceComparison:
    """Run both assignors in the same sequences, and find the smallest one for each invariant that only `head` violates.

    `run_all`: calls functions in parallel.
    """
    tallies = [_Tally() for _ in range(3)]
    parts = list(_parts(0, sequences, -(-sequences // _PART)))
    run = partial(_ask_for_pair, seed=seed, base=base, head=head)
    for _, pair in sorted(run_all(run, parts), key=itemgetter(0)):
        for tally, part in zip(tallies, pair, strict=True):
            tally.merge(part)
    of_base, of_head, only_head = tallies
    found = [(number, invariant) for invariant, (_, number) in sorted(only_head.smallest.items())]
    smallest = sorted(run_all(partial(_ask_for_smallest, seed=seed, head=head), found), key=itemgetter(0))
    return SequenceComparison(
        sequences,
        tuple(
            SequenceCount(key, *(getattr(tally, kind)[key] for tally in tallies))
            for kind in ("violated", "uneven")
            for key in sorted({*getattr(of_base, kind), *getattr(of_head, kind)})
        ),
        tuple(
            _found(invariant, only_head.violated[invariant], number, small)
            for (number, invariant), (_, small) in zip(found, smallest, strict=True)
        ),
    )


def _ask_for_pair(call: Call, numbers: range, *, seed: int, base: Reviewed, head: Reviewed) -> tuple[_Tally, ...]:
    """Return the tallies of both assignors, and of what only `head` does."""
    of_base, of_head = (_outcomes_in(call, seed, numbers, reviewed) for reviewed in (base, head))
    tallies = _Tally(), _Tally(), _Tally()
    for number, before, after in zip(numbers, of_base, of_head, strict=True):
        only = replace(
            after,
            violated=tuple(one for one in after.violated if one not in before.violated),
            **{figure: 0 if getattr(before, figure) else getattr(after, figure) for figure in _FIGURES},
        )
        sequence = random_sequence(seed, number)
        for tally, outcome in zip(tallies, (before, after, only), strict=True):
            tally.add(number, sequence, outcome)
    return tallies


def _outcomes_in(call: Call, seed: int, numbers: range, reviewed: Reviewed) -> list[SequenceOutcome]:
    outcomes: list[SequenceOutcome] = _ask(call, outcomes_of, seed, numbers, reviewed=reviewed)
    return outcomes


def _ask_for_smallest(call: Call, found: tuple[int, str], *, seed: int, head: Reviewed) -> Any:
    return _ask(call, find_smallest, seed, found, reviewed=head)


def _found(invariant: str, count: int, number: int, small: Smallest) -> FoundSequence:
    sequence, message, problems, scenario = small
    return FoundSequence(
        invariant,
        message,
        count,
        number,
        sequence.subtopologies,
        sequence.processes,
        sequence.standbys,
        sequence.rounds,
        problems,
        scenario,
    )


def _parts(done: int, last: int | None, count: int) -> Iterator[range]:
    """Yield the numbers of the sequences of the next parts."""
    for start in range(done, done + count * _PART, _PART):
        stop = start + _PART if last is None else min(start + _PART, last)
        if start < stop:
            yield range(start, stop)


def _maker(reviewed: Reviewed) -> MakeAssignor:
    """Return what builds the assignor, which lists the members of a group in the order of their ids, as tests do."""
    resolved = registry.resolve(reviewed.assignor)
    order = {"order": CollectionOrder.SORTED} if resolved.info.in_streams_groups else {}
    return partial(_make, resolved, {**resolved.parameters, **order}, reviewed)


def _make(resolved: registry.ResolvedAssignor, parameters: dict[str, object], reviewed: Reviewed) -> TaskAssignor:
    return registry.make_contained(resolved.info, parameters, reviewed.limits)
