"""Racks of brokers from the metrics of kminion."""

from __future__ import annotations

import pytest

from scenarios.kafka.dumps.files import BROKERS, detect_kind
from scenarios.kafka.formats.broker_list import ListedBroker, parse_broker_list, parse_kminion_brokers
from scenarios.kafka.formats.lines import FormatError

METRICS = """\
# HELP kminion_kafka_broker_info Kafka broker information
# TYPE kminion_kafka_broker_info gauge
kminion_kafka_broker_info{address="b9.example",broker_id="9",is_controller="false",port="9092",rack_id="az 1"} 1
kminion_kafka_broker_info{address="b8.example",broker_id="8",is_controller="true",port="9092",rack_id=""} 1
kminion_kafka_topic_log_dir_size_total_bytes{topic_name="orders"} 9.026554258e+09
not a sample of any metric
"""


def test_metrics_of_kminion_are_a_broker_list() -> None:
    assert detect_kind(METRICS) == BROKERS
    assert parse_broker_list(METRICS) == (ListedBroker(9, "az 1"), ListedBroker(8))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('kminion_kafka_broker_info{broker_id="x"} 1', "line 7: broker_id='x' is not a broker id"),
        ('kminion_kafka_broker_info{broker_id="2147483648"} 1', "line 7: broker_id='2147483648' is not a broker id"),
        ('kminion_kafka_broker_info{broker_id="9",rack_id="az2"} 1', "line 7: broker 9 has two racks, az 1 and az2"),
        ('kminion_kafka_broker_info{broker_id="1",rack_id="a\\nb"} 1', "line 7: rack of broker 1: not printable text"),
        ('kminion_kafka_broker_info{broker_id="1"', "line 7: not a sample of Prometheus"),
    ],
)
def test_malformed_line_is_rejected(line: str, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        parse_kminion_brokers(METRICS + line)
    where = f"line {caught.value.line}: {caught.value}"
    assert message in where


def test_text_without_brokers_is_rejected() -> None:
    with pytest.raises(FormatError, match="no sample of kminion_kafka_broker_info"):
        parse_kminion_brokers("kminion_exporter_up 1\n")
