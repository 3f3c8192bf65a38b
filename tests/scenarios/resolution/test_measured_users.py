"""Measured traffic of others: `other_traffic: {from: FOLDER}`."""

from __future__ import annotations

from pathlib import Path

import pytest

from scenarios.load import Scenario, ScenarioError, loads
from scenarios.resolution.measured_traffic import measured_files
from simulator.world.world import OtherTraffic, RackShare
from tests.scenarios.ingested_folders import rate_row, write_ingested_folder
from tests.scenarios.scenario_texts import SMALL

FROM = "traffic: {from: day}\nother_traffic: {from: day%s}\n"
WITHOUT_RATES = SMALL.replace("partitions: 4, bytes_per_s: 4 MB/s, size: 8 GB}", "partitions: 4}")
IN = 1_000
"""Bytes per second of each partition of `orders` and `payments`."""


def write_day(folder: Path, orders_out: float = 3.0, payments_out: float = 1.0, **topics: float) -> None:
    """Write a day in which bytes out are the given multiples of bytes in, four partitions each."""
    fan_outs = {"orders": orders_out, "payments": payments_out, **topics}
    rows = [rate_row(topic, p, hour, IN) for topic in fan_outs for p in range(4) for hour in range(24)]
    write_ingested_folder(
        folder / "day", rows, bytes_out={topic: [4 * IN * fan_out] * 24 for topic, fan_out in fan_outs.items()}
    )


def load(folder: Path, more: str = "", text: str = WITHOUT_RATES) -> Scenario:
    return loads(text + FROM % more, "s.yaml", (), folder)


def other_of(folder: Path, more: str = "") -> OtherTraffic:
    other = load(folder, more).world(1).other_traffic
    assert other is not None
    return other


def mistakes(folder: Path, text: str) -> str:
    with pytest.raises(ScenarioError) as raised:
        loads(text, "s.yaml", (), folder)
    return str(raised.value).replace(f"{folder}/", "")


def test_others_produce_all_and_read_what_the_application_does_not(tmp_path: Path) -> None:
    write_day(tmp_path)
    other = other_of(tmp_path)
    [producer], [group] = other.producers, other.groups
    assert (producer.name, producer.share_of) == ("measured", {"orders": 1.0, "payments": 1.0})
    assert (group.name, group.topics, group.announces_rack) == ("measured", ("orders",), True)
    assert group.reads_of("orders") == pytest.approx(2.0)
    assert producer.racks == group.racks == tuple(RackShare(rack, 1 / 3) for rack in ("az1", "az2", "az3"))


def test_racks_and_the_absence_of_the_application_can_be_stated(tmp_path: Path) -> None:
    write_day(tmp_path)
    other = other_of(tmp_path, ", racks: {az1: 3, az2: 1}, client_rack: false, includes_application: false")
    [group] = other.groups
    assert (group.racks, group.announces_rack) == ((RackShare("az1", 0.75), RackShare("az2", 0.25)), False)
    assert {topic: round(group.reads_of(topic), 9) for topic in group.topics} == {"orders": 3, "payments": 1}


def test_listed_producers_and_groups_are_subtracted(tmp_path: Path) -> None:
    write_day(tmp_path)
    listed = (
        ", producers: [{name: web, topics: [orders], share: 0.25, racks: [az1]}, {name: pos, topics: [payments], "
        "racks: [az1]}], groups: [{name: search, topics: [orders], racks: [az1], read_share: 0.5}]"
    )
    scenario = load(tmp_path, listed)
    other = scenario.world(1).other_traffic
    assert other is not None
    assert [producer.share_of for producer in other.producers] == [
        {"orders": 0.25},
        {"payments": 1.0},
        {"orders": 0.75},
    ]
    assert [group.reads_of("orders") for group in other.groups] == pytest.approx([0.5, 1.5])
    assert not [warning for warning in scenario.warnings if "has no producer" in warning]


