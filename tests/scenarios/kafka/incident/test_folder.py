"""Folders with what is left of a night."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

from scenarios.kafka.incident.folder import MAX_SEGMENT_BYTES, IncidentFiles, read_incident
from scenarios.kafka.observation.observation import ObservationError
from tests.scenarios.kafka.incident.recorded_segments import CLASSIC, DATA, EXAMPLE, STREAMS, printed, segment


def read(folder: Path, group: str = CLASSIC) -> IncidentFiles:
    return read_incident(folder, group, "4.3", None)


def test_segment_is_found_in_the_folder_of_its_partition(tmp_path: Path) -> None:
    partition = tmp_path / "__consumer_offsets-12"
    partition.mkdir()
    (partition / "00000000000000000000.log").write_bytes(segment("3.9.2", CLASSIC))
    (partition / "00000000000000000000.index").write_bytes(bytes(100))
    (partition / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    result = read(tmp_path)
    assert result.read == (("__consumer_offsets-12/00000000000000000000.log", "segment"),)
    assert len(result.group.rebalances) == 16


def test_copies_of_several_brokers_count_once(tmp_path: Path) -> None:
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_bytes(segment("3.9.2", CLASSIC))
    assert len(read(tmp_path).group.rebalances) == 16


def test_segments_are_preferred_to_printed_records(tmp_path: Path) -> None:
    (tmp_path / "dump.txt").write_text(printed("3.9.2", "shop.dump.txt"))
    from_dump = read(tmp_path).group
    (tmp_path / "__consumer_offsets-12.log").write_bytes(segment("3.9.2", CLASSIC))
    assert read(tmp_path).group == from_dump


def test_damaged_copy_of_an_active_segment_ends_early(tmp_path: Path) -> None:
    (tmp_path / "x.log").write_bytes(segment("3.9.2", CLASSIC)[:-100])
    result = read(tmp_path).group
    assert result.remarks == ("x.log ends within a batch, as a copy of an active segment may: its end is missing.",)
    assert len(result.rebalances) < 16


def test_logs_add_lags_and_reasons() -> None:
    rebalances = [rebalance for rebalance in read(EXAMPLE).group.rebalances if rebalance.members]
    assert all(rebalance.lags is not None for rebalance in rebalances)
    assert any("left: the consumer is being closed" in cause for r in rebalances for cause in r.stated_causes)
    # After shop-two joined, its tasks wait for shop-one, and the leader logged for whom.
    assert len(rebalances[1].withheld) > 0


def test_time_zone_of_logs_is_found_from_the_records(tmp_path: Path) -> None:
    for file in EXAMPLE.iterdir():
        text = file.read_bytes()
        if file.name.endswith(".log"):
            text = text.replace(b"2026-11-25 21:", b"2026-11-25 23:")
        (tmp_path / file.name).write_bytes(text)
    result = read(tmp_path).group
    assert "The times of the logs are 2 h ahead of UTC, according to the records." in result.remarks
    assert result.rebalances == read(EXAMPLE).group.rebalances


def test_logs_alone_have_rebalances(tmp_path: Path) -> None:
    for file in EXAMPLE.glob("shop-*.log"):
        shutil.copy(file, tmp_path)
    result = read(tmp_path).group
    recorded = [rebalance for rebalance in read(EXAMPLE).group.rebalances if rebalance.members]
    assert not result.has_records
    assert [rebalance.active() for rebalance in result.rebalances[-len(recorded) :]] == [
        rebalance.active() for rebalance in recorded
    ]


def test_wrong_partition_names_the_right_one(tmp_path: Path) -> None:
    (tmp_path / "__consumer_offsets-45.log").write_bytes(segment("4.3.1", STREAMS))
    with pytest.raises(ObservationError) as error:
        read(tmp_path)
    assert "(partition 45) are of other groups (kiosk)" in str(error.value)
    assert "the records of 'shop' are in partition 12 of __consumer_offsets" in str(error.value)


def test_empty_folder_names_what_is_needed(tmp_path: Path) -> None:
    with pytest.raises(ObservationError, match=r"neither records of groups nor logs of group leaders; .*partition 12"):
        read(tmp_path)
    with pytest.raises(ObservationError, match="is not a folder"):
        read(tmp_path / "missing")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.log", segment("3.9.2", CLASSIC)[:1_000] + b"!" + segment("3.9.2", CLASSIC)[1_001:], "checksum is wrong"),
        ("a.log.gz", gzip.compress(segment("3.9.2", CLASSIC))[:-50], "damaged gzip file"),
        ("a.txt", printed("3.9.2", "shop.dump.txt")[:2_000].encode(), "a.txt:4: a record is truncated or not JSON"),
    ],
)
def test_damaged_file_is_named(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ObservationError, match=f"^{name}") as error:
        read(tmp_path)
    assert message in str(error.value)


def test_endless_segment_is_rejected_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "a.log").open("wb") as file:
        file.write(segment("3.9.2", CLASSIC))
        file.truncate(MAX_SEGMENT_BYTES + 1)
    with pytest.raises(ObservationError, match=r"a.log: longer than 268,435,456 bytes"):
        read(tmp_path)


def test_folders_of_the_test_data_hold_one_night_each() -> None:
    for folder in DATA.iterdir():
        assert len([r for r in read_incident(folder, CLASSIC, None, None).group.rebalances if r.members]) >= 15
