"""The section `other_traffic` of scenarios."""

from __future__ import annotations

import pytest

from scenarios.load import ScenarioError
from simulator.world.world import OtherTraffic, RackShare
from tests.scenarios.scenario_texts import SMALL, load_text

PRODUCER = "other_traffic: {producers: [{name: web, racks: [az1, az2]%s}]}\n"
GROUP = "other_traffic: {groups: [{name: search, topics: [orders], racks: [az1]%s}]}\n"


def other_of(text: str, *overrides: tuple[str, str]) -> OtherTraffic:
    other = load_text(SMALL + text, *overrides).world(1).other_traffic
    assert other is not None
    return other


def mistake_in(text: str, *overrides: tuple[str, str]) -> str:
    with pytest.raises(ScenarioError) as error:
        load_text(SMALL + text, *overrides)
    [mistake] = error.value.mistakes
    return f"{mistake.path}: {mistake.message}"


def warnings_of(text: str) -> list[str]:
    return [warning for warning in load_text(SMALL + text).warnings if "other_traffic" in warning]


def test_scenario_without_the_section_has_no_other_traffic() -> None:
    assert load_text(SMALL).world(1).other_traffic is None


def test_producers_write_the_sources_of_the_application_by_default() -> None:
    [producer] = other_of(PRODUCER % "").producers
    assert producer.share_of == {"orders": 1.0, "payments": 1.0}
    assert producer.racks == (RackShare("az1", 0.5), RackShare("az2", 0.5))


def test_racks_may_have_weights() -> None:
    text = "other_traffic: {groups: [{name: search, topics: [orders], racks: {az1: 3, az2: 1, az3: 0}}]}\n"
    assert other_of(text).groups[0].racks == (RackShare("az1", 0.75), RackShare("az2", 0.25))
    repeated = "other_traffic: {groups: [{name: search, topics: [orders], racks: [az1, az1, az2]}]}\n"
    assert other_of(repeated).groups[0].racks[0].share == pytest.approx(2 / 3)


def test_producers_share_what_stated_shares_leave() -> None:
    text = (
        "other_traffic:\n  producers:\n    - {name: a, racks: [az1], share: 0.4}\n"
        "    - {name: b, racks: [az1]}\n    - {name: c, racks: [az1], topics: [orders]}\n"
    )
    shares = [dict(producer.share_of) for producer in other_of(text).producers]
    assert shares == [
        {"orders": 0.4, "payments": 0.4},
        {"orders": pytest.approx(0.3), "payments": pytest.approx(0.6)},
        {"orders": pytest.approx(0.3)},
    ]


def test_part_without_a_producer_is_reported() -> None:
    [orders, payments] = sorted(warnings_of(PRODUCER % ", share: 0.6"))
    assert "40% of 'orders' has no producer" in orders
    assert "payments" in payments


def test_only_rack_aware_producers_of_unkeyed_records_are_rack_aware() -> None:
    text = PRODUCER % ", kafka: '4.4', keyed: false, configs: {partitioner.rack.aware: true}"
    assert other_of(text).producers[0].is_rack_aware
    ignoring = PRODUCER % ", kafka: '4.4', configs: {partitioner.rack.aware: true, partitioner.ignore.keys: true}"
    assert other_of(ignoring).producers[0].is_rack_aware
    keyed = PRODUCER % ", kafka: '4.4', configs: {partitioner.rack.aware: true}"
    assert not other_of(keyed).producers[0].is_rack_aware
    [warning] = warnings_of(keyed)
    assert "has no effect on records with keys" in warning


def test_sent_bytes_follow_the_codecs() -> None:
    text = (
        "other_traffic:\n  compression_ratios: {zstd: 4, lz4: 2}\n"
        "  producers: [{name: web, racks: [az1], configs: {compression.type: lz4}}]\n"
    )
    other = other_of(text)
    assert other.sent_per_stored_byte(other.producers[0], "orders") == 1
    recompressed = other_of(text, ("cluster.topics[0].configs.compression.type", "zstd"))
    assert recompressed.sent_per_stored_byte(recompressed.producers[0], "orders") == 2
    plain = other_of(text, ("cluster.topics[0].configs.compression.type", "uncompressed"))
    assert plain.sent_per_stored_byte(plain.producers[0], "orders") == 0.5
    assert plain.sent_per_stored_byte(plain.producers[0], "payments") == 1


