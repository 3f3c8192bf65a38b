"""Which sources are Parquet, before Spark starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.ingest.sources import are_parquet

pytestmark = pytest.mark.spark


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in (
        "days/_SUCCESS",
        "days/.part-0.parquet.crc",
        "days/month=1/part-0.parquet",
        "lines/a.csv",
        "lines/b.parquet",
    ):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    (tmp_path / "empty").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        (["days"], True),
        (["days/month=1/part-0.parquet"], True),
        (["days/month=*/*.parquet", "days"], True),
        (["lines"], False),
        (["days", "lines/a.csv"], False),
        (["empty"], False),
        (["missing"], False),
        ([], False),
    ],
)
def test_sources_are_parquet_if_the_first_files_are(folder: Path, sources: list[str], expected: bool) -> None:
    assert are_parquet([str(folder / source) for source in sources]) == expected
