"""Local folders, by Java's file systems and by those of Spark Connect's clients."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from py4j.protocol import Py4JJavaError

from pipeline import storage as storage_module
from pipeline.errors import SparkError
from pipeline.file_systems import ArrowFiles, with_scheme
from pipeline.ingest.sources import find_files
from pipeline.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

OpenStorage = Callable[[str], Storage]


@pytest.fixture(params=["Java", "Arrow"])
def open_storage(request: pytest.FixtureRequest, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> OpenStorage:
    if request.param == "Arrow":
        monkeypatch.setattr(storage_module, "open_file_system", lambda _, root: ArrowFiles(root))
    return lambda root: Storage(spark, root)


@pytest.mark.parametrize("prefix", ["", "file:", "file://"])
def test_root_is_a_uri(open_storage: OpenStorage, tmp_path: Path, prefix: str) -> None:
    storage = open_storage(f"{prefix}{tmp_path}/a folder/")
    assert storage.root == f"file:{tmp_path}/a folder"
    assert storage.path("x", "y") == f"file:{tmp_path}/a folder/x/y"


def test_relative_root_is_in_the_working_directory(open_storage: OpenStorage) -> None:
    assert Path(open_storage("out").root.removeprefix("file:")) == Path.cwd() / "out"


def test_missing_folder_is_empty(open_storage: OpenStorage, tmp_path: Path) -> None:
    storage = open_storage(str(tmp_path / "missing"))
    assert not storage.exists()
    assert storage.children() == storage.files("x") == []
    storage.remove("x")
    with pytest.raises(SparkError, match="missing/x: does not exist"):
        storage.download(tmp_path, "x")


def test_files_are_written_read_listed_and_downloaded(open_storage: OpenStorage, tmp_path: Path) -> None:
    storage = open_storage(str(tmp_path / "root"))
    storage.write_text("ä", "folder", "sub", "b")
    storage.write(b"1", "folder", "a%20b")
    storage.write(b"2", "folder", "a%20b")
    names = ["a%20b", "sub/b"]
    assert [name for name in storage.files("folder") if not name.endswith(".crc")] == names
    assert {"a%20b", "sub"} <= set(storage.children("folder"))
    assert storage.read_text("folder", "sub", "b") == "ä"
    assert storage.read_text("folder", "a%20b") == "2"
    storage.download(tmp_path / "copy", "folder")
    assert (tmp_path / "copy/folder/sub/b").read_text() == "ä"
    assert not list(tmp_path.rglob("*.part"))


def test_folder_is_moved_but_never_into_another(open_storage: OpenStorage, tmp_path: Path) -> None:
    storage = open_storage(str(tmp_path))
    storage.write_text("new", "source", "file")
    storage.move(("source",), ("table", "batch=00000"))
    assert storage.read_text("table", "batch=00000", "file") == "new"
    assert not storage.exists("source")
    with pytest.raises((SparkError, Py4JJavaError), match="source"):
        storage.move(("source",), ("table", "batch=00001"))


def test_folder_is_replaced(open_storage: OpenStorage, tmp_path: Path) -> None:
    storage = open_storage(str(tmp_path))
    for target in ("old", "missing"):
        storage.write_text("stale", "old", "stale")
        storage.write_text("new", "part", "file")
        storage.replace("part", target, "file")
        assert storage.read_text(target, "file") == "new"
        assert not storage.exists("part")
        assert not storage.exists(target, "stale")


def test_checksum_of_earlier_content_is_removed(spark: SparkSession, tmp_path: Path) -> None:
    """Hadoop writes checksums beside files, and reads no file that differs from its own."""
    by_java = Storage(spark, str(tmp_path))
    by_java.write_text("old", "file")
    assert (tmp_path / ".file.crc").exists()
    ArrowFiles(str(tmp_path)).write(b"new", ("file",))
    assert by_java.read_text("file") == "new"


def test_written_file_is_locked_from_others(open_storage: OpenStorage, tmp_path: Path) -> None:
    code = f"""
from pathlib import Path
from simulator.results.files import LockedError, output_lock
try:
    with output_lock(Path({str(tmp_path / "out")!r})): print("taken")
except LockedError: print("locked")
"""
    with open_storage(str(tmp_path)).lock("out"):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "locked\n"


@pytest.mark.parametrize("uri", ["hdfs://host/folder", "gs://bucket/folder"])
def test_other_file_systems_are_unsupported_without_java(uri: str) -> None:
    with pytest.raises(SparkError, match=rf"{uri}: with Spark Connect, folders are on this machine .* or on S3"):
        ArrowFiles(uri)


def test_folder_that_only_the_server_sees_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(SparkError, match="must see the same folders as this machine"):
        ArrowFiles(str(tmp_path)).rename(("written",), ("table",))


def test_file_that_cannot_be_written_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(SparkError, match="file/below/name"):
        ArrowFiles(str(tmp_path / "file")).write(b"", ("below", "name"))


@pytest.mark.parametrize("default", ["hdfs://nowhere:1", "s3a://bucket"])
def test_path_without_scheme_is_on_this_machine_whatever_the_default_file_system(
    spark: SparkSession, tmp_path: Path, default: str
) -> None:
    configuration = spark._jsc.hadoopConfiguration()
    before = configuration.get("fs.defaultFS")
    configuration.set("fs.defaultFS", default)
    try:
        storage = Storage(spark, str(tmp_path / "out"))
        storage.write_text("text", "file")
        [result] = find_files(spark, [str(tmp_path / "o*" / "fi*")])
    finally:
        configuration.set("fs.defaultFS", before)
    assert storage.root == f"file:{tmp_path}/out"
    assert (tmp_path / "out" / "file").read_text() == "text"
    assert result.uri == f"file:{tmp_path}/out/file"


@pytest.mark.parametrize("uri", ["hdfs:///sweeps", "s3a://bucket/a b", "file:/x", "file:///x"])
def test_uri_keeps_its_scheme(uri: str) -> None:
    assert with_scheme(uri) == uri


@pytest.mark.parametrize(
    ("path", "absolute"),
    [
        ("out", "/home/here/out"),
        ("./a:b/out", "/home/here/a:b/out"),
        ("../out", "/home/out"),
        ("/x/y/", "/x/y"),
        ("/x/2025-*.csv", "/x/2025-*.csv"),
    ],
)
def test_path_becomes_a_uri_of_this_machine(monkeypatch: pytest.MonkeyPatch, path: str, absolute: str) -> None:
    monkeypatch.setattr(os, "getcwd", lambda: "/home/here")
    assert with_scheme(path) == f"file:{absolute}"
