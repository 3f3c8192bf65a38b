"""`--format` of commands that print facts: the same facts in each format."""

from __future__ import annotations

import csv
import io
import json

import pytest

from tests.assignor_sim.conftest import SMALL, Shell

pytestmark = pytest.mark.answers


def test_validate_has_all_formats(shell: Shell) -> None:
    shell.write("good.yaml", SMALL)
    shell.write("bad.yaml", SMALL.replace("threads", "threds"))
    good, bad = json.loads(shell("validate", "good.yaml", "bad.yaml", "--format", "json").out)
    assert (good["file"], good["valid"], good["name"]) == ("good.yaml", True, "small")
    assert not bad["valid"]
    assert "did you mean 'threads'?" in bad["errors"][0]
    result = shell("validate", "good.yaml", "bad.yaml", "--format", "csv")
    assert result.code == 2
    rows = list(csv.DictReader(io.StringIO(result.out)))
    assert [(row["file"], row["valid"]) for row in rows] == [("good.yaml", "yes"), ("bad.yaml", "no")]
    assert "| good\\.yaml | yes | small |" in shell("validate", "good.yaml", "--format", "markdown").out


def test_record_has_all_formats(shell: Shell) -> None:
    shell.write("small.yaml", SMALL)
    assert json.loads(shell("record", "small.yaml", "--format", "json").out) == [
        {"file": "small.expected.json", "outcome": "stored"}
    ]
    assert shell("record", "small.yaml", "--format", "csv").out == "file,outcome\nsmall.expected.json,unchanged\n"


def test_show_prints_the_comparison_of_run_in_every_format(shell: Shell) -> None:
    shell.write("small.yaml", SMALL)
    for format_ in ("csv", "markdown"):
        printed = shell("run", "small.yaml", "--out", "out", "--format", format_).out
        assert printed
        assert shell("show", "out", "--format", format_).out == printed
