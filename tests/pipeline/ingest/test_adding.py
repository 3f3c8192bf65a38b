"""Files that are added to earlier ingests give the tables of one ingest of all files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyarrow.csv import read_csv

from pipeline.errors import IngestError
from pipeline.ingest import kept_series, series_rows
from pipeline.ingest.batches import IngestBatch, IngestedFile, RowCounts, check_columns, check_mapping
from pipeline.ingest.mapping import NamedMapping, find_mapping
from pipeline.ingest.run import IngestResult, IngestSources, ingest
from tests.pipeline.ingest.test_in_workers import START_MS
from tests.pipeline.sweep.parquet_contents import contents

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

DIALECTS = Path(__file__).parents[2] / "scenarios" / "kafka" / "formats" / "dialects"
HEADER = "timestamp,topic,partition,broker,bytes_in_total,messages_in_total,received"
COUNTS = ("rows", "malformed", "ignored", "without_partitions", "tables", "mapping", "interval_ms")


def _lines(seed: int, series: int, count: int) -> list[str]:
    """Draw readings with resets, gaps, duplicates, conflicts, late and malformed ones, in the order of a collector."""
    rng = np.random.default_rng(seed)
    lines: list[tuple[int, str]] = []
    for number in range(series):
        time, value = START_MS, 0
        for _ in range(count):
            time += int(rng.choice([60_000, 60_000, 60_000, 300_000]))
            value = 0 if rng.random() < 0.05 else value + int(rng.integers(0, 5)) * 100
            written = time + int(rng.integers(0, 600_000)) * (rng.random() < 0.1)
            text = f"{time},{'orders é'[: 6 + number % 3]},{number % 3},b{number % 2},{{}},{value // 7},{time + 9_000}"
            entries = [value, *([value + 1] * (rng.random() < 0.1)), *(["NaN"] * (rng.random() < 0.05))]
            lines.extend((written, text.format(entry)) for entry in entries)
    return [text for _, text in sorted(lines, key=lambda line: line[0])]


def _write_files(folder: Path, seed: int) -> list[Path]:
    """Write readings to files that overlap, and dumps, two of which describe the same partitions."""
    folder.mkdir()
    rng, lines = np.random.default_rng(seed), _lines(seed, 6, 60)
    bounds = [0, *sorted(rng.choice(np.arange(1, len(lines)), 3, replace=False).tolist()), len(lines)]
    files = []
    for number, (start, end) in enumerate(pairwise(bounds)):
        files.append(folder / f"{(number * 3 + seed) % 7} é%20.csv")
        files[-1].write_text("\n".join([HEADER, *lines[max(0, start - 5) : end]]) + "\n")
    for leader in (1, 2):
        files.append(folder / f"topics {leader}.txt")
        files[-1].write_text(
            f"Topic: orders\tPartitionCount: {leader}\tReplicationFactor: 1\tConfigs:\n"
            + "".join(
                f"\tTopic: orders\tPartition: {n}\tLeader: {leader}\tReplicas: 1\tIsr: 1\n" for n in range(leader)
            )
        )
    return [*files, DIALECTS / "groups_3_7.txt", DIALECTS / "groups_3_9.txt", DIALECTS / "leader_3_9.log"]


def _sources(files: Iterable[Path]) -> IngestSources:
    kinds: dict[str, list[str]] = {"metrics": [], "topics": [], "groups": [], "leader_logs": []}
    for file in sorted(files):
        kind = {"topics": "topics", "groups": "groups", "leader": "leader_logs"}.get(file.name.partition("_")[0])
        kinds[kind or ("topics" if file.name.startswith("topics") else "metrics")].append(str(file))
    return IngestSources(**{kind: tuple(paths) for kind, paths in kinds.items()})


def _add(spark: SparkSession, files: Iterable[Path], out: Path, mapping: str = "plain", **more: Any) -> IngestResult:
    return ingest(spark, _sources(files), str(out), find_mapping(mapping), add=True, **more)


def _tables(out: Path) -> tuple[object, ...]:
    tables = {name: content for name, content in contents(out).items() if not name.startswith("readings")}
    manifest = json.loads((out / "manifest.json").read_text())
    return tables, [manifest[name] for name in COUNTS]


@pytest.mark.slow
def test_files_in_any_order_give_the_bytes_of_one_ingest(spark: SparkSession, tmp_path: Path) -> None:
    seed = int(os.environ.get("SPLIT_SEED", "1"))
    files = _write_files(tmp_path / "raw", seed)
    whole = ingest(spark, _sources(files), str(tmp_path / "whole"), find_mapping("plain"))
    assert min(whole.malformed, whole.tables["history"], whole.tables["placements"] - 2) > 0
    rng = np.random.default_rng(seed)
    order = [files[index] for index in rng.permutation(len(files))]
    first, second = order[:4], order[3:]
    assert (_add(spark, first, tmp_path / "added").new_files, len(second)) == (4, len(files) - 3)
    result = _add(spark, second, tmp_path / "added")
    assert (result.new_files, result.seen_files) == (len(files) - 4, 1)
    assert _tables(tmp_path / "added") == _tables(tmp_path / "whole")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "added").rglob("*")}
    again = _add(spark, files, tmp_path / "added")
    assert (again.new_files, again.seen_files, again.tables) == (0, len(files), result.tables)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "added").rglob("*")} == before


def _write_parquet(csv: Path) -> Path:
    """Write the readings of a CSV file as Parquet, with values that are NaN as negative ones, which are malformed."""
    table = read_csv(csv)
    numbers = table["bytes_in_total"].fill_null(-1.0)
    file = csv.with_suffix(".parquet")
    pq.write_table(table.set_column(4, "bytes_in_total", numbers), file, row_group_size=100)
    return file


@pytest.mark.parametrize("kept", ["chunks", "chunks and rows", "chunks as rows"])
@pytest.mark.slow
def test_parquet_files_in_any_order_give_the_bytes_of_one_ingest(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: str
) -> None:
    csv = [file for file in _write_files(tmp_path / "raw", 3) if file.suffix == ".csv"]
    files = [csv[0] if kept == "chunks and rows" and file == csv[0] else _write_parquet(file) for file in csv]
    # Several Spark partitions, which are others for the first files.
    monkeypatch.setattr(series_rows, "_ROWS_PER_TASK", 400)
    if kept == "chunks as rows":
        monkeypatch.setattr(kept_series, "is_local", lambda uri: False)
    whole = ingest(spark, _sources(files), str(tmp_path / "whole"), find_mapping("plain"))
    assert (whole.malformed > 10, len(files)) == (True, 4)
    for group in ([files[2]], [files[3], files[1]], [files[0]]):
        _add(spark, group, tmp_path / "added")
    assert _tables(tmp_path / "added") == _tables(tmp_path / "whole")
    kinds = {path.name for path in (tmp_path / "added" / "readings").glob("*/*") if path.is_dir()}
    assert kinds == {"chunks", "quarantine", *(["rows"] if kept == "chunks and rows" else [])}
    batches = [IngestBatch.from_json(path.read_text()) for path in (tmp_path / "added").rglob("batch.json")]
    assert sum(batch.counts.malformed for batch in batches) == whole.malformed


def test_rows_of_earlier_releases_are_read() -> None:
    batch = IngestBatch(3, (IngestedFile("metrics", "file:/a.csv", 1, 1, "a"),), RowCounts(1), {}, ())
    record = json.loads(batch.to_json())
    assert (record["version"], "chunks" in record) == (1, False)
    assert IngestBatch.from_json(batch.to_json()) == batch
    with_chunks = replace(batch, chunks=2)
    assert json.loads(with_chunks.to_json())["version"] == 2
    assert IngestBatch.from_json(with_chunks.to_json()) == with_chunks
    with pytest.raises(IngestError, match="readings/3: written by another release"):
        IngestBatch.from_json(json.dumps({**record, "version": 2}))


def test_rejected_files_change_nothing(spark: SparkSession, tmp_path: Path) -> None:
    first, second, other = (tmp_path / name for name in ("a.csv", "b.csv", "c.csv"))
    for number, file in enumerate((first, second)):
        rows = [f"{START_MS + at + number},t,0,b,{at},{at}," for at in (0, 3, 6)]
        file.write_text("\n".join([HEADER, *rows, "x,t,0,b,1,1,"]))
    other.write_text(first.read_text().replace("bytes_in_total", "bytes"))
    out = tmp_path / "out"
    ingest(spark, _sources([first]), str(out), find_mapping("plain"))
    with pytest.raises(IngestError, match="does not keep its readings, so none can be added; ingest all files with"):
        _add(spark, [second], out)
    out = tmp_path / "added"
    _add(spark, [first], out)
    before = contents(out)
    with pytest.raises(IngestError, match="another mapping than --map plain-rates of this release"):
        _add(spark, [second], out, "plain-rates")
    with pytest.raises(IngestError, match="no column 'bytes_in_total'"):
        _add(spark, [other], out)
    with pytest.raises(IngestError, match="keeps the readings of its files; add files with --add"):
        ingest(spark, _sources([second]), str(out), find_mapping("plain"))
    os.utime(first, (1_800_000_000, 1_800_000_000))
    with pytest.raises(IngestError, match=r"a\.csv: has changed since it was ingested; ingest all files"):
        _add(spark, [first, second], out)
    assert contents(out) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "added", "b.csv", "c.csv", "out"]
    _add(spark, [second], out, interval_ms=3)
    ingest(spark, _sources([first, second]), str(tmp_path / "whole"), find_mapping("plain"), 3)
    assert _tables(out) == _tables(tmp_path / "whole")


def test_mapping_of_an_earlier_release_is_rejected() -> None:
    """It may have the same name, so to use the same one would be no remedy."""
    named = find_mapping("jmx-exporter")
    record = {name: value for name, value in named.record.items() if name != "group"}
    earlier = IngestBatch(1, (), RowCounts(), record, ())
    check_mapping(named, [replace(earlier, mapping=None), replace(earlier, mapping=named.record)], "out")
    message = (
        r"^out: its readings were ingested with another mapping than --map jmx-exporter of this release "
        r"\(different: group\); use the mapping of the readings, or ingest all files with --add into another folder$"
    )
    with pytest.raises(IngestError, match=message):
        check_mapping(named, [earlier], "out")
    with pytest.raises(IngestError, match=r"than --map mine\.yaml \(different: group\); use the mapping"):
        check_mapping(NamedMapping("mine.yaml", named.mapping), [earlier], "out")


def test_columns_in_another_order_are_rejected() -> None:
    def batch(*names: str) -> IngestBatch:
        file = IngestedFile("metrics", f"{names[:1]}.parquet", 1, 1, "", "parquet")
        return IngestBatch(1, (file,), RowCounts(), {}, tuple((name, "bigint") for name in names))

    check_columns([batch(), batch("a", "b")], batch("a", "b", "further"))
    check_columns([batch("a", "b", "further")], batch("a", "b"))
    with pytest.raises(IngestError, match=r"parquet.*: its columns \(b bigint, a bigint\) are not those of the files"):
        check_columns([batch("a", "b")], batch("b", "a"))
