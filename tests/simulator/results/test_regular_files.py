"""Only regular files are opened, however they are named, and only up to a size."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from simulator.results.files import NotRegularError, open_regular, read_document


@pytest.mark.parametrize("kind", ["zeros", "null", "folder", "link to a pipe"])
def test_other_kinds_of_files_are_not_opened(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "file"
    os.mkfifo(tmp_path / "pipe")
    match kind:
        case "folder":
            path.mkdir()
        case "zeros":
            path.symlink_to("/dev/zero")
        case "null":
            path.symlink_to(os.devnull)
        case _:
            path.symlink_to(tmp_path / "pipe")
    before = set(os.listdir("/dev/fd"))
    with pytest.raises(NotRegularError) as raised:
        open_regular(path)
    assert (raised.value.filename, raised.value.strerror) == (str(path), "not a regular file")
    assert set(os.listdir("/dev/fd")) == before


def test_sockets_are_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # The address of a socket has at most 107 characters.
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        with pytest.raises(OSError, match="socket"):
            open_regular(tmp_path / "socket")


@pytest.mark.parametrize("size", [0, 9, 10, 11])
def test_size_limit_includes_its_value(tmp_path: Path, size: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * size)
    if size > 10:
        with pytest.raises(OSError, match=r"longer than 10 bytes"):
            open_regular(path, 10)
        return
    with open_regular(path, 10) as file:
        assert file.read() == b"x" * size


def test_links_to_documents_are_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes("é\r\n".encode())
    (tmp_path / "link").symlink_to("file")
    assert read_document(tmp_path / "link") == "é\r\n"
