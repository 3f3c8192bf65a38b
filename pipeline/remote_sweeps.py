"""Copies of sweeps on remote file systems, for reports, which read local files."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from pipeline.errors import SparkError
from pipeline.session import connect
from pipeline.storage import Storage
from reports.analysis.sweeps.sweep_directory import SWEEP_KIND
from simulator.results.result_directory import stored_kind
from simulator.results.temporary_folder import temporary_folder

_MANIFEST, _AGGREGATE = "manifest.json", "aggregate"


def is_remote(directory: str) -> bool:
    """Return whether a directory is named by a URI such as `s3a://bucket/folder`."""
    return "://" in directory


@contextmanager
def local_copies(uris: Sequence[str], settings: Mapping[str, str]) -> Iterator[dict[str, Path]]:
    """Copy the manifests and aggregates of sweeps to temporary folders for the duration of the block.

    `uris`: the directories of the sweeps; none starts no Spark. `settings`: Spark configuration, such as the
    credentials of an object store. Yields the copies by URI. The copy of a sweep that is not aggregated has no
    aggregate. Raises SparkError if Spark does not start, or a directory is not that of a sweep.
    """
    if not uris:
        yield {}
        return
    with tempfile.TemporaryDirectory(dir=temporary_folder()) as folder:
        copies = {uri: Path(folder) / str(number) for number, uri in enumerate(uris)}
        with connect("local[1]", settings, fast_start=True) as spark:
            for uri, copy in copies.items():
                storage = Storage(spark, uri)
                for name in (_MANIFEST, _AGGREGATE):
                    if storage.exists(name):
                        storage.download(copy, name)
                if stored_kind(copy) != SWEEP_KIND:
                    raise SparkError(f"{uri}: not a sweep directory; copy results of other commands to this machine")
        yield copies
