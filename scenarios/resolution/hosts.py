"""Resolve the hosts, and place clients on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from scenarios.language.application_entries import ClientEntry
from scenarios.language.errors import did_you_mean, format_value
from scenarios.language.fields import invalid_entries, valid_entries
from scenarios.language.host_entries import HostEntry
from scenarios.language.paths import ScenarioPath
from scenarios.language.validation import SourceMap
from scenarios.references.clients import ResolvedClients
from scenarios.sampling.blueprint import MAX_CLIENTS
from simulator.world.world import ClientHost

_HOSTS: ScenarioPath = ("hosts",)


def resolve_hosts(
    entries: Sequence[HostEntry], client_entries: Sequence[ClientEntry], clients: ResolvedClients, source_map: SourceMap
) -> tuple[ClientHost, ...]:
    """Resolve the hosts, and set the host of each client; report mistakes to `source_map`.

    `clients`: the resolved clients, whose plans get their hosts. Returns the hosts, in the order of the scenario.
    """
    groups: dict[str, tuple[str, ...]] = {}
    hosts: list[ClientHost] = []
    for i, entry in valid_entries(entries):
        path = (*_HOSTS, i)
        if len(hosts) + (entry.count or 1) > MAX_CLIENTS:
            source_map.add_mistake(path, f"more than {MAX_CLIENTS:,} hosts: the maximum that can be simulated")
            return ()
        names = (entry.name,) if entry.count is None else tuple(f"{entry.name}-{k}" for k in range(entry.count))
        for name in dict.fromkeys([entry.name, *names]):
            if name in groups:
                source_map.add_mistake((*path, "name"), f"{format_value(name)} is also the name of another host")
        groups |= {name: (name,) for name in names} | {entry.name: names}
        hosts.extend(ClientHost(name, entry.restore) for name in names)
    are_known = not invalid_entries(entries) and source_map.is_valid(*_HOSTS)
    _place(client_entries, clients, groups if are_known else None, source_map)
    _check_racks(clients, source_map)
    return tuple(hosts)


def _place(
    entries: Sequence[ClientEntry],
    clients: ResolvedClients,
    groups: dict[str, tuple[str, ...]] | None,
    source_map: SourceMap,
) -> None:
    """Set the host of each client, round-robin over the hosts of its entry."""
    host_of: dict[str, str] = {}
    for i, entry in valid_entries(entries):
        path: ScenarioPath = ("clients", i)
        key = "host" if entry.hosts is None else "hosts"
        if entry.host is not None and entry.hosts is not None:
            source_map.add_mistake((*path, key), "conflicts with host; set host, or hosts for several clients")
            continue
        if entry.hosts is not None and entry.count is None and source_map.is_valid(*path, "count"):
            source_map.add_mistake((*path, key), "one client has one host; set host, or count for several clients")
            continue
        listed = [entry.host] if entry.host is not None else entry.hosts or []
        paths = [(*path, key)] if entry.hosts is None else [(*path, key, place) for place in range(len(listed))]
        mistakes = [_mistake(name, entry, groups) for name in listed]
        for name_path, mistake in zip(paths, mistakes, strict=False):
            if mistake is not None:
                source_map.add_mistake(name_path, mistake)
        if listed and groups is not None and not any(mistakes):
            hosts = [host for name in listed for host in groups[name]]
            host_of |= {client: hosts[k % len(hosts)] for k, client in enumerate(clients.groups.get(entry.name, ()))}
    clients.plans = tuple(replace(plan, host=host_of.get(plan.name)) for plan in clients.plans)


def _mistake(name: str, entry: ClientEntry, groups: dict[str, tuple[str, ...]] | None) -> str | None:
    """Return what is wrong with a name of a host or of several hosts, None if nothing, or if hosts are unknown."""
    if groups is None:
        return None
    if name not in groups:
        hint = did_you_mean(name, list(groups), "hosts") if groups else "define it in hosts"
        return f"unknown host {format_value(name)} ({hint})"
    if entry.count is None and len(groups[name]) > 1:
        return f"{format_value(name)} is the name of {len(groups[name])} hosts; choose one: {groups[name][0]}, …"
    return None


def _check_racks(clients: ResolvedClients, source_map: SourceMap) -> None:
    """Report hosts whose clients are in different racks."""
    rack_of: dict[str, tuple[str, str]] = {}
    for plan in clients.plans:
        if plan.host is None or plan.rack is None:
            continue
        rack, client = rack_of.setdefault(plan.host, (plan.rack, plan.name))
        if rack != plan.rack:
            message = f"'{plan.name}' on host {format_value(plan.host)} is in rack {format_value(plan.rack)}"
            path = clients.origins[plan.name]
            source_map.add_mistake(path, f"{message}, but '{client}' on that host in {format_value(rack)}")
            return
