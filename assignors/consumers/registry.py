"""Look up Kafka's consumer partition assignors by name, protocol and release, or by Kafka's class.

Kafka has two assignors named `range`: that of clients (protocol `classic`) and that of brokers (protocol `consumer`).
`name@release` is the assignor of a release, as in `uniform@4.1`; the name alone is that of the newest.
"""

from __future__ import annotations

import difflib
import importlib
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from assignors.errors import UnknownAssignorError
from assignors.kafka_releases import CLIENT_RELEASES, registered_release
from assignors.model.consumer_group import ConsumerAssignor


class ConsumerProtocol(StrEnum):
    """The protocol of a consumer group, as in the config `group.protocol`."""

    CLASSIC = "classic"
    CONSUMER = "consumer"


_BROKER_RELEASES: Final = ("4.0", "4.1", "4.2", "4.3", "4.4")
_CLIENT_PACKAGE: Final = "org.apache.kafka.clients.consumer"
_BROKER_PACKAGE: Final = "org.apache.kafka.coordinator.group.assignor"


@dataclass(frozen=True, slots=True)
class ConsumerAssignorInfo:
    """The description of a consumer partition assignor.

    Attributes:
        name: Kafka's name, as in `partition.assignment.strategy` and `group.remote.assignor`; with `@release` if one
            was chosen.
        protocol: protocol whose groups it assigns: the leader runs it (classic), or the group coordinator (consumer).
        path: its class here, as `module:Class` of this package.
        releases: releases that can be chosen, oldest first.
        release: the chosen release; empty for the newest.
        differs_by_release: whether the answers depend on the release.
        is_cooperative: whether members keep their partitions while they rejoin (KIP-429); always true for `consumer`.
        is_sticky: whether the answer depends on what members own.
        is_rack_aware: whether racks can change the answer.
    """

    name: str
    protocol: ConsumerProtocol
    kafka_class: str
    summary: str
    path: str
    releases: tuple[str, ...]
    release: str = ""
    differs_by_release: bool = False
    is_cooperative: bool = field(default=False, kw_only=True)
    is_sticky: bool = field(default=False, kw_only=True)
    is_rack_aware: bool = field(default=False, kw_only=True)

    @property
    def qualified_class(self) -> str:
        """Kafka's class with its package."""
        package = _CLIENT_PACKAGE if self.protocol is ConsumerProtocol.CLASSIC else _BROKER_PACKAGE
        return f"{package}.{self.kafka_class}"

    @property
    def name_without_release(self) -> str:
        """Return the name that all releases have in common."""
        return self.name.partition("@")[0]

    @property
    def kafka_version(self) -> str:
        """The Kafka releases whose answers it gives."""
        newest = self.releases[-1]
        return self.release or (newest if self.differs_by_release else f"{self.releases[0]} to {newest}")

    def at(self, release: str) -> ConsumerAssignorInfo:
        """Return the assignor of a release; a patch gives its registered release.

        Raises UnknownAssignorError if there is no such release.
        """
        name = self.name_without_release
        registered = registered_release(release, self.releases)
        if registered is None:
            raise UnknownAssignorError(
                f"unknown release '{release}' of {name} in protocol {self.protocol} (known: {', '.join(self.releases)})"
            )
        return replace(self, name=f"{name}@{registered}", release=registered)

    def make(self) -> ConsumerAssignor:
        """Build the assignor."""
        module, _, attribute = self.path.partition(":")
        found: Any = getattr(importlib.import_module(f"{__package__}.{module}"), attribute)
        assignor: ConsumerAssignor = (
            found(release=self.release or self.releases[-1]) if self.differs_by_release else found()
        )
        return assignor


