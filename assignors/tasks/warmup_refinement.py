"""The refinement of a target assignment of a streams group, as announced for a release after Kafka 4.4.

A stateful task that would move stays with its owner until its new owner has caught up with a warm-up, or with a standby
that it already has. Every step is an intermediate assignment: the target with the moves that wait, which are *staged*.

Source: apache/kafka pull requests 23325 (which moves are staged), 23454 (which of them get a warm-up), 23484 (which
standbys wait, and the intermediate assignment) and 22748 (a caught-up warm-up causes the next step), as merged until
September 2026. Not included: 23519, which was open, and also promotes copies that have caught up.

Assumptions: all copies of a process count as those of its new owner, so a standby on another thread of the process
warms up the task without a warm-up of its own (Kafka may move it to the owner's thread first). A standby that has
caught up causes the next step like a warm-up; otherwise, a task that waits only for a standby would never move.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from assignors.model.assignment import UNASSIGNED, AssignmentColumns
from assignors.model.columns import BoolArray, IntArray
from assignors.model.state import LATEST_OFFSET, UNKNOWN_THREAD, ApplicationState, previous_holders


@dataclass(frozen=True, slots=True, eq=False)
class RefinedAssignment:
    """A step towards a target assignment.

    Attributes:
        columns: the intermediate assignment, in which a warm-up is a standby.
        warmup: shape (T, C); which of the standbys are warm-ups.
        staged: shape (T,); the tasks that stay with their owners until their new owners have caught up.
    """

    columns: AssignmentColumns
    warmup: BoolArray
    staged: BoolArray


def refine(state: ApplicationState, target: AssignmentColumns, warmups: BoolArray) -> RefinedAssignment:
    """Return the next step from the tasks that clients own towards a target.

    A task is staged if its owner processes it, its new owner is in another process, and that process has no copy with a
    lag of at most `acceptable_recovery_lag`. At most `max_warmup_replicas` staged tasks have a warm-up at a time:
    those that have one already, then those whose new owner has the fewest stateful tasks per thread, then those whose
    owner has the most. A staged task whose new owner has a standby keeps it, and needs no warm-up; one other standby of
    the task then waits. A standby on the process of a staged task's owner waits, too.

    `state`: the state of the group; `max_warmup_replicas` is Kafka's `num.warmup.replicas`. `warmups`, shape (T, C):
    which previous standbys are warm-ups. Returns the step; the target itself if no task is staged.
    """
    assert target.thread is not None  # A coordinator assigns tasks to members, which are threads.
    ran, held = previous_holders(state)
    owner = np.where(ran.any(axis=1), ran.argmax(axis=1), UNASSIGNED)
    staged = _staged(state, target, owner, held)
    if not staged.any():
        none: BoolArray = np.zeros_like(held)
        return RefinedAssignment(target, none, staged)
    rows = np.flatnonzero(staged)
    new_owner = target.active
    has_copy: BoolArray = np.zeros(len(staged), dtype=np.bool_)
    has_copy[rows] = held[rows, new_owner[rows]]
    has_warmup: BoolArray = np.zeros_like(has_copy)
    has_warmup[rows] = warmups[rows, new_owner[rows]]
    borrowed = has_copy & ~has_warmup
    warmed = _warmed(state, rows, owner, new_owner, held, has_warmup, borrowed)
    active = np.where(staged, owner, target.active)
    standby, thread = target.standby.copy(), target.thread.copy()
    for row in rows.tolist():
        standby[row, owner[row]] = False
        _keep_thread(state, thread, row, owner[row])
        if borrowed[row]:
            standby[row] &= ~_waiting_standby(target.standby[row], held[row], owner[row])
            standby[row, new_owner[row]] = True
        elif warmed[row]:
            standby[row, new_owner[row]] = True
    warmup: BoolArray = np.zeros_like(held)
    warmup[warmed, new_owner[warmed]] = True
    return RefinedAssignment(replace(target, active=active, standby=standby, thread=thread), warmup, staged)


def caught_up(state: ApplicationState) -> BoolArray:
    """Return which copies have a known lag of at most `acceptable_recovery_lag`, shape (T, C)."""
    known: BoolArray = state.lags >= 0
    return known & (state.lags <= state.assignment_configs.acceptable_recovery_lag)


def _staged(state: ApplicationState, target: AssignmentColumns, owner: IntArray, held: BoolArray) -> BoolArray:
    tasks = np.arange(len(owner))
    moves = state.tasks.stateful & (owner != UNASSIGNED) & (target.active != UNASSIGNED) & (owner != target.active)
    processes = state.lags[tasks, owner] == LATEST_OFFSET  # An owner that still restores the task has nothing to keep.
    is_ready = (held & caught_up(state))[tasks, target.active]
    staged: BoolArray = moves & processes & ~is_ready
    return staged


def _warmed(
    state: ApplicationState,
    rows: IntArray,
    owner: IntArray,
    new_owner: IntArray,
    held: BoolArray,
    has_warmup: BoolArray,
    borrowed: BoolArray,
) -> BoolArray:
    """Return which staged tasks get a warm-up: one slot after the other, as every warm-up adds to a process's load."""
    copies = held[state.tasks.stateful].sum(axis=0).astype(float)
    threads = np.maximum(1, state.clients.threads)
    names = [(str(task.subtopology), task.partition) for task in state.tasks.ids]
    warmed: BoolArray = np.zeros(len(owner), dtype=np.bool_)
    waiting = [row for row in rows.tolist() if not borrowed[row]]
    for _ in range(state.assignment_configs.max_warmup_replicas):
        if not waiting:
            break
        load = copies / threads
        first = min(waiting, key=lambda row: (not has_warmup[row], load[new_owner[row]], -load[owner[row]], names[row]))
        waiting.remove(first)
        warmed[first] = True
        copies[new_owner[first]] += not has_warmup[first]
    return warmed


def _waiting_standby(placed: BoolArray, held: BoolArray, owner: int) -> BoolArray:
    """Return the one standby of a task that waits while its new owner keeps the standby from which it catches up.

    None waits for that if the target already has one on the process of the task's owner, which waits anyway.
    """
    waits: BoolArray = np.zeros_like(placed)
    added = np.flatnonzero(placed & ~held)
    if not placed[owner] and len(added):
        waits[added[0]] = True
    return waits


def _keep_thread(state: ApplicationState, thread: IntArray, row: int, client: int) -> None:
    """Set the thread of a task that stays to the thread that has it, if it is known."""
    if state.previous_thread is not None and state.previous_thread[row, client] != UNKNOWN_THREAD:
        thread[row, client] = state.previous_thread[row, client]
