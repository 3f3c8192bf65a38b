"""Styles of parts and lines."""

from __future__ import annotations

from itertools import pairwise

from reports.analysis.runs.breakdowns import TRAFFIC_KINDS
from reports.render.drawing.style import part_style


def test_each_kind_of_traffic_has_another_style() -> None:
    styles = [part_style(index, rising=False) for index in range(len(TRAFFIC_KINDS))]
    assert len({(style.color, style.hatch) for style in styles}) == len(styles)
    assert all(style.color != after.color and style.hatch != after.hatch for style, after in pairwise(styles))
