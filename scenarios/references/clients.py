"""Resolve the clients of a scenario."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from assignors.errors import ConfigError
from assignors.model.configs import AssignmentConfigs
from assignors.model.ids import ProcessId
from scenarios.language.application_entries import ClientEntry
from scenarios.language.errors import did_you_mean, format_list, format_value
from scenarios.language.fields import invalid_entries, valid_entries
from scenarios.language.paths import ScenarioPath
from scenarios.language.releases import FIRST_STREAMS_GROUP_RELEASE, parse_release
from scenarios.language.streams_configs import AssignorConfigs
from scenarios.language.validation import SourceMap
from scenarios.sampling.blueprint import MAX_CLIENTS, MAX_THREADS, ClientBlueprint
from simulator.world.group_configs import GroupConfigs
from simulator.world.world import HeldTasks, OffsetReports

_CLIENTS: ScenarioPath = ("clients",)
MAX_TAG_KEY: Final = 20
MAX_TAG_VALUE: Final = 30


@dataclass(slots=True)
class ResolvedClients:
    """The resolved clients.

    Attributes:
        plans: the valid clients, in the order of the scenario.
        groups: the clients by name, and the clients of an entry that defines several by the entry's name.
        is_complete: whether the names of all clients are known.
        origins: the path of the entry of each client.
        scaled: the clients that an autoscaler of a manifest starts and stops.
    """

    plans: tuple[ClientBlueprint, ...]
    groups: dict[str, tuple[str, ...]]
    is_complete: bool
    origins: dict[str, ScenarioPath]
    scaled: frozenset[str] = frozenset()

    def find(self, names: Sequence[str], path: ScenarioPath, source_map: SourceMap) -> tuple[str, ...]:
        """Return the clients that names refer to, without duplicates; report unknown names."""
        clients: dict[str, None] = {}
        for i, name in enumerate(names):
            if name in self.groups:
                clients.update(dict.fromkeys(self.groups[name]))
            elif self.is_complete:
                name_path = path if len(names) == 1 else (*path, i)
                hint = did_you_mean(name, list(self.groups), "clients")
                source_map.add_mistake(name_path, f"unknown client {format_value(name)} ({hint})")
        return tuple(clients)

    def check_tags(self, tags: Sequence[str], path: ScenarioPath, source_map: SourceMap) -> None:
        """Report the first client without one of `rack.aware.assignment.tags`, which Kafka Streams refuses to start."""
        for plan in self.plans:
            for tag in tags:
                if tag not in plan.tags and source_map.is_valid(*self.origins[plan.name]):
                    own_tags = format_list("tags", sorted(plan.tags))
                    source_map.add_mistake(
                        path,
                        f"client '{plan.name}' has no tag {format_value(tag)} ({own_tags}); Kafka refuses to start it",
                    )
                    return


def check_configs(configs: AssignorConfigs, path: ScenarioPath, source_map: SourceMap) -> dict[str, object]:
    """Report the configs that Kafka rejects; return the valid configs that are set, by field of `AssignmentConfigs`."""
    valid: dict[str, object] = {}
    for name, value in configs.changes().items():
        try:
            AssignmentConfigs(**{name: value})
        except ConfigError as error:
            key = AssignorConfigs.model_fields[name].alias or name
            source_map.add_mistake((*path, key), str(error.args[0]))
        else:
            valid[name] = value
    return valid


def check_membership(
    entries: Sequence[ClientEntry], groups: Iterable[GroupConfigs], releases: tuple[str, str], source_map: SourceMap
) -> None:
    """Report static members if no group can have any: Kafka refuses them in streams groups before 4.4.

    `groups`: the configs of the application's group, and of its group with each assignor; `releases`: the Kafka
    releases of clients and brokers.
    """
    if any(group.has_static_members for group in groups):
        return
    clients, brokers = releases
    for i, entry in valid_entries(entries):
        if entry.static_membership:
            message = (
                "Kafka rejects group.instance.id with group.protocol: streams before 4.4 "
                f"(application.kafka: {clients}, cluster.kafka: {brokers}); state 4.4 or remove it"
            )
            source_map.add_mistake(("clients", i, "static_membership"), message)


def check_streams_group(
    releases: tuple[str | None, str | None], path: ScenarioPath, *, is_stated: bool, source_map: SourceMap
) -> None:
    """Report clients that have no streams groups, and warn about brokers that damage a group of another protocol.

    `releases`: the Kafka releases of clients and brokers, as stated. `path`: where the release of the clients is
    stated. `is_stated` says whether the protocol is stated beside the release of the clients; if only assignors to
    compare have it, such clients are a warning.

    Source: KIP-1071; the upgrade notes of Kafka 4.2.
    """
    clients, brokers = releases
    if clients is not None and parse_release(clients) < FIRST_STREAMS_GROUP_RELEASE:
        message = (
            f"Kafka Streams {clients} has no streams groups; state 4.1 or later, or remove group.protocol: streams"
        )
        report = source_map.add_mistake if is_stated else source_map.add_warning
        report(path, message)
    if brokers == "4.2.0":
        message = (
            "brokers of 4.2.0 damage a classic group that becomes a streams group (KAFKA-20254); if the application "
            "had one, upgrade the brokers first"
        )
        source_map.add_warning(("cluster", "kafka"), message)


def warn_about_leak(clients: str | None, source_map: SourceMap) -> None:
    """Warn about a release of clients that runs out of memory.

    Source: the upgrade guide of Kafka Streams 4.2, "Streams API changes in 4.1.0".
    """
    if clients == "4.1.0":
        message = (
            "Kafka Streams 4.1.0 leaks memory in range scans, session and sliding windows and joins of streams "
            "(KAFKA-19748); state 4.1.1 or later"
        )
        source_map.add_warning(("application", "kafka"), message)


def resolve_clients(entries: Sequence[ClientEntry], threads: int, source_map: SourceMap) -> ResolvedClients:
    """Resolve the clients, and report mistakes to `source_map`.

    `threads`: the default number of threads.
    """
    draft = ResolvedClients(
        (), {}, is_complete=not invalid_entries(entries) and source_map.is_present(*_CLIENTS), origins={}
    )
    process_ids: dict[ProcessId, str] = {}
    plans: list[ClientBlueprint] = []
    num_threads = 0
    for i, entry in valid_entries(entries):
        path = (*_CLIENTS, i)
        if not source_map.is_valid(*path) and entry.count is None:
            # The invalid part may be a count, so the entry may define several clients.
            draft.is_complete = False
        if len(plans) + (entry.count or 1) > MAX_CLIENTS:
            source_map.add_mistake(path, f"more than {MAX_CLIENTS:,} clients: the maximum that can be simulated")
            draft.is_complete = False
            break
        num_threads += (entry.count or 1) * (entry.threads or threads)
        if num_threads > MAX_THREADS:
            source_map.add_mistake(path, f"more than {MAX_THREADS:,} threads: the maximum that can be simulated")
            draft.is_complete = False
            break
        _check_entry(entry, path, source_map)
        process_id = _process_id(entry, path, process_ids, source_map)
        names = _names(entry)
        for name in dict.fromkeys([entry.name, *names]):
            if name in draft.groups:
                source_map.add_mistake((*path, "name"), f"{format_value(name)} is also the name of another client")
        draft.groups.update({name: (name,) for name in names})
        draft.groups[entry.name] = names
        draft.origins.update(dict.fromkeys(names, path))
        plans.extend(_plan(entry, k, name, process_id, threads) for k, name in enumerate(names))
    draft.plans = tuple(plans)
    return draft


def _names(entry: ClientEntry) -> tuple[str, ...]:
    return (entry.name,) if entry.count is None else tuple(f"{entry.name}-{i}" for i in range(entry.count))


def _plan(entry: ClientEntry, number: int, name: str, process_id: ProcessId | None, threads: int) -> ClientBlueprint:
    rack = entry.racks[number % len(entry.racks)] if entry.racks else entry.rack
    return ClientBlueprint(
        name=name,
        process_id=process_id,
        rack=rack,
        threads=entry.threads or threads,
        tags=dict(entry.tags),
        restore_bytes_per_s=entry.restore,
        starts=entry.starts,
        announces_rack=entry.client_rack,
        records_per_s=entry.records_per_s,
        is_static=entry.static_membership,
        reports=OffsetReports(entry.reports),
        tasks=HeldTasks(),
    )


def _check_entry(entry: ClientEntry, path: ScenarioPath, source_map: SourceMap) -> None:
    if entry.rack is not None and entry.racks is not None:
        source_map.add_mistake((*path, "racks"), "conflicts with rack; set rack, or racks for several clients")
    elif entry.racks is not None and entry.count is None and source_map.is_valid(*path, "count"):
        source_map.add_mistake((*path, "racks"), "one client has one rack; set rack, or count for several clients")
    if "client_rack" in entry.model_fields_set and not (entry.rack or entry.racks) and source_map.is_valid(*path):
        source_map.add_mistake((*path, "client_rack"), "the client has no rack; set rack, or racks for several clients")
    for key, value in entry.tags.items():
        if len(key) > MAX_TAG_KEY:
            source_map.add_mistake((*path, "tags", key), f"the tag key is too long (maximum {MAX_TAG_KEY} characters)")
        if len(value) > MAX_TAG_VALUE:
            source_map.add_mistake(
                (*path, "tags", key), f"{format_value(value)} is too long (maximum {MAX_TAG_VALUE} characters)"
            )


def _process_id(
    entry: ClientEntry, path: ScenarioPath, used_ids: dict[ProcessId, str], source_map: SourceMap
) -> ProcessId | None:
    if entry.process_id is None:
        return None
    path = (*path, "process_id")
    if entry.count is not None:
        source_map.add_mistake(path, "several clients cannot share a process id; define one entry per client")
        return None
    try:
        process_id = ProcessId.parse(entry.process_id)
    except ValueError:
        example = "80000000-0000-0000-0000-000000000001"
        source_map.add_mistake(
            path, f"{format_value(entry.process_id)} is not a process id (a UUID, such as {example})"
        )
        return None
    if process_id in used_ids:
        source_map.add_mistake(path, f"{entry.process_id} is also the process id of '{used_ids[process_id]}'")
    used_ids[process_id] = entry.name
    return process_id
