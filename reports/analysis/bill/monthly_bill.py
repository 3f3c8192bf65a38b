"""The bill of the traffic between racks: bytes and dollars of a number of days, from the tables of a run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from reports.analysis.runs.breakdowns import TRAFFIC_KINDS

GB: Final = 1e9
DAY_MS: Final = 86_400_000

_TO_BROKERS: Final = frozenset({"repartition_write", "result_write", "changelog_write", "produce"})
_BETWEEN_BROKERS: Final = frozenset({"replication", "reassignment", "produce_replication"})


@dataclass(frozen=True, slots=True)
class Transfers:
    """Bytes that crossed racks, and what they cost.

    Attributes:
        bytes: each byte counts once.
        usd: the price of sending and receiving.
    """

    bytes: float
    usd: float


@dataclass(frozen=True, slots=True)
class KindOfTransfers:
    """The cross-rack bytes of one kind.

    Attributes:
        kind: the key in the table `traffic`.
        transfers: bytes and dollars.
    """

    kind: str
    transfers: Transfers

    @property
    def title(self) -> str:
        """The title of the kind."""
        return TRAFFIC_KINDS.get(self.kind, self.kind)


@dataclass(frozen=True, slots=True)
class RackPair:
    """The bytes from one rack to another.

    Attributes:
        from_rack: rack of the sender.
        to_rack: rack of the receiver.
        transfers: bytes and dollars.
        usd_per_gb: the price.
    """

    from_rack: str
    to_rack: str
    transfers: Transfers
    usd_per_gb: float


@dataclass(frozen=True, slots=True)
class BillPart:
    """The bytes of one kind from one rack to another.

    Attributes:
        kind: the key in the table `traffic`.
        from_rack: rack of the sender.
        to_rack: rack of the receiver.
        bytes: each byte counts once.
    """

    kind: str
    from_rack: str
    to_rack: str
    bytes: float


@dataclass(frozen=True, slots=True)
class OtherUser:
    """The cross-rack bytes of a producer or group, or of replication, by topic.

    Attributes:
        kind: as in the table `other_traffic`.
        name: the producer or group; None for replication.
        transfers: bytes and dollars.
    """

    kind: str
    name: str | None
    topic: str
    transfers: Transfers


@dataclass(frozen=True, slots=True)
class Saving:
    """What a change saves, from a run with that change.

    Attributes:
        title: its name.
        change: what to set.
        after: the cross-rack bytes and their price with the change; None if it does not apply.
        reason: why it does not apply; empty if it does.
    """

    key: str
    title: str
    change: str
    after: Transfers | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class BillPrice:
    """The price of a gigabyte (10⁹ bytes) from one rack to another.

    Attributes:
        usd_per_gb: the price of sending and receiving.
        received_usd_per_gb: its part for receiving.
        as_of: date and source.
        pairs: other prices by sender and receiver, each with its part for receiving.
    """

    provider: str
    usd_per_gb: float
    received_usd_per_gb: float
    as_of: str
    pairs: Mapping[tuple[str, str], tuple[float, float]] = field(default_factory=dict)

    def between(self, from_rack: str, to_rack: str) -> tuple[float, float]:
        """Return the price from one rack to another, and its part for receiving."""
        return self.pairs.get((from_rack, to_rack), (self.usd_per_gb, self.received_usd_per_gb))

    def of(self, amount: float, from_rack: str, to_rack: str) -> Transfers:
        """Return bytes from one rack to another with their price."""
        return Transfers(amount, amount * self.between(from_rack, to_rack)[0] / GB)


@dataclass(frozen=True, slots=True)
class MonthlyBill:
    """The cross-rack traffic of some days.

    Attributes:
        scenario: name of the scenario.
        assignor: label of the assignor.
        days: the number of days.
        simulated_ms: the time that was simulated, and scaled to the days.
        price: the price.
        parts: bytes by kind and pair of racks; kinds in the order of `TRAFFIC_KINDS`, pairs sorted.
        others: bytes of other producers and groups by topic.
        unknown_bytes: bytes from or to no rack, which are not billed.
        savings: what changes save.
        unbilled: the groups that run alongside, whose traffic is not part of the bill.
    """

    scenario: str
    assignor: str
    days: float
    simulated_ms: int
    price: BillPrice
    parts: tuple[BillPart, ...]
    others: tuple[OtherUser, ...]
    unknown_bytes: float
    savings: tuple[Saving, ...] = ()
    unbilled: tuple[str, ...] = ()

    @property
    def kinds(self) -> tuple[KindOfTransfers, ...]:
        """Bytes and dollars by kind."""
        grouped: dict[str, list[BillPart]] = defaultdict(list)
        for part in self.parts:
            grouped[part.kind].append(part)
        return tuple(KindOfTransfers(kind, self._sum(parts)) for kind, parts in grouped.items())

    @property
    def pairs(self) -> tuple[RackPair, ...]:
        """Bytes and dollars by pair of racks, sorted."""
        grouped: dict[tuple[str, str], list[BillPart]] = defaultdict(list)
        for part in self.parts:
            grouped[part.from_rack, part.to_rack].append(part)
        return tuple(
            RackPair(*pair, self._sum(grouped[pair]), self.price.between(*pair)[0]) for pair in sorted(grouped)
        )

    def _sum(self, parts: Iterable[BillPart]) -> Transfers:
        priced = [self.price.of(part.bytes, part.from_rack, part.to_rack) for part in parts]
        return Transfers(sum(part.bytes for part in priced), sum(part.usd for part in priced))

    @property
    def total(self) -> Transfers:
        """All bytes and dollars."""
        parts = [part.transfers for part in self.kinds]
        return Transfers(sum(part.bytes for part in parts), sum(part.usd for part in parts))

    def billed(self, *, only_brokers: bool) -> Transfers:
        """Return what the provider bills: gigabytes that are sent plus those that are received, and their price.

        Args:
            only_brokers: whether only the resources of brokers are billed here, not those of their clients.
        """
        billed = Transfers(0.0, 0.0)
        for part in self.parts:
            total_price, received_price = self.price.between(part.from_rack, part.to_rack)
            sends = part.bytes if not only_brokers or part.kind not in _TO_BROKERS else 0.0
            is_to_broker = part.kind in _TO_BROKERS or part.kind in _BETWEEN_BROKERS
            receives = part.bytes if not only_brokers or is_to_broker else 0.0
            metered = sends + (receives if received_price else 0.0)
            usd = (sends * (total_price - received_price) + receives * received_price) / GB
            billed = Transfers(billed.bytes + metered, billed.usd + usd)
        return billed

    def record(self) -> dict[str, Any]:
        """Return the bill as JSON-serializable data."""
        return {
            "scenario": self.scenario,
            "assignor": self.assignor,
            "days": self.days,
            "simulated_ms": self.simulated_ms,
            "provider": self.price.provider,
            "usd_per_gb": self.price.usd_per_gb,
            "received_usd_per_gb": self.price.received_usd_per_gb,
            "price_as_of": self.price.as_of,
            "cross_rack_bytes": self.total.bytes,
            "cross_rack_usd": self.total.usd,
            "unknown_rack_bytes": self.unknown_bytes,
            "unbilled_groups": list(self.unbilled),
            "kinds": [{"kind": part.kind, **_fields(part.transfers)} for part in self.kinds],
            "rack_pairs": [
                {
                    "from_rack": pair.from_rack,
                    "to_rack": pair.to_rack,
                    "usd_per_gb": pair.usd_per_gb,
                    **_fields(pair.transfers),
                }
                for pair in self.pairs
            ],
            "other_traffic": [
                {"kind": user.kind, "name": user.name, "topic": user.topic, **_fields(user.transfers)}
                for user in self.others
            ],
            "savings": [
                {
                    "change": saving.key,
                    "cross_rack_bytes": None if saving.after is None else saving.after.bytes,
                    "cross_rack_usd": None if saving.after is None else saving.after.usd,
                    "saved_usd": None if saving.after is None else self.total.usd - saving.after.usd,
                    "reason": saving.reason or None,
                }
                for saving in self.savings
            ],
        }


def monthly_bill(
    tables: Mapping[str, pa.Table],
    price: BillPrice,
    *,
    scenario: str,
    assignor: str,
    days: float,
    simulated_ms: int,
    unbilled: tuple[str, ...] = (),
) -> MonthlyBill:
    """Compute the bill of one run.

    `tables`: the tables `traffic` and `other_traffic` of the run; `simulated_ms`: duration of the run, above 0;
    `unbilled`: groups that run alongside.
    """
    scale = days * DAY_MS / simulated_ms
    amounts: dict[tuple[str, str, str], float] = defaultdict(float)
    unknown = 0.0
    # The traffic of rebalances has that of others, too; without any rebalance, there is none of its own.
    for row in tables["traffic"].to_pylist() or tables["other_traffic"].to_pylist():
        source, target, amount = row["from_rack"], row["to_rack"], row["bytes"] * scale
        if source is None or target is None:
            unknown += amount
        elif source != target and amount:
            amounts[row["kind"], source, target] += amount
    order = {kind: number for number, kind in enumerate(TRAFFIC_KINDS)}
    keys = sorted(amounts, key=lambda key: (order.get(key[0], len(order)), *key))
    others: dict[tuple[str, str | None, str], list[Transfers]] = defaultdict(list)
    for row in _crossing(tables["other_traffic"].to_pylist()):
        sent = price.of(row["bytes"] * scale, row["from_rack"], row["to_rack"])
        others[row["kind"], row["name"], row["topic"]].append(sent)
    return MonthlyBill(
        scenario=scenario,
        assignor=assignor,
        days=days,
        simulated_ms=simulated_ms,
        price=price,
        parts=tuple(BillPart(*key, amounts[key]) for key in keys),
        others=tuple(
            OtherUser(*key, Transfers(sum(part.bytes for part in sent), sum(part.usd for part in sent)))
            for key, sent in others.items()
        ),
        unknown_bytes=unknown,
        unbilled=unbilled,
    )


def _crossing(rows: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield the rows between two different racks."""
    for row in rows:
        if row["from_rack"] != row["to_rack"] and row["from_rack"] is not None and row["to_rack"] is not None:
            yield row


def _fields(transfers: Transfers) -> dict[str, float]:
    return {"bytes": transfers.bytes, "usd": transfers.usd}
