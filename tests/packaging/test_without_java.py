"""Commands that do not use Spark need neither Java nor pyspark."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.assignor_sim.conftest import Shell
from tests.assignor_sim.missing_software import NO_JAVA, without

pytestmark = pytest.mark.answers

STEPS = (
    ("run", "scenario.yaml", "--assignor", "defaults", "--out", "out"),
    ("show", "out"),
    ("explain", "out", "--round", "2"),
    ("explain", "out", "--task", "0_3"),
    ("diff", "out", "--round", "2"),
    ("report", "out", "-o", "page.html"),
    ("plan", "scenario.yaml", "--shuffles", "1", "--out", "plan"),
    ("record", "scenario.yaml"),
    ("verify", "scenario.yaml"),
)


@pytest.mark.slow
def test_commands_without_spark_need_neither_java_nor_pyspark(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    environment = {**NO_JAVA, **without(shell, "pyspark", "py4j", "kafka")}
    assert shell("init", **environment).code == 0
    text = (tmp_path / "scenario.yaml").read_text()
    shell.write("scenario.yaml", text.replace("duration: 12h", "duration: 2h"))
    for step in STEPS:
        result = shell(*step, **environment)
        assert result.code == 0, (step, result.err)
        assert "blocked" not in result.err
    result = shell("doctor", **environment)
    assert result.code == 1
    assert result.out.count("\nmissing ") == 3, result.out
