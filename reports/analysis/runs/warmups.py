"""Which copies are there to warm up, round by round, from what the assignor said when they came.

A copy that comes as a warm-up is one for as long as its task has more copies than those it stands by with. Once the
others have gone, it is the standby.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Set

Copy = tuple[int, int]
"""Task and client."""


def warm_ups(copies: Sequence[Set[Copy]], came: Sequence[Set[Copy]]) -> Iterator[set[Copy]]:
    """The copies of each round that are there to warm up.

    Args:
        copies: all standbys and warm-ups of each round.
        came: those of them that came as warm-ups in that round.
    """
    warm: dict[Copy, int] = {}
    standbys: dict[int, int] = {}
    for number, (present, new) in enumerate(zip(copies, came, strict=True)):
        warm = {copy: since for copy, since in warm.items() if copy in present}
        warm.update(dict.fromkeys(sorted(new), number))
        of_task = Counter(task for task, _ in present)
        marked = Counter(task for task, _ in warm)
        for task in {task for task, _ in new}:
            standbys[task] = min(standbys.get(task, of_task[task]), of_task[task] - marked[task])
        for task in sorted(marked):
            # What came last is the warm-up, if some of several have become standbys.
            beyond = max(0, of_task[task] - standbys[task])
            ordered = sorted((copy for copy in warm if copy[0] == task), key=lambda copy: (-warm[copy], copy))
            for copy in ordered[beyond:]:
                del warm[copy]
        yield set(warm)
