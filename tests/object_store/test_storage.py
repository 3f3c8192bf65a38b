"""Operations on an object store that are interrupted after each change of an object."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from py4j.protocol import Py4JJavaError

from pipeline.errors import SparkError
from pipeline.storage import Storage
from tests.object_store.conftest import ROOT
from tests.object_store.server import ObjectStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.object_store, pytest.mark.slow]

FILES = (("first", "rows"), ("second", "rows"), ("marker",))
NEW, OLD, MARKER = ".out.part", "out", "marker"


def _write(storage: Storage, folder: str, text: str) -> None:
    for names in FILES:
        storage.write_text(text, folder, *names)


def _texts(storage: Storage, folder: str) -> list[str]:
    return [storage.read_text(folder, *names) for names in FILES if storage.exists(folder, *names)]


def test_file_is_written_in_one_change(store: ObjectStore, spark: SparkSession) -> None:
    storage = Storage(spark, f"{ROOT}/single")
    storage.write_text("old", "file")
    store.changes()
    storage.write_text("new", "file")
    assert store.changes() == ["put single/file"]
    assert storage.read_text("file") == "new"


def test_folder_is_moved_rows_first(store: ObjectStore, spark: SparkSession) -> None:
    storage = Storage(spark, f"{ROOT}/moved")
    for name in ("_SUCCESS", "part-1", "part-0"):
        storage.write_text(name, "source", name)
    store.changes()
    storage.move(("source",), ("table", "batch=00000"))
    copied = [line for line in store.changes() if line.startswith("copy")]
    assert copied == [f"copy moved/table/batch=00000/{name}" for name in ("part-0", "part-1", "_SUCCESS")]
    assert storage.files("table") == [f"batch=00000/{name}" for name in ("_SUCCESS", "part-0", "part-1")]
    with pytest.raises((SparkError, Py4JJavaError)):
        storage.move(("source",), ("table", "batch=00001"))


def test_interrupted_replacement_is_completed_by_next_writer(store: ObjectStore, spark: SparkSession) -> None:
    """After each number of changes: nothing has begun and the old folder is whole, or it can be completed."""
    steps, begun = 0, set()
    while True:
        storage = Storage(spark, f"{ROOT}/replaced-{steps}")
        _write(storage, OLD, "old")
        storage.write_text("old", OLD, "stale")
        _write(storage, NEW, "new")
        store.reject(".", after=steps)
        try:
            storage.replace(NEW, OLD, MARKER)
        except (SparkError, Py4JJavaError):
            completed = False
        else:
            completed = True
        store.release()
        if storage.exists(OLD, MARKER):
            # A reader that sees the marker sees one folder or the other, never a mixture.
            assert _texts(storage, OLD) in (["old"] * 3, ["new"] * 3), steps
        begun.add(storage.is_being_replaced(NEW))
        if storage.is_being_replaced(NEW):
            storage.complete_replacement(NEW, OLD, MARKER)
        elif steps == 0:
            assert (_texts(storage, OLD), _texts(storage, NEW)) == (["old"] * 3, ["new"] * 3)
            storage.replace(NEW, OLD, MARKER)
        assert _texts(storage, OLD) == ["new"] * 3, steps
        assert not storage.exists(OLD, "stale"), steps
        assert not storage.is_being_replaced(NEW), steps
        if completed:
            break
        steps += 1
    assert steps > 10
    assert begun == {False, True}
