"""The standard situations of a checkup: deployments, failures, and changes of size and traffic.

Each situation has the same group of clients, and one event ten minutes after the start; the reverse may follow. Seeds
draw which client fails where it is not named. A consumer group has no state, so no disk is lost and nothing is
restored.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from scenarios.language.application_entries import list_clients
from scenarios.language.overrides import apply_overrides
from scenarios.language.units import parse_bytes_per_s
from scenarios.language.yaml_reader import read_yaml
from scenarios.load import Scenario
from simulator.plurals import counted

Document = dict[str, Any]
"""A scenario as data, as YAML is read."""

_BESIDE_A_GROUP: Final = ("application", "clients", "assignors", "alongside", "subject")
"""Keys of what runs beside a consumer group: it shares no bandwidth with the group, so it has no influence."""

_OWN_COURSE: Final = ("assignors", "description", "duration", "events", "expect", "problem", "seeds")
"""Keys that say what happens in a scenario, or what its author expects."""


def base_document(scenario: Scenario, *, is_running: bool = False) -> Document:
    """Return a scenario without its events, assignors and expectations, with its clients one by one.

    `scenario`: the scenario; clients that are not up at its start are left out. `is_running` says whether to keep the
    current assignment of a running application; otherwise all tasks are where the assignor puts them, and all state is
    in place. Returns the document; it shares nothing with the scenario.
    """
    document = _whole_document(scenario)
    for key in _OWN_COURSE:
        document.pop(key, None)
    document["name"] = scenario.name
    list_clients(document)
    plain = [entry for entry in document["clients"] if "from" not in entry]
    has_pods = len(plain) < len(document["clients"])
    document["clients"] = [client for entry in plain for client in _clients(entry)]
    if has_pods:
        document["clients"] += _pods(scenario, plain)
    if not is_running:
        for key in ("starts", "next_rebalance"):
            document["application"].pop(key, None)
        for client in document["clients"]:
            client.pop("tasks", None)
    return document


def group_document(scenario: Scenario, *, is_running: bool = False) -> Document:
    """Return a scenario about a consumer group alone, without its events and expectations, with its clients one by one.

    `scenario`: the scenario; clients that are not up at its start are left out, and so is what runs beside the group.
    `is_running` says whether to keep the current assignment of a running group; otherwise members join at the start.
    Returns the document, whose only entry of `consumers` is the group; it shares nothing with the scenario.
    """
    document = _whole_document(scenario)
    for key in (*_OWN_COURSE, *_BESIDE_A_GROUP):
        document.pop(key, None)
    entry = _group_entry(document, scenario)
    entry["clients"] = [client for listed in entry["clients"] for client in _clients(listed)]
    if not is_running:
        entry.pop("starts", None)
        for client in entry["clients"]:
            client.pop("partitions", None)
    return {**document, "name": scenario.name, "consumers": [entry]}


def _whole_document(scenario: Scenario) -> Document:
    """Return a scenario as data, with its overrides."""
    document: Document = read_yaml(scenario.text).value
    apply_overrides(document, scenario.overrides)
    return document


def _group_entry(document: Document, scenario: Scenario) -> Document:
    """Return the entry of the consumer group that a scenario is about."""
    assert scenario.group is not None
    entry: Document = next(entry for entry in document["consumers"] if entry["group"] == scenario.group.group)
    return entry


def deployment(scenario: Scenario) -> Document | None:
    """Return the first rolling update or restart of own clients, by its kind, without its time and configs."""
    document = _whole_document(scenario)
    others = set(_other_clients(document, scenario))
    for event in document.get("events") or ():
        for kind in ("rolling_update", "rolling_bounce"):
            if not isinstance(event.get(kind), dict) or others.intersection(_named(event[kind])):
                continue
            if kind == "rolling_bounce" or "kind" in event[kind]:
                about = {key: value for key, value in event[kind].items() if key not in ("configs", "client_rack")}
                return {kind: about}
    return None


def renamed_clients(scenario: Scenario) -> list[str]:
    """Return the dynamic members that are pods of a Deployment: a rollout gives them new names."""
    return [client.name for client in scenario.blueprint.clients if not client.keeps_name and not client.is_static]


def _other_clients(document: Document, scenario: Scenario) -> Iterator[str]:
    """Yield the names of clients, and of entries of clients, that are not of the subject of a scenario."""
    entries = [entry for group in document.get("consumers") or () for entry in group["clients"]]
    if scenario.group is not None:
        own = _group_entry(document, scenario)["clients"]
        entries = [entry for entry in entries if not any(entry is one for one in own)]
        entries += [entry for entry in document.get("clients") or () if "name" in entry]
    for entry in entries:
        yield entry["name"]
        yield from (client["name"] for client in _clients({**entry, "starts": True}))


def _named(event: Document) -> list[str]:
    """Return the clients that an event names."""
    named = event.get("clients") or []
    return [named] if isinstance(named, str) else list(named)


def _clients(entry: Document) -> Iterator[Document]:
    """Yield the clients of an entry that are up at the start, by name."""
    if entry.get("starts", True) is False:
        return
    if entry.get("count") is None:
        yield dict(entry)
        return
    shared = {key: value for key, value in entry.items() if key not in ("count", "racks", "hosts")}
    for number in range(int(entry["count"])):
        client = {**shared, "name": f"{entry['name']}-{number}"}
        for key, values in (("rack", entry.get("racks")), ("host", entry.get("hosts"))):
            if values:
                client[key] = values[number % len(values)]
        yield client


def _pods(scenario: Scenario, plain: Sequence[Document]) -> Iterator[Document]:
    """Yield the pods of manifests that are up at the start, by name, without their autoscaler."""
    others = {str(client["name"]) for entry in plain for client in _clients({**entry, "starts": True})}
    for plan in scenario.blueprint.clients:
        if plan.starts and plan.name not in others:
            known = {"rack": plan.rack, "records_per_s": plan.records_per_s, "host": plan.host}
            yield {
                "name": plan.name,
                "threads": plan.threads,
                "tags": dict(plan.tags),
                "restore": plan.restore_bytes_per_s,
                "static_membership": plan.is_static,
                **({} if plan.rack is None else {"client_rack": plan.announces_rack}),
                **{key: value for key, value in known.items() if value is not None},
            }


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
    """A situation of an application or a consumer group; `key` is its name in results."""

    key: str
    title: str
    document: Document = field(repr=False)
    duration_ms: int


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A situation that an application or a consumer group cannot have."""

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
        """Prepare the situations of a document without events."""
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


