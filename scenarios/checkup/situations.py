"""The standard situations of a checkup: deployments, failures, and changes of size and traffic.

Each situation has the same group of clients, and one event ten minutes after the start; the reverse may follow. Seeds
draw which client fails where it is not named.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from scenarios.checkup.base import Document, base_document, deployment
from scenarios.language.units import parse_bytes_per_s
from scenarios.load import Scenario
from simulator.plurals import counted

HOURS: Final = 12
"""Duration of situations after which the group has to converge, in hours."""

SLOWDOWN: Final = 4
"""How much slower the slow instance restores and processes."""

_START: Final = "10m"
DOWN: Final = "5m"
"""How long a crashed client is down."""

DEFAULT_DEPLOYMENT: Final = MappingProxyType({"down": "30s", "pause": "1m"})
"""A rolling restart, if the scenario does not say how it is deployed."""

_WHOLE: Final = f"{HOURS}h"
_NEW: Final = "checkup-new"
_OWN: Final = ("name", "rack", "process_id", "tasks", "host", "instance_id", "partitions")
"""What a new client does not take over from another one."""

_DEFAULT_RESTORE: Final = 50_000_000


@dataclass(frozen=True, slots=True)
class Situation:
    """A situation of an application or a consumer group.

    Attributes:
        key: name in results.
        title: what happens, for tables.
        document: the scenario.
    """

    key: str
    title: str
    document: Document = field(repr=False)
    duration_ms: int


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A situation that an application or a consumer group cannot have.

    Attributes:
        title: what would happen.
        reason: why it is left out.
    """

    title: str
    reason: str


def standard_situations(scenario: Scenario, *, has_leader: bool) -> tuple[list[Situation], list[LeftOut]]:
    """Build the standard situations of an application of Kafka Streams.

    `scenario`: the application; its own events do not take part, except that the first rolling update or restart says
    how it is deployed. `has_leader` says whether a member of the group computes the assignments. Returns the
    situations, and those that are left out.
    """
    return _StreamsSituations(scenario, base_document(scenario), has_leader).build()


