"""Warm-ups of each round, derived from the copies that were assigned as warm-ups.

A copy assigned as a warm-up remains one as long as its task has more copies than its number of standbys. Once the
other copies are removed, it is a standby.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Set

Copy = tuple[int, int]
"""Task and client."""


def warm_ups(copies: Sequence[Set[Copy]], assigned: Sequence[Set[Copy]]) -> Iterator[set[Copy]]:
    """Yield the warm-ups of each round.

    `copies`: all standbys and warm-ups of each round; `assigned`: the copies that were assigned as warm-ups in each
    round.
    """
    warm: dict[Copy, int] = {}
    standbys: dict[int, int] = {}
    for number, (present, assigned_now) in enumerate(zip(copies, assigned, strict=True)):
        warm = {copy: since for copy, since in warm.items() if copy in present}
        warm.update(dict.fromkeys(sorted(assigned_now), number))
        copy_counts = Counter(task for task, _ in present)
        warm_counts = Counter(task for task, _ in warm)
        for task in {task for task, _ in assigned_now}:
            standbys[task] = min(standbys.get(task, copy_counts[task]), copy_counts[task] - warm_counts[task])
        for task in sorted(warm_counts):
            # If some warm-ups have become standbys, those assigned last are still warm-ups.
            surplus = max(0, copy_counts[task] - standbys[task])
            ordered = sorted((copy for copy in warm if copy[0] == task), key=lambda copy: (-warm[copy], copy))
            for copy in ordered[surplus:]:
                del warm[copy]
        yield set(warm)
