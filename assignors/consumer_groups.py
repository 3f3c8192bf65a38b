"""The assignors of consumer groups by name and release, as assignors of tasks that are partitions."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from assignors.built_in_assignors import AssignorInfo
from assignors.consumer_tasks import ConsumerTasks
from assignors.consumers import registry
from assignors.consumers.registry import ConsumerAssignorInfo, ConsumerProtocol
from assignors.consumers.selection import BROKER_RANGE, is_eager
from assignors.errors import UnknownAssignorError
from assignors.kafka_releases import registered_release
from assignors.model.consumer_group import ConsumerAssignor

_NOT_CONSUMERS: Final = ("acceptable.", "max.warmup.", "num.standby.", "probing.", "rack.aware.", "client.tag.")
"""Prefixes of configs of Kafka Streams, which no consumer assignor has."""


@dataclass(frozen=True, slots=True)
class OfConsumerGroup:
    """Builds the assignor of a consumer group.

    Attributes:
        strategies: the assignors that members list in `partition.assignment.strategy` unless they have a list of their
            own.
        broker_release: the release of the brokers, whose assignors a group of the classic protocol gets when it is
            converted to the consumer protocol; empty if it is not.
    """

    info: ConsumerAssignorInfo
    group: str
    strategies: tuple[str, ...]
    broker_release: str = ""

    @property
    def is_eager(self) -> bool:
        """Whether members revoke all partitions before they join a rebalance."""
        return self.info.protocol is ConsumerProtocol.CLASSIC and is_eager(self.strategies)

    def __call__(self) -> ConsumerTasks:
        """Build the assignor."""
        by_coordinator = self.info.protocol is ConsumerProtocol.CONSUMER
        # The assignor reads what members own from their subscriptions, which an eager member has revoked by then.
        forgets = self.is_eager and self.info.is_cooperative
        return ConsumerTasks(
            self.info.make(),
            by_coordinator,
            self.is_eager,
            self.group,
            forgets,
            strategies=self.strategies,
            by_name={} if by_coordinator else self._by_name(),
        )

    def _by_name(self) -> Mapping[str, ConsumerAssignor]:
        """Return all assignors of the classic protocol in the release of this one, and those of the coordinator."""
        releases = {
            ConsumerProtocol.CLASSIC: self.info.release or self.info.releases[-1],
            ConsumerProtocol.CONSUMER: self.broker_release,
        }
        return {
            _name(info): info.at(release).make()
            for info in registry.built_in()
            if (release := releases[info.protocol]) and registered_release(release, info.releases) is not None
        }


def consumer_assignor_names() -> tuple[str, ...]:
    """Return the names of all assignors of consumer groups, in the order of listings."""
    return tuple(_name(info) for info in registry.built_in())


def find_consumer_assignor(
    name: str,
    group: str,
    client_release: str,
    broker_release: str,
    *,
    strategies: Sequence[str] | None = None,
    converting_release: str | None = None,
) -> AssignorInfo:
    """Return an assignor of consumer groups in the release of the clients, or of the brokers if these run it.

    `name`: its name, or Kafka's class; `range` and its class without package are those of clients. `group`: the
    `group.id`. `strategies`: the assignors that members list; None for this one only. `converting_release`: the release
    of the brokers when they convert a group of the classic protocol to the consumer protocol; None for
    `broker_release`. Raises UnknownAssignorError if Kafka has no such assignor, or not in this release.
    """
    found = next((info for info in registry.built_in() if name in _names(info)), None)
    if found is None:
        known = consumer_assignor_names()
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean '{close[0]}'?" if close else f"known: {', '.join(known)}"
        raise UnknownAssignorError(f"'{name}' is not an assignor of consumer groups ({hint})")
    by_coordinator = found.protocol is ConsumerProtocol.CONSUMER
    chosen = found.at(broker_release if by_coordinator else client_release)
    return AssignorInfo(
        name=_name(found),
        make=OfConsumerGroup(
            chosen,
            group,
            (found.name,) if strategies is None else tuple(strategies),
            converting_release or broker_release,
        ),
        kafka_version=chosen.kafka_version,
        release=chosen.release or chosen.releases[-1],
        kafka_class=found.kafka_class,
        kafka_package=found.qualified_class.rpartition(".")[0],
        summary=found.summary,
        identical=True,
        ignored_configs=_NOT_CONSUMERS if found.is_rack_aware else (*_NOT_CONSUMERS, "client.rack"),
        in_streams_groups=by_coordinator,
    )


def _name(info: ConsumerAssignorInfo) -> str:
    is_range = info.name == "range" and info.protocol is ConsumerProtocol.CONSUMER
    return BROKER_RANGE if is_range else info.name


def _names(info: ConsumerAssignorInfo) -> tuple[str, ...]:
    return _name(info), info.kafka_class, info.qualified_class
