"""Candidate brokers for the replicas of a partition: a small sample first, more if the proof requires them.

A candidate is a pair of a partition and a broker without a replica of it, as one number (partition * brokers + broker).
Lists of candidates are sorted and free of duplicates.
"""

from __future__ import annotations

import numpy as np

from assignors.model.columns import IntArray
from assignors.replicas.exact.even_counts import CountRange
from assignors.replicas.normalized_problem import HashArray, NormalizedProblem, mix_bits
from assignors.replicas.state import NO_BROKER


def all_candidates(problem: NormalizedProblem) -> IntArray:
    """Return all candidates."""
    return new_pairs(np.arange(problem.num_partitions * problem.num_brokers), problem.held_pairs)


def sample_candidates(
    problem: NormalizedProblem, count_range: CountRange, min_added: IntArray, num_samples: int
) -> IntArray:
    """Sample candidates by hash, weighted by the free counts of brokers: in the rack of each replica, and in any rack.

    For replicas that must be added, brokers without free counts are sampled as well: other replicas may leave them.
    `count_range`: the allowed replica counts of a broker. `min_added`, shape (P,): the minimum number of replicas that
    each partition must add. `num_samples`: the number of candidates per replica, partition, or added replica. The
    result is sorted candidates.
    """
    counts = np.bincount(problem.held[problem.held != NO_BROKER], minlength=problem.num_brokers)
    free = np.maximum(count_range.most - counts, 0)
    partition, position = np.nonzero(problem.held != NO_BROKER)
    rack = problem.rack[problem.held[partition, position]]
    samples = []
    for rack_number in range(len(problem.rack_sizes)) if len(problem.rack_sizes) > 1 else ():
        chosen = partition[rack == rack_number]
        in_rack = problem.rack == rack_number
        samples.append(_sample(problem, chosen, np.where(in_rack, free, 0), in_rack, num_samples))
    partitions = np.arange(problem.num_partitions)
    anywhere = np.ones(problem.num_brokers, dtype=np.bool_)
    samples.append(_sample(problem, partitions, free, anywhere, num_samples))
    samples.append(_sample(problem, np.repeat(partitions, min_added), free, anywhere, num_samples))
    samples.append(_sample(problem, np.repeat(partitions, min_added), np.ones_like(free), anywhere, num_samples))
    return new_pairs(np.concatenate(samples), problem.held_pairs)


def new_pairs(pairs: IntArray, known: IntArray) -> IntArray:
    """Return the pairs that are not in `known`, sorted and without duplicates."""
    return np.setdiff1d(pairs, known)


def _sample(
    problem: NormalizedProblem, partition: IntArray, free: IntArray, is_eligible: np.ndarray, num_samples: int
) -> IntArray:
    brokers = np.flatnonzero(is_eligible)
    slots = np.repeat(brokers, free[brokers]) if free[brokers].any() else brokers
    if not len(slots):
        return np.empty(0, dtype=np.int64)
    seeds: HashArray = np.repeat(problem.partition_hash[partition], num_samples)
    # A partition may occur several times; each occurrence is a draw of its own.
    draw_number = mix_bits(np.arange(len(seeds), dtype=np.uint64))
    slot = (mix_bits(seeds ^ draw_number) % np.uint64(len(slots))).astype(np.int64)
    return np.repeat(partition, num_samples) * problem.num_brokers + slots[slot]