def group_situations(scenario: Scenario, *, has_leader: bool) -> tuple[list[Situation], list[LeftOut]]:
    """Build the standard situations of a consumer group.

    `scenario`: the scenario about the group; its own events do not take part, except that the first rolling update or
    restart of the group says how it is deployed. `has_leader` says whether a member of the group computes the
    assignments. Returns the situations, and those that are left out.
    """
    return _GroupSituations(scenario, group_document(scenario), has_leader).build()


class _GroupSituations(SituationBuilder):
    """Builds the situations of one consumer group."""

    without_leader = "the group coordinator assigns the partitions of the consumer protocol"

    def clients_of(self, document: Document) -> list[Document]:
        [group] = document["consumers"]
        clients: list[Document] = group["clients"]
        return clients

    def situations(self) -> Iterator[Situation]:
        yield self.steady()
        yield self.deploy()
        yield self.crash("crash", "One instance crashes")
        yield from self.leader()
        yield from self.zone()
        yield from self.broker()
        yield from self._slow()
        yield self.scale()
        yield from self.traffic()

    def _slow(self) -> Iterator[Situation]:
        title = f"An instance processes {SLOWDOWN} times slower"
        if self.clients_of(self.base)[-1].get("records_per_s") is None:
            self.leave_out(title, "records_per_s of its client is not set")
            return
        situation = self.situation("slow", title, [], "2h")
        client = self.clients_of(situation.document)[-1]
        client["records_per_s"] = slower_processing(client["records_per_s"])
        yield situation
