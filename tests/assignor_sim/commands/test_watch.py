"""`assignor-sim watch`: errors, the dashboard, and one poll of a cluster that does not respond."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import pytest

from tests.assignor_sim.conftest import Shell


@pytest.fixture
def unused_port() -> Iterator[int]:
    """Yield a port that no process listens on, and no other can take."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


def test_dashboard_is_printed_without_a_cluster(shell: Shell) -> None:
    result = shell("watch", "--print-dashboard")
    assert (result.code, result.err) == (0, "")
    assert json.loads(result.out)["title"] == "Kafka group watch"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "give the cluster and the group: --bootstrap HOST:PORT --group GROUP_ID"),
        (["--group", "shop"], "give the cluster and the group"),
        (["--bootstrap", "localhost:1", "--group", "shop", "--metrics", "x"], "--metrics x: expected [HOST:]PORT"),
        (["--bootstrap", "localhost:1", "--group", "shop", "--config", "x"], "--config x: expected KEY=VALUE"),
        (["--bootstrap", "localhost:1", "--group", "shop", "--topology", "no.txt"], "'no.txt': "),
        (["--bootstrap", "localhost:1", "--group", "shop", "--command-config", "no.properties"], "no.properties"),
        (["--bootstrap", " , ", "--group", "shop"], "no cluster given"),
    ],
)
def test_invalid_options_give_one_error(shell: Shell, arguments: list[str], expected: str) -> None:
    result = shell("watch", *arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err.count("error: ") == 1
    assert expected in result.err


@pytest.mark.parametrize("interval", ["0", "0.5", "3601", "x"])
def test_interval_has_limits(process_shell: Shell, interval: str) -> None:
    result = process_shell("watch", "--bootstrap", "localhost:1", "--group", "shop", "--interval", interval)
    assert result.code == 2
    assert "--interval" in result.err


def test_cluster_that_does_not_respond_at_the_start_is_an_error(process_shell: Shell, unused_port: int) -> None:
    """Other addresses than loopback are warned of."""
    server = f"localhost:{unused_port}"
    result = process_shell("watch", "--bootstrap", server, "--group", "shop", "--metrics", "0.0.0.0:0")
    assert (result.code, result.out) == (2, "")
    warning, note, error = result.err.splitlines()
    assert warning == "warning: metrics are served on 0.0.0.0:0, without authentication or encryption"
    assert note.startswith("note: metrics: http://0.0.0.0:")
    assert error.startswith(f"error: cannot connect to {server}")
