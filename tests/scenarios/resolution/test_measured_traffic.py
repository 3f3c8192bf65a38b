"""Measured traffic: `traffic: {from: FOLDER}`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scenarios.load import Scenario, ScenarioError, loads
from scenarios.resolution.measured_traffic import read_measured_traffic
from simulator.world.disturbances import Join, Leave, TrafficChange
from simulator.world.world import Topic
from tests.scenarios.ingested_folders import Row, rate_row, rows_of_day, write_ingested_folder
from tests.scenarios.scenario_texts import SMALL
from tests.scenarios.test_references import Folder

HOUR = 3_600_000
WITHOUT_RATES = SMALL.replace("partitions: 4, bytes_per_s: 4 MB/s, size: 8 GB}", "partitions: 4}")
FROM = "traffic: {from: day}\n"


def _load(folder: Path, text: str = WITHOUT_RATES + FROM, *overrides: tuple[str, str]) -> Scenario:
    return loads(text, "s.yaml", overrides, folder)


def _topic(folder: Path, name: str = "orders", text: str = WITHOUT_RATES + FROM) -> Topic:
    return _load(folder, text).world(1).cluster.topics[name]


def _mistakes(folder: Path, text: str = WITHOUT_RATES + FROM) -> list[str]:
    """Return the mistakes in a scenario, without the path of the temporary folder."""
    with pytest.raises(ScenarioError) as raised:
        _load(folder, text)
    return str(raised.value).replace(f"{folder}/", "").splitlines()


def _notes(folder: Path, text: str = WITHOUT_RATES + FROM) -> list[str]:
    return [note.removeprefix(f"{folder}/") for note in _load(folder, text).notes]


@pytest.mark.parametrize(("quantile", "factor"), [("mean", 1), ("p50", 0.5), ("p95", 2), ("p99", 3)])
def test_partitions_have_hourly_rates(tmp_path: Path, quantile: str, factor: float) -> None:
    write_ingested_folder(tmp_path / "day", rows_of_day("orders", 4))
    topic = _topic(tmp_path, text=WITHOUT_RATES + f"traffic: {{from: day, quantile: {quantile}}}\n")
    expected = tuple(tuple(round(factor * (1_000 * (p + 1) + hour)) for p in range(4)) for hour in range(24))
    assert topic.hourly_bytes_per_s == expected


def test_default_quantile_is_the_mean(tmp_path: Path) -> None:
    write_ingested_folder(tmp_path / "day", rows_of_day("orders", 4))
    topic = _topic(tmp_path)
    assert topic.hourly_bytes_per_s[7] == (1_007, 2_007, 3_007, 4_007)
    assert topic.bytes_per_s == (1_012, 2_012, 3_012, 4_012)


def test_mean_rate_of_a_partition_with_traffic_is_at_least_1(tmp_path: Path) -> None:
    rows = [rate_row("orders", p, hour, 1.0 if (p, hour) == (2, 3) else 0.0) for p in range(4) for hour in range(24)]
    write_ingested_folder(tmp_path / "day", rows)
    assert _topic(tmp_path).bytes_per_s == (0, 0, 1, 0)


def test_topic_values_of_the_scenario_override_measured_ones(tmp_path: Path) -> None:
    write_ingested_folder(tmp_path / "day", rows_of_day("orders", 4, records=10), sizes={"orders": [1, 2, 3, 4]})
    scenario_text = SMALL.replace("size: 8 GB}", "size: 8 GB, record_size: 77}") + FROM
    topic = _topic(tmp_path, text=scenario_text)
    assert topic.bytes_per_s == (1_000_000,) * 4
    assert topic.hourly_bytes_per_s == ()
    assert topic.size_bytes == (2_000_000_000,) * 4
    assert topic.record_bytes == 77
    assert "day: measured rates ignored, because the scenario sets rates, for: orders" in _notes(
        tmp_path, scenario_text
    )


def test_rate_of_the_scenario_replaces_rates_of_other_partition_counts(tmp_path: Path) -> None:
    write_ingested_folder(tmp_path / "day", rows_of_day("orders", 6))
    assert _topic(tmp_path, text=SMALL + FROM).bytes_per_s == (1_000_000,) * 4


def test_measured_values_override_partition_defaults(tmp_path: Path) -> None:
    write_ingested_folder(tmp_path / "day", rows_of_day("orders", 4, records=10), sizes={"orders": [1, 2, 3, None]})
    general = "  partition_defaults: {bytes_per_s: 5, size: 6, record_size: 7}\n"
    text = WITHOUT_RATES.replace("  topics:\n", general + "  topics:\n") + FROM
    topic, payments = _topic(tmp_path, text=text), _topic(tmp_path, "payments", text)
    assert topic.hourly_bytes_per_s[0] == (1_000, 2_000, 3_000, 4_000)
    assert topic.size_bytes == (1, 2, 3, 6)
    assert topic.record_bytes == round(sum(1_000 * (p + 1) + h for p in range(4) for h in range(24)) / 960)
    assert (payments.bytes_per_s, payments.size_bytes, payments.record_bytes) == ((5,) * 4, (6,) * 4, 7)


def test_log_dirs_file_overrides_measured_sizes(tmp_path: Path) -> None:
    folder = Folder(tmp_path).replace_text("clients:\n", f"{FROM}clients:\n")
    write_ingested_folder(tmp_path / "day", rows_of_day("orders", 2), sizes={"orders": [1, 2], "customers": [3, 4, 5]})
    topics = folder.load().world(1).cluster.topics
    assert topics["orders"].size_bytes == (700, 300)
    assert topics["customers"].size_bytes == (3, 4, 5)


def test_internal_topics_are_matched_by_full_name(tmp_path: Path) -> None:
    log = "shop-totals-changelog"
    write_ingested_folder(
        tmp_path / "day", [*rows_of_day("orders", 4), *rows_of_day(log, 4)], sizes={log: [9, 8, 7, 6]}
    )
    text = WITHOUT_RATES.replace("name: totals, size: 1 GB", "name: totals") + FROM
    topic = _topic(tmp_path, log, text)
    assert topic.hourly_bytes_per_s[1] == (1_001, 2_001, 3_001, 4_001)
    assert topic.size_bytes == (9, 8, 7, 6)


def test_notes_list_used_and_missing_measurements(tmp_path: Path) -> None:
    write_ingested_folder(
        tmp_path / "day",
        [*rows_of_day("orders", 4, records=5), *rows_of_day("elsewhere", 9)],
        sizes={"payments": [1, 2, 3, 4]},
    )
    assert _notes(tmp_path) == [
        "day: measured hourly rates (mean) used for: orders",
        "day: measured mean record sizes used for: orders",
        "day: measured sizes used for: payments",
        "day: no measured rates, so rates of the scenario used for: payments",
        "day: no measured rates, so rates derived from the input for: "
        "shop-by-customer-repartition, shop-totals-changelog",
    ]


def test_missing_hours_have_the_mean_of_the_measured_ones(tmp_path: Path) -> None:
    rows = [row for row in rows_of_day("orders", 4) if (row["partition"], row["hour"]) != (1, 5)]
    rows[6 * 1] = rate_row("orders", 0, 6, None)
    write_ingested_folder(tmp_path / "day", rows)
    topic = _topic(tmp_path)
    assert topic.hourly_bytes_per_s[5][1] == round(2_000 + (sum(range(24)) - 5) / 23)
    assert topic.hourly_bytes_per_s[6][0] == round(1_000 + (sum(range(24)) - 6) / 23)
    assert "day: missing hours filled with the mean of the measured ones for: orders (hours: 5, 6)" in _notes(tmp_path)


def test_unmeasured_partition_keeps_the_rate_of_the_scenario(tmp_path: Path) -> None:
    rows = [row for row in rows_of_day("orders", 4) if row["partition"] != 1]
    write_ingested_folder(tmp_path / "day", rows)
    text = WITHOUT_RATES.replace("  topics:\n", "  partition_defaults: {bytes_per_s: 5}\n  topics:\n") + FROM
    assert {hour[1] for hour in _topic(tmp_path, text=text).hourly_bytes_per_s} == {5}
    assert "day: no measured rate, so rate of the scenario used for partitions: orders-1" in _notes(tmp_path)


def test_topic_with_only_null_rates_is_unmeasured(tmp_path: Path) -> None:
    write_ingested_folder(
        tmp_path / "day", [*(rate_row("orders", p, 0, None) for p in range(4)), *rows_of_day("payments", 4)]
    )
    assert _topic(tmp_path).hourly_bytes_per_s == ()
    assert "day: no measured rates, so rates of the scenario used for: orders" in _notes(tmp_path)


def test_rates_change_at_full_hours_of_the_clock(tmp_path: Path) -> None:
    write_ingested_folder(tmp_path / "day", rows_of_day("orders", 4))
    events = _load(tmp_path, WITHOUT_RATES + 'traffic: {from: day, starts_at: "22:30"}\n').world(1).disturbances
    assert events[1:] == (
        TrafficChange(0, 1, 22),
        TrafficChange(HOUR // 2, 1, 23),
        TrafficChange(3 * HOUR // 2, 1, 0),
    )


def test_default_start_is_midnight_and_days_repeat(tmp_path: Path) -> None:
    write_ingested_folder(tmp_path / "day", rows_of_day("orders", 4))
    events = _load(tmp_path, WITHOUT_RATES + FROM, ("duration", "26h")).world(1).disturbances
    assert events[1:] == tuple(TrafficChange(hour * HOUR, 1, hour % 24) for hour in range(26))


def test_traffic_event_multiplies_measured_rates(tmp_path: Path) -> None:
    write_ingested_folder(tmp_path / "day", rows_of_day("orders", 4))
    more = "  - {at: 30m, traffic: {factor: 2.5}}\n  - {at: 1h, traffic: {factor: 3}}\n"
    text = WITHOUT_RATES.replace("events:\n", "events:\n" + more) + FROM
    changes = [event for event in _load(tmp_path, text).world(1).disturbances if isinstance(event, TrafficChange)]
    assert changes == [TrafficChange(HOUR // 2, 2.5, 0), TrafficChange(HOUR, 3, 1), TrafficChange(0, 1, 0)]


def test_autoscaling_follows_measured_source_traffic(tmp_path: Path) -> None:
    busy = {1: 3_000.0}
    rows = [rate_row("orders", p, hour, busy.get(hour, 1_000.0)) for p in range(4) for hour in range(24)]
    repartition_rows = [
        rate_row("shop-by-customer-repartition", p, hour, 10**9) for p in range(4) for hour in range(24)
    ]
    write_ingested_folder(tmp_path / "day", [*rows, *repartition_rows])
    scale = "  - {at: 0, autoscale: {clients: app, bytes_per_s: 4 kB/s, every: 30m}}\n"
    text = WITHOUT_RATES.replace("  - {at: 30m, scale_out: {clients: late}}\n", scale) + FROM
    events = _load(tmp_path, text).world(1).disturbances
    assert [event for event in events if not isinstance(event, TrafficChange)] == [
        Leave(0, ("app-2", "app-1")),
        Join(HOUR, ("app-1", "app-2")),
    ]


def test_measurements_of_other_topics_change_nothing(tmp_path: Path) -> None:
    write_ingested_folder(tmp_path / "day", rows_of_day("elsewhere", 2))
    assert _load(tmp_path, SMALL + FROM).world(1) == loads(SMALL, "s.yaml").world(1)


def test_digest_does_not_depend_on_the_distribution_over_files(tmp_path: Path) -> None:
    rows = rows_of_day("orders", 4)
    write_ingested_folder(tmp_path / "whole" / "day", rows, sizes={"orders": [1, 2, 3, 4]})
    write_ingested_folder(tmp_path / "split" / "day", rows[50:], rows[:50][::-1], sizes={"orders": [1, 2, 3, 4]})
    write_ingested_folder(
        tmp_path / "rate" / "day", [*rows[:-1], rate_row("orders", 3, 23, 1.0)], sizes={"orders": [1, 2, 3, 4]}
    )
    write_ingested_folder(tmp_path / "size" / "day", rows, sizes={"orders": [1, 2, 3, 5]})
    digests = {name: dict(_load(tmp_path / name).imports)["day"] for name in ("whole", "split", "rate", "size")}
    assert digests["whole"] == digests["split"]
    assert len(set(digests.values())) == 3


@pytest.mark.parametrize(
    ("traffic", "message"),
    [
        ("{}", "traffic: set hourly, or from: FOLDER"),
        (
            f"{{from: day, hourly: {[1] * 24}}}",
            "traffic.hourly: conflicts with the measurements of traffic.from; remove one of the two",
        ),
        ("{from: day, quantile: p90}", "traffic.quantile: 'p90' is not one of: 'mean', 'p50', 'p95' or 'p99'"),
        (
            "{from: day, starts_at: 24:00}",
            "traffic.starts_at: '24:00' is not a time of day, such as 08:00 (hours and minutes, up to 23:59)",
        ),
        (
            "{from: day, starts_at: 8}",
            "traffic.starts_at: 8 is not a time of day, such as 08:00 (hours and minutes, up to 23:59)",
        ),
        (
            f"{{hourly: {[1] * 24}, quantile: p95}}",
            "traffic.quantile: applies to measurements only; set from, or remove it",
        ),
        ("{from: nowhere}", "traffic.from: 'nowhere': no such folder"),
        ("{from: day/manifest.json}", "traffic.from: 'day/manifest.json': not a folder"),
        (
            "{from: day/rates}",
            "traffic.from: 'day/rates': not a folder of assignor-sim ingest: no manifest.json",
        ),
    ],
)
def test_mistake_in_the_traffic_section_has_its_path(tmp_path: Path, traffic: str, message: str) -> None:
    write_ingested_folder(tmp_path / "day", rows_of_day("orders", 4))
    assert _mistakes(tmp_path, f"{WITHOUT_RATES}traffic: {traffic}\n") == [f"s.yaml:23: {message}"]


@pytest.mark.parametrize(
    ("rows", "changes", "message"),
    [
        ([], {"manifest": {"kind": "sweep"}}, "manifest.json has kind 'sweep'"),
        ([], {"manifest": []}, "manifest.json has no kind"),
        (rows_of_day("orders", 4), {"without": ["hour"]}, "rates/part-0.parquet has no column hour"),
        (
            rows_of_day("orders", 4),
            {"without": ["bytes_per_s_mean"]},
            "rates/part-0.parquet has no column bytes_per_s_mean",
        ),
        ([rate_row("orders", 0, 24, 1.0)], {}, "rates: hour 24 is not between 0 and 23"),
        ([rate_row("orders", 0, -1, 1.0)], {}, "rates: hour -1 is not between 0 and 23"),
        ([{**rate_row("orders", 0, 1, 1.0), "partition": None}], {}, "rates: a row has no partition"),
        ([rate_row("orders", 3, 5, 1.0)] * 2, {}, "rates: duplicate rows of orders-3 in hour 5"),
        ([rate_row("orders", 3, 5, -2.0)], {}, "rates: bytes_per_s_mean of orders-3 in hour 5 has invalid value -2"),
        ([rate_row("orders", 3, 5, 1e19)], {}, "rates: bytes_per_s_mean of orders-3 in hour 5 has invalid value 1e+19"),
        (
            rows_of_day("orders", 4),
            {"sizes": {"orders": [1, 2, 3, -4]}},
            "sizes: size_bytes of orders-3 has invalid value -4",
        ),
    ],
)
def test_invalid_folder_is_rejected_with_the_reason(
    tmp_path: Path, rows: list[Row], changes: dict[str, Any], message: str
) -> None:
    write_ingested_folder(tmp_path / "day", rows, **changes)
    [mistake] = _mistakes(tmp_path)
    assert mistake.startswith("s.yaml:23: traffic.from: 'day': ")
    assert mistake.endswith(message)


def test_damaged_manifest_or_table_is_rejected(tmp_path: Path) -> None:
    folder = write_ingested_folder(tmp_path / "day", rows_of_day("orders", 4))
    (folder / "rates" / "part-0.parquet").write_bytes(b"PAR1")
    [mistake] = _mistakes(tmp_path)
    assert mistake.startswith("s.yaml:23: traffic.from: 'day': rates/part-0.parquet cannot be read: ")
    (folder / "manifest.json").write_text("{", encoding="utf-8")
    [mistake] = _mistakes(tmp_path)
    assert mistake.startswith("s.yaml:23: traffic.from: 'day': manifest.json cannot be read: ")


def test_folder_without_rates_is_rejected(tmp_path: Path) -> None:
    write_ingested_folder(tmp_path / "day")
    assert _mistakes(tmp_path) == ["s.yaml:23: traffic.from: 'day': has no rates (no rates/*.parquet)"]


def test_different_numbers_of_partitions_are_rejected(tmp_path: Path) -> None:
    write_ingested_folder(
        tmp_path / "day", [*rows_of_day("orders", 6), *rows_of_day("payments", 3)], sizes={"payments": [1] * 5}
    )
    assert _mistakes(tmp_path) == [
        "s.yaml:23: traffic.from: 'orders' has 4 partitions in the scenario, but 6 in the rates of 'day'",
        "s.yaml:23: traffic.from: 'payments' has 4 partitions in the scenario, but 3 in the rates of 'day'",
        "s.yaml:23: traffic.from: 'payments' has 4 partitions in the scenario, but 5 in the sizes of 'day'",
    ]


def test_run_with_too_many_hours_is_rejected(tmp_path: Path) -> None:
    write_ingested_folder(tmp_path / "day", rows_of_day("orders", 4))
    [mistake] = _mistakes(tmp_path, WITHOUT_RATES.replace("duration: 2h", "duration: 1000d") + FROM)
    assert mistake.startswith("s.yaml:23: traffic.from: 24,000 hours until the end")


def test_rows_of_other_topics_are_ignored(tmp_path: Path) -> None:
    write_ingested_folder(tmp_path / "day", [*rows_of_day("orders", 1), rate_row("other", 0, 99, -1.0)])
    measured, _ = read_measured_traffic(tmp_path / "day", "mean", ["orders"])
    assert list(measured.topics) == ["orders"]
