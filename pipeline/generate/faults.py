"""What is wrong with raw measurements, planted so that every fault can be told apart and counted.

Time is cut into blocks of eight samples. A block of a partition has at most one fault, amidst good samples; the
counters of a broker restart at the second sample of a block. So no fault hides another, and what ingest finds must be
exactly what was planted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

BLOCK = 8
LATE_BY = 2
"""After how many further samples a late one is written."""

_RANDOM = "shiftrightunsigned(xxhash64({values}), 11) * 1.1102230246251565e-16D"


class FaultsError(ValueError):
    """The faults asked for cannot be planted; says why."""


@dataclass(frozen=True, slots=True)
class Faults:
    """What share of the samples is spoilt in which way, and what share of the brokers has a clock that is off.

    Attributes:
        gaps: one or two samples are missing.
        duplicates: a sample is written twice.
        late: a sample is written after two that came later.
        malformed: a row that is none stands between the samples.
        resets: the counters of a broker begin again.
        skew: share of brokers, not of samples; their clocks are 20 s to 2 min ahead or behind.
    """

    gaps: float = 0.0
    duplicates: float = 0.0
    late: float = 0.0
    malformed: float = 0.0
    resets: float = 0.0
    skew: float = 0.0

    @classmethod
    def parse(cls, text: str) -> Faults:
        """Read `some`, `none`, or shares such as `gaps=0.001,late=0.01`.

        Raises:
            FaultsError: a kind is unknown, a share is not one, or together they are more than fits.
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
                raise FaultsError(f"'{part}': expected some, none, or shares of {', '.join(kinds)}, as in gaps=0.001")
            shares[kind] = _share(part, share)
        faults = cls(**shares)
        if sum(faults.in_blocks.values()) > 1:
            raise FaultsError(
                f"'{text}': gaps, duplicates, late and malformed together may be 1/{BLOCK} of the samples"
            )
        if faults.resets > 1 / (2 * BLOCK):
            raise FaultsError(f"'{text}': resets may be 1/{2 * BLOCK} of the samples at most")
        return faults

    @property
    def in_blocks(self) -> Mapping[str, float]:
        """The faults of which a block has at most one, with the share of blocks that has it."""
        return {kind: getattr(self, kind) * BLOCK for kind in ("gaps", "duplicates", "late", "malformed")}

    @property
    def blocks_between_resets(self) -> int:
        """How many blocks there are to each restart of a broker."""
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
    """SQL of a number from 0 to 1 that depends on nothing but these values."""
    return _RANDOM.format(values=", ".join(values))


def fault_of_block(faults: Faults, seed: int) -> str:
    """SQL of the fault that block `block` of partition `p` has, null if none."""
    drawn = random(f"{seed}L", "1", "p", "block")
    cases, bound = [], 0.0
    for kind, share in faults.in_blocks.items():
        bound += share
        cases.append(f"when drawn < {bound!r}D then '{kind}'")
    return f"(case {' '.join(cases)} end)".replace("drawn", f"({drawn})")


def offset_in_block(seed: int) -> str:
    """SQL of the sample of the block that the fault begins with: 3 or 4."""
    return f"3 + pmod(xxhash64({seed}L, 2, p, block), 2)"


def gap_length(seed: int) -> str:
    """SQL of how many samples are missing: 1 or 2."""
    return f"1 + pmod(xxhash64({seed}L, 3, p, block), 2)"


def reset_slot(faults: Faults, seed: int, era: str) -> str:
    """SQL of the sample with which the broker's counters begin again in an era, which has one restart."""
    blocks = faults.blocks_between_resets
    return f"({BLOCK} * (({era}) * {blocks} + pmod(xxhash64({seed}L, 4, broker, {era}), {max(1, blocks // 2)})) + 1)"


def last_reset_slot(faults: Faults, seed: int) -> str:
    """SQL of the sample with which the counters that `slot` belongs to began; may lie before the first."""
    era = f"cast(floor((slot - 1) / {BLOCK * faults.blocks_between_resets}) as bigint)"
    this, before = reset_slot(faults, seed, era), reset_slot(faults, seed, f"{era} - 1")
    return f"(case when slot >= {this} then {this} else {before} end)"