def test_notes_say_what_is_measured(tmp_path: Path) -> None:
    write_day(tmp_path)
    notes = [note.removeprefix(f"{tmp_path}/") for note in load(tmp_path).notes]
    assert "day: measured traffic of other producers used for: orders, payments" in notes
    assert "day: other consumers read, as multiples of what is produced: orders (2)" in notes


def test_hours_in_which_only_one_is_measured_do_not_count(tmp_path: Path) -> None:
    rows = [rate_row("orders", 0, hour, 100.0 if hour < 12 else 900.0) for hour in range(24)]
    out = [400.0] * 12 + [None] * 12
    write_ingested_folder(tmp_path / "day", rows, bytes_out={"orders": out})
    text = SMALL + "other_traffic: {from: day}\n"
    other = loads(text, "s.yaml", (), tmp_path).world(1).other_traffic
    assert other is not None
    assert other.groups[0].reads_of("orders") == pytest.approx(3.0)


def test_topics_that_are_not_simulated_are_reported(tmp_path: Path) -> None:
    write_day(tmp_path, 0.5, 1.0, clicks=2.0)
    warnings = [warning for warning in load(tmp_path).warnings if "other_traffic" in warning]
    assert len(warnings) == 2
    assert "lacks are not simulated (0.004 MB/s in, 0.008 MB/s out): clicks" in warnings[0]
    assert (
        "'orders': measured bytes out are 0.5 times its bytes in, less than what the application reads (1)"
        in warnings[1]
    )
    without_rates = WITHOUT_RATES + "other_traffic: {from: day}\n"
    [silent] = [text for text in loads(without_rates, "s.yaml", (), tmp_path).warnings if "default rate" in text]
    assert silent.endswith("too: orders, payments")


def test_internal_topics_of_the_application_have_no_other_readers(tmp_path: Path) -> None:
    log = "shop-totals-changelog"
    rows = [rate_row(topic, 0, hour, IN) for topic in ("orders", log) for hour in range(24)]
    write_ingested_folder(tmp_path / "day", rows, bytes_out={"orders": [2 * IN] * 24, log: [9 * IN] * 24})
    text = SMALL + "other_traffic: {from: day}\n"
    other = loads(text, "s.yaml", (), tmp_path).world(1).other_traffic
    assert other is not None
    assert other.groups[0].topics == ("orders",)
    assert list(other.producers[0].share_of) == ["orders"]


@pytest.mark.parametrize(
    ("more", "mistake"),
    [
        (
            ", groups: [{name: measured, topics: [orders], racks: [az1]}]",
            "'measured' is the name of what from measures",
        ),
        (", racks: []", "other_traffic.racks: has too few entries"),
    ],
)
def test_mistakes_say_where_and_what(tmp_path: Path, more: str, mistake: str) -> None:
    write_day(tmp_path)
    assert mistake in mistakes(tmp_path, WITHOUT_RATES + FROM % more)


def test_keys_of_measurements_need_a_folder(tmp_path: Path) -> None:
    text = SMALL + "other_traffic: {client_rack: false, groups: [{name: g, topics: [orders], racks: [az1]}]}\n"
    assert "other_traffic.client_rack: applies to measurements only; set from, or remove it" in mistakes(tmp_path, text)


def test_folder_without_bytes_out_is_rejected(tmp_path: Path) -> None:
    write_ingested_folder(tmp_path / "day", [rate_row("orders", 0, 0, 1.0)])
    message = mistakes(tmp_path, SMALL + "other_traffic: {from: day}\n")
    assert "'day': has no bytes_out (no bytes_out/*.parquet); ingest a metric of bytes out" in message


def test_digest_of_the_folder_covers_bytes_out(tmp_path: Path) -> None:
    digests = []
    for number, fan_out in enumerate((2.0, 2.5)):
        folder = tmp_path / str(number)
        folder.mkdir()
        write_day(folder, fan_out)
        digests.append(dict(load(folder).imports)["day"])
        assert folder / "day" / "bytes_out" / "part-0.parquet" in measured_files(folder / "day")
    assert digests[0] != digests[1]
