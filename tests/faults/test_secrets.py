"""The password of `import --bootstrap` appears nowhere, even if the broker repeats it in its answer."""

from __future__ import annotations

import base64
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytestmark = pytest.mark.answers

PASSWORD = "s3cr3t-of-alice"
ROOT = Path(__file__).parents[2]
FORMS = (PASSWORD, base64.b64encode(PASSWORD.encode()).decode().rstrip("="), PASSWORD[::-1], PASSWORD.encode().hex())
API_VERSIONS, HANDSHAKE, AUTHENTICATE = 18, 17, 36


class RejectingBroker:
    """Rejects every login with a message that contains what it received; speaks the oldest version of each request."""

    def __init__(self) -> None:
        self.received = b""
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._server.getsockname()[1]}"
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._thread.join(10)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            with connection:
                self._serve(connection)

    def _serve(self, connection: socket.socket) -> None:
        stream = connection.makefile("rb")
        while len(size := stream.read(4)) == 4:
            request = stream.read(*struct.unpack(">i", size))
            self.received += request
            key, version, correlation = struct.unpack(">hhi", request[:8])
            if key == API_VERSIONS:
                versions = [(API_VERSIONS, 0, 0), (HANDSHAKE, 0, 1), (AUTHENTICATE, 0, 0), (3, 0, 1), (60, 0, 0)]
                error = 35 if version > 0 else 0
                answer = struct.pack(">hi", error, len(versions)) + b"".join(struct.pack(">hhh", *v) for v in versions)
            elif key == HANDSHAKE:
                answer = struct.pack(">hih", 0, 1, 5) + b"PLAIN"
            else:
                text = b"invalid credentials: " + request[8:].replace(b"\0", b" ")
                answer = struct.pack(">hh", 58, len(text)) + text + struct.pack(">i", 0)
            connection.sendall(struct.pack(">ii", len(answer) + 4, correlation) + answer)
            if key == AUTHENTICATE:
                return


@contextmanager
def rejecting_broker() -> Iterator[RejectingBroker]:
    broker = RejectingBroker()
    try:
        yield broker
    finally:
        broker.close()


def process_list(process: subprocess.Popen[bytes]) -> bytes:
    """Return what other users and tools see of a process and its children while it runs."""
    seen = b""
    while process.poll() is None:
        for file in ("cmdline", "environ", "comm"):
            try:
                seen += Path(f"/proc/{process.pid}/{file}").read_bytes()
            except OSError:
                break
        time.sleep(0.05)
    return seen


@pytest.mark.slow
def test_password_appears_nowhere(tmp_path: Path) -> None:
    config, work, temporary = tmp_path / "client.properties", tmp_path / "work", tmp_path / "tmp"
    for folder in (work, temporary):
        folder.mkdir()
    config.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        f'sasl.jaas.config=PlainLoginModule required username="alice" password="{PASSWORD}";\n'
    )
    with rejecting_broker() as broker, (tmp_path / "out").open("wb") as out:
        command = ["import", "--bootstrap", broker.address, "--group", "shop", "-o", "shop.yaml"]
        process = subprocess.Popen(
            [sys.executable, "-X", "dev", "-m", "assignor_sim", *command, "--command-config", str(config)],
            cwd=work,
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(temporary), "PYTHONASYNCIODEBUG": "1"},
        )
        seen = process_list(process)
    assert PASSWORD.encode() in broker.received, "the broker has not received the password"
    output = (tmp_path / "out").read_text()
    assert process.returncode == 2, output
    assert "cannot connect to" in output
    files = [file for folder in (work, temporary) for file in folder.rglob("*") if file.is_file()]
    for form in FORMS:
        assert form not in output
        assert form.encode() not in seen
        for file in files:
            assert form.encode() not in file.read_bytes(), file
    assert not (work / "shop.yaml").exists()