def test_racks_without_brokers_and_clients_are_reported() -> None:
    [warning] = warnings_of(GROUP.replace("[az1]", "[az9]") % "")
    assert "no broker or client is in rack 'az9' (racks: az1, az2, az3)" in warning


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("other_traffic: {}\n", "other_traffic: set from, producers or groups"),
        (PRODUCER % ", topics: [order]", "other_traffic.producers[0].topics[0]: unknown topic 'order' (did you mean"),
        (GROUP.replace("[orders]", "[orders, orders]") % "", "other_traffic.groups[0].topics[1]: 'orders' is listed"),
        (
            PRODUCER % ", topics: [shop-totals-changelog]",
            "other_traffic.producers[0].topics[0]: 'shop-totals-changelog' is written by the application",
        ),
        (GROUP.replace("search", "shop") % "", "other_traffic.groups[0].name: 'shop' is the application itself"),
        (
            PRODUCER % ", kafka: '4.3', keyed: false, configs: {partitioner.rack.aware: true}",
            "other_traffic.producers[0].configs.partitioner.rack.aware: Kafka 4.3 has no partitioner.rack.aware; "
            "set kafka: '4.4'",
        ),
        (PRODUCER.replace("[az1, az2]", "{az1: 0}") % "", "other_traffic.producers[0].racks: at least one rack"),
        (PRODUCER.replace("[az1, az2]", "{az1: -1}") % "", "other_traffic.producers[0].racks.az1: -1"),
        (PRODUCER.replace("[az1, az2]", "[]") % "", "other_traffic.producers[0].racks: has too few entries"),
        (PRODUCER % ", share: 1.5", "other_traffic.producers[0].share: 1.5 is too large"),
        (PRODUCER % ", kafka: '9.9'", "other_traffic.producers[0].kafka: Kafka 9.9 is not supported"),
        (
            PRODUCER % ", configs: {compression.type: brotli}",
            "other_traffic.producers[0].configs.compression.type: 'brotli' is not one of",
        ),
    ],
)
def test_mistakes_say_where_and_what(text: str, mistake: str) -> None:
    assert mistake_in(text).startswith(mistake)


@pytest.mark.parametrize(
    ("shares", "mistake"),
    [
        ((0.7, 0.7), "the shares of producers of 'orders' add up to 1.4 (at most 1)"),
        ((1.0, None), "the shares of producers of 'orders' add up to 1, which leaves nothing for 'p1' (at most 1)"),
    ],
)
def test_shares_add_up_to_at_most_one(shares: tuple[float | None, ...], mistake: str) -> None:
    entries = [
        f"    - {{name: p{i}, topics: [orders], racks: [az1]{'' if share is None else f', share: {share}'}}}\n"
        for i, share in enumerate(shares)
    ]
    assert mistake_in("other_traffic:\n  producers:\n" + "".join(entries)).endswith(mistake)


def test_names_are_unique() -> None:
    entry = "{name: a, topics: [orders], racks: [az1]}"
    text = f"other_traffic: {{groups: [{entry}, {entry}]}}\n"
    assert mistake_in(text) == "other_traffic.groups[1].name: 'a' is also the name of groups[0]"


def test_ratio_of_a_recompressed_topic_must_be_stated() -> None:
    recompressed = ("cluster.topics[0].configs", "{compression.type: zstd}")
    assert mistake_in(PRODUCER % "", recompressed) == (
        "other_traffic.producers[0].configs.compression.type: topic 'orders' has compression.type zstd, the producer "
        "none: state how well the records compress, as in compression_ratios: {zstd: 4}"
    )
