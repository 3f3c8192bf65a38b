"""Output of Topology.describe()."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.formats.topology import DescribedSource, DescribedStore, DescribedSubtopology, parse_topology

DIALECTS = Path(__file__).with_name("dialects")
CAPTURED = Path(__file__).parents[4] / "scenarios" / "library" / "captured"


def test_topology_of_1_0_is_parsed() -> None:
    assert parse_topology((DIALECTS / "topology_1_0.txt").read_text()) == (
        DescribedSubtopology(
            0,
            2,
            (DescribedSource("KSTREAM-SOURCE-0000000000", 3, ("orders", "payments")),),
            (DescribedStore("totals", 4),),
            (),
        ),
    )


def test_pattern_may_start_and_end_with_a_class() -> None:
    text = "Sub-topology: 0\n Source: a (topics: [a-z]+-[0-9])\n Source: b (topics: [a-z, b])\n"
    first, second = parse_topology(text)[0].sources
    assert (first.pattern, first.topics) == ("[a-z]+-[0-9]", ())
    assert (second.pattern, second.topics) == (None, ("a-z", "b"))


def test_patterns_extractors_and_global_stores_are_distinguished() -> None:
    first, second = parse_topology((DIALECTS / "topology_named.txt").read_text())
    assert first == DescribedSubtopology(0, 2, (DescribedSource("KSTREAM-SOURCE-0000000000", 3, ("orders",)),), (), ())
    assert second.id == 3
    assert second.sources == (
        DescribedSource("customers-source", 9, ("customers",)),
        DescribedSource("My source", 17, pattern="events-(eu|us)-.*"),
    )
    assert second.stores == (
        DescribedStore("customers-store", 11, table_of="customers"),
        DescribedStore("a", 14),
        DescribedStore("b", 14),
    )
    assert second.sinks == ("by-user-repartition",)


def test_captured_description_is_read_completely() -> None:
    subtopologies = parse_topology((CAPTURED / "topology.txt").read_text())
    assert [subtopology.id for subtopology in subtopologies] == [1, 2, 3, 4, 5, 6]
    joins = subtopologies[1]
    assert [source.topics for source in joins.sources] == [
        ("orders-by-customer-repartition",),
        ("payments",),
        ("customers",),
    ]
    assert {store.name: store.table_of for store in joins.stores} == {
        "orders-paid-this-join-store": None,
        "orders-paid-other-join-store": None,
        "customer-spending-store": None,
        "customers-store": "customers",
    }
    assert "orders-by-product-repartition" in subtopologies[0].sinks


SOURCE = "    Source: S (topics: [a])\n      --> P\n"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "no sub-topologies; expected the output of Topology.describe()"),
        ("Topologies:\n", None, "no sub-topologies; expected the output of Topology.describe()"),
        ("Topologies:\n" + SOURCE, 2, "'Source: S (topics: [a])' before the first 'Sub-topology: 0'"),
        ("Topologies:\n  Sub-topology: 0\n" + SOURCE + "hello\n", 5, "'hello' is not a source, processor or sink"),
        ("  Sub-topology: 0\n" + SOURCE + "  Sub-topology: 0\n", 4, "duplicate sub-topology 0"),
        ("  Sub-topology: x\n", 1, "'Sub-topology: x' before the first 'Sub-topology: 0'"),
    ],
)
def test_malformed_text_is_rejected_with_its_line(text: str, line: int | None, message: str) -> None:
    with pytest.raises(FormatError, match="^" + re.escape(message)) as raised:
        parse_topology(text)
    assert raised.value.line == line
