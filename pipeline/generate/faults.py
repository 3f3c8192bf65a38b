"""Faults injected into synthetic measurements so that each fault can be identified and counted.

Time is divided into blocks of eight samples. A block of a partition has at most one fault, surrounded by good samples;
the counters of a broker restart at the second sample of a block. Faults therefore never overlap, and ingest must find
exactly these faults.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

BLOCK = 8
"""Samples per block."""
LATE_BY = 2
"""Number of later samples that are written before a late one."""

_RANDOM = "shiftrightunsigned(xxhash64({values}), 11) * 1.1102230246251565e-16D"


class FaultsError(ValueError):
    """The requested faults are invalid."""


@dataclass(frozen=True, slots=True)
class Faults:
    """The share of samples with each kind of fault, and the share of brokers with a wrong clock.

    Attributes:
        gaps: one or two samples are missing.
        duplicates: a sample is written twice.
        late: a sample is written after two later ones.
        malformed: an unreadable row is written between the samples.
        resets: the counters of a broker restart.
        skew: share of brokers (not samples) whose clock is 20 s to 2 min fast or slow.
    """

    gaps: float = 0.0
    duplicates: float = 0.0
    late: float = 0.0
    malformed: float = 0.0
    resets: float = 0.0
    skew: float = 0.0

    @classmethod
    def parse(cls, text: str) -> Faults:
        """Parse `some`, `none`, or shares such as `gaps=0.001,late=0.01`.

        Raises FaultsError if a kind is unknown, a share is not between 0 and 1, or the shares exceed one fault per
        block.
        """
        if text == "some":
            return cls(gaps=0.001, duplicates=0.001, late=0.001, malformed=0.0001, resets=0.0005, skew=0.2)
        if text == "none":
            return cls()
        kinds = [field.name for field in fields(cls)]
        shares: dict[str, float] = {}
        for part in text.split(","):
            kind, _, share = part.strip().partition("=")
            if kind not in kinds:
                raise FaultsError(f"'{part}': expected some, none, or shares of {', '.join(kinds)}, such as gaps=0.001")
            shares[kind] = _share(part, share)
        faults = cls(**shares)
        if sum(faults.in_blocks.values()) > 1:
            raise FaultsError(
                f"'{text}': gaps, duplicates, late and malformed together exceed 1/{BLOCK} of the samples"
            )
        if faults.resets > 1 / (2 * BLOCK):
            raise FaultsError(f"'{text}': resets exceed 1/{2 * BLOCK} of the samples")
        return faults

    @property
    def in_blocks(self) -> Mapping[str, float]:
        """Return the kinds of which a block has at most one, with the share of blocks that has it."""
        return {kind: getattr(self, kind) * BLOCK for kind in ("gaps", "duplicates", "late", "malformed")}

    @property
    def blocks_between_resets(self) -> int:
        """Return the number of blocks per restart of a broker."""
        return max(2, round(1 / (self.resets * BLOCK)))


def _share(part: str, text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise FaultsError(f"'{part}': '{text}' is not a share between 0 and 1")
    return share


def random(*values: str) -> str:
    """Return SQL for a number from 0 to 1 that depends only on the values."""
    return _RANDOM.format(values=", ".join(values))


def fault_of_block(faults: Faults, seed: int) -> str:
    """Return SQL for the fault of block `block` of partition `p`; null if none."""
    number = f"({random(f'{seed}L', '1', 'p', 'block')})"
    cases, bound = [], 0.0
    for kind, share in faults.in_blocks.items():
        bound += share
        cases.append(f"when {number} < {bound!r}D then '{kind}'")
    return f"(case {' '.join(cases)} end)"


def offset_in_block(seed: int) -> str:
    """Return SQL for the index in the block of the first affected sample: 3 or 4."""
    return f"3 + pmod(xxhash64({seed}L, 2, p, block), 2)"


def gap_length(seed: int) -> str:
    """Return SQL for the number of missing samples: 1 or 2."""
    return f"1 + pmod(xxhash64({seed}L, 3, p, block), 2)"


def reset_slot(faults: Faults, seed: int, era: str) -> str:
    """Return SQL for the sample at which the counters of the broker restart in an era; an era has one restart."""
    blocks = faults.blocks_between_resets
    return f"({BLOCK} * (({era}) * {blocks} + pmod(xxhash64({seed}L, 4, broker, {era}), {max(1, blocks // 2)})) + 1)"


def last_reset_slot(faults: Faults, seed: int) -> str:
    """Return SQL for the sample at which the counters current at `slot` restarted; it may precede the first sample."""
    era = f"cast(floor((slot - 1) / {BLOCK * faults.blocks_between_resets}) as bigint)"
    current, previous = reset_slot(faults, seed, era), reset_slot(faults, seed, f"{era} - 1")
    return f"(case when slot >= {current} then {current} else {previous} end)"