class SituationBuilder(ABC):
    """Builds the situations of one application or consumer group."""

    without_leader = "a broker assigns the tasks of a streams group"
    """Why there is no leader that could crash, if there is none."""

    def __init__(self, scenario: Scenario, base: Document, has_leader: bool) -> None:
        """Prepare the situations.

        `base`: its document without events; `has_leader` says whether a member of the group computes the assignments.
        """
        self.base = base
        self.names = [client["name"] for client in self.clients_of(base)]
        self._deployment = deployment(scenario)
        self._brokers = [broker.id for broker in scenario.blueprint.brokers]
        self._racks = {broker.rack for broker in scenario.blueprint.brokers if broker.rack is not None}
        self._has_leader = has_leader
        self._left_out: list[LeftOut] = []
        later = sum(not client.starts for client in scenario.blueprint.clients)
        if later:
            title = f"{counted(later, 'instance')} of the scenario"
            self.leave_out(title, "not up at its start")

    def build(self) -> tuple[list[Situation], list[LeftOut]]:
        """Return the situations, and those that are left out."""
        return list(self.situations()), self._left_out

    @abstractmethod
    def situations(self) -> Iterator[Situation]:
        """Yield the situations."""

    @abstractmethod
    def clients_of(self, document: Document) -> list[Document]:
        """Return the clients in a document, to be changed in place."""

    def situation(self, key: str, title: str, events: list[Document], duration: str = _WHOLE) -> Situation:
        """Return a situation with events ten minutes after the start."""
        document = deepcopy(self.base)
        document["events"] = [{"at": _START, **event} for event in events]
        document["duration"] = duration
        return Situation(key, title, document, int(duration[:-1]) * 3_600_000)

    def leave_out(self, title: str, reason: str) -> None:
        """Note a situation that is left out."""
        self._left_out.append(LeftOut(title, reason))

    def steady(self) -> Situation:
        """Return an hour without events."""
        return self.situation("steady", "Nothing happens", [], "1h")

    def deploy(self) -> Situation:
        """Return a rolling deployment, as the scenario has it."""
        return self.situation("deploy", "Rolling deployment", [self._deploy_event()])

    def crash(self, key: str, title: str, **about: object) -> Situation:
        """Return a crash of a random client for five minutes."""
        return self.situation(key, title, [{"crash": {"clients": self.names, "pick": 1, "down": DOWN, **about}}])

    def leader(self) -> Iterator[Situation]:
        """Yield a crash of the group leader."""
        title = "The group leader crashes"
        if self._has_leader:
            yield self.situation("leader", title, [{"crash": {"clients": self.names[0], "down": DOWN}}])
        else:
            self.leave_out(title, self.without_leader)

    def zone(self) -> Iterator[Situation]:
        """Yield an outage of the zone with the most clients."""
        title = "One zone fails and returns"
        counts = Counter(client["rack"] for client in self.clients_of(self.base) if client.get("rack") in self._racks)
        if len(counts) < 2:
            self.leave_out(title, "the racks of brokers and clients are unknown, or there is only one")
            return
        rack = min(counts, key=lambda rack: (-counts[rack], rack))
        yield self.situation("zone", title, [{"rack_outage": {"rack": rack, "down": "30m"}}])

    def broker(self) -> Iterator[Situation]:
        """Yield an outage of the first broker."""
        title = "One broker fails and returns"
        if len(self._brokers) < 2:
            self.leave_out(title, "the cluster has only one broker")
            return
        yield self.situation("broker", title, [{"broker_loss": {"brokers": self._brokers[:1], "down": "20m"}}])

    def scale(self) -> Situation:
        """Return a scale-out by half of the clients, and back."""
        clients = self.clients_of(self.base)
        racks = list(dict.fromkeys(client["rack"] for client in clients if client.get("rack")))
        shared = {key: value for key, value in clients[0].items() if key not in _OWN}
        new = [{**shared, "name": f"{_NEW}-{number}", "starts": False} for number in range((len(clients) + 1) // 2)]
        for number, client in enumerate(new):
            client |= {"rack": racks[number % len(racks)]} if racks else {}
        names = [client["name"] for client in new]
        title = "Half as many instances join, and leave"
        situation = self.situation("scale", title, [{"scale_out": {"clients": names}}])
        situation.document["events"].append({"at": f"{HOURS // 2}h", "scale_in": {"clients": names}})
        self.clients_of(situation.document).extend(new)
        return situation

    def traffic(self) -> Iterator[Situation]:
        """Yield a day of traffic, if the scenario states it, and twice the traffic."""
        if self.base.get("traffic"):
            yield self.situation("peak", "A day of traffic", [], "24h")
        else:
            self.leave_out("A day of traffic", "neither traffic.hourly nor traffic.from is set")
        yield self.situation("double", "Twice the traffic", [{"traffic": {"factor": 2}}], "2h")

    def _deploy_event(self) -> Document:
        if self._deployment is None:
            return {"rolling_bounce": {"clients": self.names, **DEFAULT_DEPLOYMENT}}
        [(kind, about)] = self._deployment.items()
        kept = {key: value for key, value in about.items() if key != "replacements"}
        return {kind: {**kept, "clients": self.names}}


class _StreamsSituations(SituationBuilder):
    """Builds the situations of an application of Kafka Streams, which has state."""

    def clients_of(self, document: Document) -> list[Document]:
        clients: list[Document] = document["clients"]
        return clients

    def situations(self) -> Iterator[Situation]:
        yield self.steady()
        yield self.deploy()
        yield self.crash("crash", "One instance crashes")
        yield self.crash("lost_disk", "One instance loses its disk", disk="lost")
        yield from self.leader()
        yield from self.zone()
        yield from self.broker()
        yield self._slow()
        yield self.scale()
        yield from self.traffic()

    def _slow(self) -> Situation:
        crash = {"clients": self.names[-1], "down": DOWN, "disk": "lost"}
        title = f"An instance {SLOWDOWN} times slower loses its disk"
        situation = self.situation("slow", title, [{"crash": crash}])
        client = situation.document["clients"][-1]
        client["restore"] = _slower(client.get("restore", _DEFAULT_RESTORE))
        if client.get("records_per_s") is not None:
            client["records_per_s"] = slower_processing(client["records_per_s"])
        return situation


def slower_processing(records_per_s: object) -> int:
    """Return a rate in records per second, divided by `SLOWDOWN`."""
    return max(1, int(str(records_per_s)) // SLOWDOWN)


def _slower(rate: object) -> int:
    """Return a rate in bytes per second, divided by `SLOWDOWN`."""
    return max(1, parse_bytes_per_s(rate) // SLOWDOWN)
