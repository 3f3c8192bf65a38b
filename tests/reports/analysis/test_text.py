"""Escaping, shortening and splitting of names."""

from __future__ import annotations

import pytest

from reports.analysis.text import name_parts, printable, shortened, shortened_list


def test_control_characters_are_escaped() -> None:
    assert printable("a\nb\t\x1b[31m\x07\u202ec\u2028") == r"a\nb\t\x1b[31m\x07\u202ec\u2028"
    assert printable("🦊 שלום 👩‍🚀 é <b>") == "🦊 שלום 👩‍🚀 é <b>"


def test_long_names_are_shortened_in_the_middle() -> None:
    assert shortened("high_availability", 17) == "high_availability"
    assert shortened("high_availability_min_traffic", 11) == "high_…affic"
    assert [len(shortened("x" * 40, width)) for width in (10, 11)] == [10, 11]


@pytest.mark.parametrize("name", ["HA min_traffic", "my.pkg:Mine", " leading", "", "__", "a  b", "x" * 50])
def test_name_parts_add_up_to_name(name: str) -> None:
    parts = name_parts(name)
    assert "".join(parts) == name
    assert all(parts)


def test_names_are_split_after_separators() -> None:
    assert name_parts("HA min_traffic(x=1)") == ["HA ", "min_", "traffic(", "x=", "1)"]


@pytest.mark.parametrize("count", [1, 2, 3, 12, 400])
@pytest.mark.parametrize("width", [60, 120, 240])
def test_shortened_list_has_whole_parts_and_counts_the_rest(count: int, width: int) -> None:
    parts = [f"app-{number} joined" for number in range(count)]
    text = shortened_list(", ".join(parts), width)
    assert len(text) <= width
    shown, _, more = text.partition(" and ")
    assert shown.split(", ") == parts[: len(shown.split(", "))]
    assert len(shown.split(", ")) + int(more.removesuffix(" more") or 0) == count
