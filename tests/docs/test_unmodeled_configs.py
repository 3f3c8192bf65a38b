"""The tables of configs that are not modeled, against the code's lists."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest

from scenarios.language.unmodeled_configs import (
    BROKER_CONFIGS_OUTSIDE_THE_MODEL,
    GROUP_CONFIGS_OUTSIDE_THE_MODEL,
    STREAMS_CONFIGS_OUTSIDE_THE_MODEL,
    ConfigsOutsideTheModel,
)

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "model.md"
SECTIONS = {
    "application.configs": STREAMS_CONFIGS_OUTSIDE_THE_MODEL,
    "cluster.configs": BROKER_CONFIGS_OUTSIDE_THE_MODEL,
    "application.group_configs": GROUP_CONFIGS_OUTSIDE_THE_MODEL,
}


def unmodeled_table(outside: ConfigsOutsideTheModel) -> str:
    """Return the table of the configs that cause a warning."""
    by_effect: dict[str, list[str]] = defaultdict(list)
    for key, config in outside.unmodeled.items():
        default = "" if config.default is None else f" ({config.default.rpartition('.')[2] or 'empty'})"
        by_effect[config.effect].append(f"`{key}`{default}")
    rows = [f"| {', '.join(keys)} | {effect} |" for effect, keys in by_effect.items()]
    return "\n".join(["| config (default, without a warning) | in a simulation |", "|---|---|", *rows])


def ignored_table(outside: ConfigsOutsideTheModel) -> str:
    """Return the table of the configs without effect, by reason."""
    by_reason: dict[str, list[str]] = defaultdict(list)
    for key, reason in outside.without_effect.items():
        by_reason[reason].append(f"`{key}`")
    rows = [f"| {reason} | {', '.join(keys)} |" for reason, keys in by_reason.items()]
    return "\n".join(["| reason | configs |", "|---|---|", *rows])


@pytest.mark.parametrize("section", SECTIONS)
def test_page_has_the_current_tables(section: str) -> None:
    text = re.sub(r"\n+", "\n", PAGE.read_text(encoding="utf-8"))
    assert unmodeled_table(SECTIONS[section]) in text
    assert ignored_table(SECTIONS[section]) in text