_BUILT_IN: Final = (
    ConsumerAssignorInfo(
        "range",
        ConsumerProtocol.CLASSIC,
        "RangeAssignor",
        "the default of clients: ranges of each topic's partitions, co-partitioned, in racks where possible (KIP-881)",
        "range:ConsumerRange",
        CLIENT_RELEASES,
        is_rack_aware=True,
    ),
    ConsumerAssignorInfo(
        "roundrobin",
        ConsumerProtocol.CLASSIC,
        "RoundRobinAssignor",
        "deals all partitions to the members in turn",
        "range:ConsumerRoundRobin",
        CLIENT_RELEASES,
    ),
    ConsumerAssignorInfo(
        "sticky",
        ConsumerProtocol.CLASSIC,
        "StickyAssignor",
        "balanced, and keeps the previous assignment; members revoke everything first (KIP-54, 341, 881)",
        "sticky:ConsumerSticky",
        CLIENT_RELEASES,
        is_sticky=True,
        is_rack_aware=True,
    ),
    ConsumerAssignorInfo(
        "cooperative-sticky",
        ConsumerProtocol.CLASSIC,
        "CooperativeStickyAssignor",
        "sticky; members keep what stays, and a follow-up assigns what others revoked (KIP-429)",
        "sticky:ConsumerCooperativeSticky",
        CLIENT_RELEASES,
        is_cooperative=True,
        is_sticky=True,
        is_rack_aware=True,
    ),
    ConsumerAssignorInfo(
        "uniform",
        ConsumerProtocol.CONSUMER,
        "UniformAssignor",
        "the default of brokers: balanced and sticky; ignores racks (KIP-848)",
        "uniform:BrokerUniform",
        ("4.0.0", *_BROKER_RELEASES),
        differs_by_release=True,
        is_cooperative=True,
        is_sticky=True,
    ),
    ConsumerAssignorInfo(
        "range",
        ConsumerProtocol.CONSUMER,
        "RangeAssignor",
        "the broker's ranges of each topic's partitions; ignores racks and what members own (KIP-848)",
        "uniform:BrokerRange",
        _BROKER_RELEASES,
        is_cooperative=True,
    ),
)


def built_in() -> tuple[ConsumerAssignorInfo, ...]:
    """Return all consumer assignors, in the order of listings."""
    return _BUILT_IN


def find(name: str, protocol: ConsumerProtocol | str | None = None) -> ConsumerAssignorInfo:
    """Return a consumer assignor by Kafka's name or class.

    `name`: Kafka's name, or its class with or without package; with `@release` for that of a release. `protocol`:
    `classic` or `consumer`; None if only one has the name. Raises UnknownAssignorError if no assignor has the name in
    the protocol, it has no such release, or two have the name and no protocol is given.

    Examples:
        >>> find("range@4.1", "consumer").qualified_class
        'org.apache.kafka.coordinator.group.assignor.RangeAssignor'
        >>> find("cooperative-sticky").protocol.value
        'classic'
    """
    wanted = _protocol(protocol)
    plain, at, release = name.partition("@")
    named = [info for info in _BUILT_IN if plain in (info.name, info.kafka_class, info.qualified_class)]
    of_protocol = [info for info in named if wanted in (None, info.protocol)]
    if len(of_protocol) > 1:
        protocols = " or ".join(info.protocol for info in of_protocol)
        raise UnknownAssignorError(f"two consumer assignors are named '{plain}': add the protocol, {protocols}")
    if of_protocol:
        return of_protocol[0].at(release) if at else of_protocol[0]
    if named:
        raise UnknownAssignorError(
            f"'{plain}' is an assignor of the protocol {named[0].protocol}, not {wanted} (known: {_known(wanted)})"
        )
    names = list(dict.fromkeys(n for info in _BUILT_IN for n in (info.name, info.kafka_class)))
    close = difflib.get_close_matches(plain.rpartition(".")[2], names, n=1)
    hint = f"did you mean '{close[0]}'?" if close else f"known: {_known(wanted)}"
    raise UnknownAssignorError(f"unknown consumer assignor '{name}' ({hint})")


def _known(protocol: ConsumerProtocol | None) -> str:
    return ", ".join(dict.fromkeys(info.name for info in _BUILT_IN if protocol in (None, info.protocol)))


def _protocol(protocol: ConsumerProtocol | str | None) -> ConsumerProtocol | None:
    if protocol is None:
        return None
    try:
        return ConsumerProtocol(protocol)
    except ValueError:
        known = ", ".join(ConsumerProtocol)
        raise UnknownAssignorError(f"unknown group protocol '{protocol}' (known: {known})") from None
