"""The standard situations of a checkup: deployments, failures, and changes of size and traffic.

Each situation has the same group of clients, and one event ten minutes after the start; the reverse may follow. Seeds
draw which client fails where it is not named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Final

from scenarios.checkup.base import Document, base_document, deployment
from scenarios.language.units import parse_bytes_per_s
from scenarios.load import Scenario

HOURS: Final = 12
"""Duration of situations after which the group has to converge, in hours."""

SLOWDOWN: Final = 4
"""How much slower the slow instance restores and processes."""

_START: Final = "10m"
_DOWN: Final = "5m"
_WHOLE: Final = f"{HOURS}h"
_NEW: Final = "checkup-new"
_OWN: Final = ("name", "rack", "process_id", "tasks", "host")
"""What a new client does not take over from another one."""

_DEFAULT_RESTORE: Final = 50_000_000


@dataclass(frozen=True, slots=True)
class Situation:
    """A situation of an application.

    Attributes:
        key: name in results.
        title: what happens, for tables.
        document: the scenario.
        duration_ms: its duration.
    """

    key: str
    title: str
    document: Document = field(repr=False)
    duration_ms: int


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A situation that an application cannot have.

    Attributes:
        title: what would happen.
        reason: why it is left out.
    """

    title: str
    reason: str


def standard_situations(scenario: Scenario, *, has_leader: bool) -> tuple[list[Situation], list[LeftOut]]:
    """Build the standard situations of an application.

    Args:
        scenario: the application; its own events do not take part, except that the first rolling update or restart
            says how it is deployed.
        has_leader: whether a member of the group computes the assignments.

    Returns:
        The situations, and those that are left out.
    """
    return _Builder(scenario, has_leader).build()


class _Builder:
    """Builds the situations of one application."""

    def __init__(self, scenario: Scenario, has_leader: bool) -> None:
        self._base = base_document(scenario)
        self._deployment = deployment(scenario)
        self._brokers = [broker.id for broker in scenario.blueprint.brokers]
        self._racks = {broker.rack for broker in scenario.blueprint.brokers if broker.rack is not None}
        self._has_leader = has_leader
        self._names = [client["name"] for client in self._base["clients"]]
        self._left_out: list[LeftOut] = []
        later = sum(not client.starts for client in scenario.blueprint.clients)
        if later:
            title = f"{later:,} instance{'' if later == 1 else 's'} of the scenario"
            self._leave_out(title, "not up at its start")

    def build(self) -> tuple[list[Situation], list[LeftOut]]:
        return list(self._situations()), self._left_out

    def _situations(self) -> Iterator[Situation]:
        yield self._situation("steady", "Nothing happens", [], "1h")
        yield self._situation("deploy", "Rolling deployment", [self._deploy()])
        crash = {"clients": self._names, "pick": 1, "down": _DOWN}
        yield self._situation("crash", "One instance crashes", [{"crash": crash}])
        yield self._situation("lost_disk", "One instance loses its disk", [{"crash": {**crash, "disk": "lost"}}])
        if self._has_leader:
            leader = {"clients": self._names[0], "down": _DOWN}
            yield self._situation("leader", "The group leader crashes", [{"crash": leader}])
        else:
            self._leave_out("The group leader crashes", "a broker assigns the tasks of a streams group")
        yield from self._zone_outage()
        yield from self._broker_down()
        yield self._slow()
        yield self._scale()
        yield from self._traffic()

    def _situation(self, key: str, title: str, events: list[Document], duration: str = _WHOLE) -> Situation:
        document = deepcopy(self._base)
        document["events"] = [{"at": _START, **event} for event in events]
        document["duration"] = duration
        return Situation(key, title, document, int(duration[:-1]) * 3_600_000)

    def _leave_out(self, title: str, reason: str) -> None:
        self._left_out.append(LeftOut(title, reason))

    def _deploy(self) -> Document:
        if self._deployment is None:
            return {"rolling_bounce": {"clients": self._names, "down": "30s", "pause": "1m"}}
        [(kind, about)] = self._deployment.items()
        kept = {key: value for key, value in about.items() if key != "replacements"}
        return {kind: {**kept, "clients": self._names}}

    def _zone_outage(self) -> Iterator[Situation]:
        title = "One zone fails and returns"
        counts = Counter(client["rack"] for client in self._base["clients"] if client.get("rack") in self._racks)
        if len(counts) < 2:
            self._leave_out(title, "the racks of brokers and clients are unknown, or there is only one")
            return
        rack = min(counts, key=lambda rack: (-counts[rack], rack))
        yield self._situation("zone", title, [{"rack_outage": {"rack": rack, "down": "30m"}}])

    def _broker_down(self) -> Iterator[Situation]:
        title = "One broker fails and returns"
        if len(self._brokers) < 2:
            self._leave_out(title, "the cluster has only one broker")
            return
        yield self._situation("broker", title, [{"broker_loss": {"brokers": self._brokers[:1], "down": "20m"}}])

    def _slow(self) -> Situation:
        crash = {"clients": self._names[-1], "down": _DOWN, "disk": "lost"}
        title = f"An instance {SLOWDOWN} times slower loses its disk"
        situation = self._situation("slow", title, [{"crash": crash}])
        client = situation.document["clients"][-1]
        client["restore"] = _slower(client.get("restore", _DEFAULT_RESTORE))
        if client.get("records_per_s") is not None:
            client["records_per_s"] = max(1, int(client["records_per_s"]) // SLOWDOWN)
        return situation

    def _scale(self) -> Situation:
        clients = self._base["clients"]
        racks = list(dict.fromkeys(client["rack"] for client in clients if client.get("rack")))
        shared = {key: value for key, value in clients[0].items() if key not in _OWN}
        new = [{**shared, "name": f"{_NEW}-{number}", "starts": False} for number in range((len(clients) + 1) // 2)]
        for number, client in enumerate(new):
            client |= {"rack": racks[number % len(racks)]} if racks else {}
        names = [client["name"] for client in new]
        situation = self._situation(
            "scale", "Half as many instances join, and leave", [{"scale_out": {"clients": names}}]
        )
        situation.document["events"].append({"at": f"{HOURS // 2}h", "scale_in": {"clients": names}})
        situation.document["clients"] += new
        return situation

    def _traffic(self) -> Iterator[Situation]:
        if self._base.get("traffic"):
            yield self._situation("peak", "A day of traffic", [], "24h")
        else:
            self._leave_out("A day of traffic", "neither traffic.hourly nor traffic.from is set")
        yield self._situation("double", "Twice the traffic", [{"traffic": {"factor": 2}}], "2h")


def _slower(rate: object) -> int:
    """Return a rate in bytes per second, divided by `SLOWDOWN`."""
    return max(1, parse_bytes_per_s(rate) // SLOWDOWN)
