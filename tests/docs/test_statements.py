"""Statements that were wrong once: bounds, private package, keys that messages recommend."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pipeline.advise.objective import RecommendError, check_price, parse_objective
from scenarios.load import loads
from tests.assignor_sim.conftest import SMALL, InProcessShell

ROOT = Path(__file__).parents[2]


def test_a_lower_bound_is_called_optimum_only_if_it_is_proven(tmp_path: Path) -> None:
    shell = InProcessShell(tmp_path)
    shell.write("small.yaml", SMALL)
    plain, proven = shell("run", "small.yaml").out, shell("run", "small.yaml", "--prove").out
    assert "bound" in plain
    assert not re.search(r"proven|optim", plain, re.IGNORECASE)
    assert re.search(r"proven", proven)


def test_price_that_an_error_recommends_is_valid() -> None:
    with pytest.raises(RecommendError) as error:
        check_price(loads(SMALL), parse_objective("cross_rack_usd_per_day"))
    recommended = re.findall(r"price: (?:\{.*?\}|\w+)", str(error.value))
    assert len(recommended) == 2
    for price in recommended:
        assert loads(f"{SMALL}{price}\n").blueprint.price is not None
    assert "cross_rack_usd_per_gb" not in str(error.value)


def test_no_command_installs_the_private_package_from_an_index() -> None:
    assert '"Private :: Do Not Upload"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for block in re.findall(r"^```sh\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
            assert not re.search(r"(pip|pipx|uv tool) install [^\n]*(?<![\w./'-])assignor-sim\b", block), page
