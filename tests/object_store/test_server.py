"""The S3-compatible server ends with the process that starts it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

pytestmark = [pytest.mark.object_store, pytest.mark.slow]

PROJECT = Path(__file__).parents[2]
OWNER = """
import time
from tools.object_store.server import object_store
with object_store() as store:
    print(store.endpoint, flush=True)
    time.sleep(600)
"""


def _accepts_connections(endpoint: str) -> bool:
    url = urlsplit(endpoint)
    try:
        socket.create_connection((url.hostname or "", url.port or 0), timeout=5).close()
    except ConnectionRefusedError:
        return False
    return True


def test_server_ends_with_killed_owner(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(PROJECT), "TMPDIR": str(tmp_path)}
    owner = subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True, env=environment)
    with owner:
        assert owner.stdout is not None
        endpoint = owner.stdout.readline().strip()
        assert _accepts_connections(endpoint)
        owner.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 30
    while _accepts_connections(endpoint):
        assert time.monotonic() < deadline, "the server runs 30 s after its owner was killed"
        time.sleep(0.1)
