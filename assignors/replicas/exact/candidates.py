"""Which brokers a partition's replicas might move to: few of them at first, more where a proof asks for them.

A candidate is a pair of a partition and a broker that does not hold it, as one number: partition x brokers + broker.
Lists of candidates are sorted, and name none twice.
"""

from __future__ import annotations

import numpy as np

from assignors.model.columns import IntArray
from assignors.replicas.exact.even_counts import CountRange
from assignors.replicas.normalized_problem import HashArray, NormalizedProblem, mix_bits
from assignors.replicas.state import NO_BROKER


def all_candidates(question: NormalizedProblem) -> IntArray:
    """All candidates."""
    return new_pairs(np.arange(question.num_partitions * question.num_brokers), question.held_pairs)


def sample_candidates(question: NormalizedProblem, span: CountRange, lacking: IntArray, each: int) -> IntArray:
    """Candidates drawn by hash, likelier the more room a broker has: for a replica in its rack, and in any.

    Where replicas have to be added, brokers without room are drawn as well: others may make room for them.

    Args:
        question: the question.
        span: how many replicas a broker may have.
        lacking: shape (P,); how many replicas of a partition have to be added whatever is done.
        each: how many candidates to draw for each reason to draw any.
    """
    counts = np.bincount(question.held[question.held != NO_BROKER], minlength=question.num_brokers)
    room = np.maximum(span.most - counts, 0)
    partition, place = np.nonzero(question.held != NO_BROKER)
    rack = question.rack[question.held[partition, place]]
    drawn = []
    for number in range(len(question.rack_sizes)) if len(question.rack_sizes) > 1 else ():
        chosen = partition[rack == number]
        there = question.rack == number
        drawn.append(_draw(question, chosen, np.where(there, room, 0), there, each))
    partitions = np.arange(question.num_partitions)
    anywhere = np.ones(question.num_brokers, dtype=np.bool_)
    drawn.append(_draw(question, partitions, room, anywhere, each))
    drawn.append(_draw(question, np.repeat(partitions, lacking), room, anywhere, each))
    drawn.append(_draw(question, np.repeat(partitions, lacking), np.ones_like(room), anywhere, each))
    return new_pairs(np.concatenate(drawn), question.held_pairs)


def new_pairs(pairs: IntArray, known: IntArray) -> IntArray:
    """Those that are not known, sorted, each once."""
    return np.setdiff1d(pairs, known)


def _draw(question: NormalizedProblem, partition: IntArray, room: IntArray, among: np.ndarray, each: int) -> IntArray:
    brokers = np.flatnonzero(among)
    slots = np.repeat(brokers, room[brokers]) if room[brokers].any() else brokers
    if not len(slots):
        return np.empty(0, dtype=np.int64)
    seeds: HashArray = np.repeat(question.partition_hash[partition], each)
    # A partition may stand several times, and draws anew each time.
    turns = mix_bits(np.arange(len(seeds), dtype=np.uint64))
    spot = (mix_bits(seeds ^ turns) % np.uint64(len(slots))).astype(np.int64)
    return np.repeat(partition, each) * question.num_brokers + slots[spot]
