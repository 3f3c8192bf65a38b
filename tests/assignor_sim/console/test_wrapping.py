"""Messages fit a terminal, are one line elsewhere, and keep what is quoted in one piece."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignor_sim.console.messages import print_message, wrapped

ASSUMED = "assumed: no rates: set them, as in --set 'cluster.topics[NAME].bytes_per_s=10 MB/s'."


@given(st.lists(st.text("abc'(:-", min_size=1, max_size=12), min_size=1, max_size=30), st.integers(20, 100))
def test_lines_hold_the_words_in_order_and_fit_where_they_can(words: list[str], width: int) -> None:
    message = " ".join(words)
    lines = wrapped(message, width).split("\n")
    assert " ".join(line.strip() for line in lines) == message
    for line in lines:
        assert len(line) <= width or " " not in line.strip() or "'" in line


@pytest.mark.parametrize("width", range(20, 140, 7))
def test_quoted_option_is_never_broken(width: int) -> None:
    assert any("'cluster.topics[NAME].bytes_per_s=10 MB/s'." in line for line in wrapped(ASSUMED, width).split("\n"))


def test_lines_of_an_indented_message_are_indented_further_and_figures_keep_their_units() -> None:
    assert wrapped("  a.yaml:4: expect.worst_downtime_ms: found 13.3 s, at 5 MB/s.", 48).split("\n") == [
        "  a.yaml:4: expect.worst_downtime_ms: found",
        "    13.3 s, at 5 MB/s.",
    ]


def test_apostrophes_are_no_quotes() -> None:
    message = "error: Kafka's brokers' racks don't match the clients' racks of 'my app', which isn't possible"
    assert max(map(len, wrapped(message, 40).split("\n"))) <= 40


def test_only_terminals_get_several_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    file = io.StringIO()
    print_message(ASSUMED, file)
    assert file.getvalue() == f"{ASSUMED}\n"
    monkeypatch.setattr(file, "isatty", lambda: True)
    print_message(ASSUMED, file)
    assert file.getvalue().count("\n") > 2
