"""Topic patterns, with the results of `java.util.regex.Pattern`."""

from __future__ import annotations

import time

import pytest

from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.formats.topology import match_topics

TOPICS = ("__consumer_offsets", "events-de-1", "events-eu-12", "events-us", "orders", "orders.eu", "ordersXeu", "x_y")


@pytest.mark.parametrize(
    ("pattern", "topics"),
    [
        ("orders", "orders"),
        ("orders.eu", "orders.eu ordersXeu"),
        (r"orders\.eu", "orders.eu"),
        (r"\Qorders.eu\E", "orders.eu"),
        (r"\Qorders.eu", "orders.eu"),
        ("events-.*", "events-de-1 events-eu-12 events-us"),
        ("^events-(eu|us).*$", "events-eu-12 events-us"),
        (r"events-[a-z]{2}-\d+", "events-de-1 events-eu-12"),
        ("events-[a-z]{2}(?:-[0-9]{1,2})?", "events-de-1 events-eu-12 events-us"),
        ("orders[^.]eu|x.*|y.*|z.*", "ordersXeu x_y"),
        (r"\w{3}", "x_y"),
        ("orders(\\.eu)?", "orders orders.eu"),
        ("__.*|x_y", "x_y"),
        (".*?-us", "events-us"),
        ("x{0,}_y{1}", "x_y"),
    ],
)
def test_pattern_matches_whole_names(pattern: str, topics: str) -> None:
    assert match_topics(pattern, TOPICS) == topics.split()


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            "(o+)+x",
            "(o+){2}x",
            ".*.*.*x",
            "(orders",
            "orders)",
            "a**",
            "a{3,1}",
            "[a-z&&[^b]]",
            "(?i)orders",
            "a(?=b)",
        ),
        "(a|a)" * 25 + "x",
        "a?" * 25 + "a" * 25,
        "(a(b|c)?)?" * 25,
        "(" * 3_000 + "a" + ")" * 3_000,
    ],
)
def test_pattern_that_is_unsupported_or_slow_is_rejected(pattern: str) -> None:
    with pytest.raises(FormatError, match="is too complex to match; replace it with the topics, as"):
        match_topics(pattern, TOPICS)


@pytest.mark.parametrize("pattern", [".*a.*b", "(a|a)" * 15 + "x", "a?" * 18 + "b"])
def test_accepted_patterns_are_matched_quickly(pattern: str) -> None:
    started_s = time.process_time()
    with pytest.raises(FormatError, match="matches no topic of the cluster"):
        match_topics(pattern, ["a" * 249] * 10)
    assert time.process_time() - started_s < 2
