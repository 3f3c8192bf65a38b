"""Clients are placed on hosts that exist."""

from __future__ import annotations

import pytest

from scenarios.load import loads
from simulator.world.world import ClientHost
from tests.scenarios.scenario_texts import mistakes_in, replace_in_small

CLIENTS = """\
clients:
  - {name: app, count: 3, racks: [az1, az2, az3], threads: 2}
  - {name: late, rack: az1, starts: false}"""


def with_hosts(app: str = "", late: str = "", hosts: str = "{name: node, count: 3, restore: 80 MB/s}") -> str:
    """Return the small scenario with hosts from line 17 on, and these keys of its clients in lines 19 and 20."""
    return replace_in_small(
        CLIENTS,
        f"hosts:\n  - {hosts}\nclients:\n"
        f"  - {{name: app, count: 3, racks: [az1, az2, az3], threads: 2{app}}}\n"
        f"  - {{name: late, rack: az1, starts: false{late}}}",
    )


def test_clients_are_distributed_round_robin() -> None:
    world = loads(with_hosts(", hosts: [node]", ", host: node-0")).world(1)
    assert [client.host for client in world.clients] == ["node-0", "node-1", "node-2", "node-0"]
    assert world.hosts == tuple(ClientHost(f"node-{number}", 80_000_000) for number in range(3))


def test_client_without_host_has_none() -> None:
    assert {client.host for client in loads(with_hosts()).world(1).clients} == {None}


@pytest.mark.parametrize(
    ("app", "late", "mistake"),
    [
        ("", ", host: nod-0", "20: clients[1].host: unknown host 'nod-0' (did you mean 'node-0'?)"),
        (
            ", hosts: [node-0, far]",
            "",
            "19: clients[0].hosts[1]: unknown host 'far' (hosts: node-0, node-1, node-2, node)",
        ),
        ("", ", host: node", "20: clients[1].host: 'node' is the name of 3 hosts; choose one: node-0, …"),
        (
            "",
            ", hosts: [node]",
            "20: clients[1].hosts: one client has one host; set host, or count for several clients",
        ),
        (
            ", host: node-0, hosts: [node]",
            "",
            "19: clients[0].hosts: conflicts with host; set host, or hosts for several clients",
        ),
        (
            ", hosts: [node]",
            ", host: node-1",
            "20: clients[1]: 'late' on host 'node-1' is in rack 'az1', but 'app-1' on that host in 'az2'",
        ),
    ],
)
def test_mistakes_in_clients(app: str, late: str, mistake: str) -> None:
    assert mistakes_in(with_hosts(app, late)) == [f"s.yaml:{mistake}"]


@pytest.mark.parametrize(
    ("hosts", "mistake"),
    [
        ("{name: node}", "17: hosts[0].restore: missing"),
        ("{name: node, restore: 0}", "17: hosts[0].restore: 0 is too small (at least 1)"),
        (
            "{name: node, count: 2, restore: 1 MB/s}\n  - {name: node-1, restore: 1 MB/s}",
            "18: hosts[1].name: 'node-1' is also the name of another host",
        ),
        (
            "{name: node, count: 20000, restore: 1}",
            "17: hosts[0]: more than 10,000 hosts: the maximum that can be simulated",
        ),
    ],
)
def test_mistakes_in_hosts(hosts: str, mistake: str) -> None:
    assert mistakes_in(with_hosts(hosts=hosts)) == [f"s.yaml:{mistake}"]


def test_host_that_is_not_defined() -> None:
    text = replace_in_small("{name: late, rack: az1,", "{name: late, rack: az1, host: far,")
    assert mistakes_in(text) == ["s.yaml:18: clients[1].host: unknown host 'far' (define it in hosts)"]
