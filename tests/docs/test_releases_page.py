"""The pages about releases are those of the stored measurement, and list each scenario with a streams group."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assignor_sim.api.releases import releases
from assignors.kafka_releases import BROKERS, CLIENTS
from reports.analysis.release_differences import measured_differences
from scenarios.shipped import list_scenarios
from tools.kafka_oracle import parity_page
from tools.releases.measure import FILE
from tools.releases.page import PAGE, answer_sections, effect_rows, generated, parity_section

pytestmark = pytest.mark.answers

HINT = "run `make releases`"


def test_tables_are_those_of_the_measurement() -> None:
    measured = measured_differences()
    assert answer_sections(measured).strip() in PAGE.read_text(encoding="utf-8"), HINT
    assert generated(parity_page.PAGE.read_text(encoding="utf-8")) == parity_section(measured).strip() + "\n", HINT


def test_measured_releases_are_the_known_ones() -> None:
    content = json.loads(FILE.read_text(encoding="utf-8"))
    assert (content["clients"]["patches"], content["brokers"]["patches"]) == (CLIENTS, BROKERS)


def test_every_scenario_with_a_streams_group_is_listed() -> None:
    text = generated(PAGE.read_text(encoding="utf-8"))
    named = [path.stem for path in list_scenarios() if "streams_group_sticky" in path.read_text(encoding="utf-8")]
    text = text.partition("## Upgrades of clients")[0]
    assert named
    for name in named:
        assert text.count(name.replace("_", "-")) >= len(BROKERS) - 1, HINT


def test_effect_of_an_upgrade_is_current() -> None:
    text = generated(PAGE.read_text(encoding="utf-8"))
    section = text.partition("### Brokers from Kafka 4.2.2 to 4.3.1\n")[2].partition("\n### ")[0]
    [effect] = releases("4.2", "4.3", scenarios=[Path("cold_start")]).effects
    expected = [f"| {' | '.join(row)} |" for row in effect_rows(effect)]
    assert [line for line in section.splitlines() if line.startswith("| cold-start ")] == expected, HINT


def test_effect_of_an_upgrade_of_clients_is_current() -> None:
    text = generated(PAGE.read_text(encoding="utf-8"))
    section = text.partition("### Clients from Kafka 4.3.1 to 4.4.0\n")[2].partition("\n### ")[0]
    changes = releases("4.3", "4.4", scenarios=[Path("cold_start"), Path("rolling_bounce")])
    [effect] = changes.client_effects
    expected = [f"| {' | '.join(row)} |" for row in effect_rows(effect)]
    assert changes.same_clients == ("rolling-bounce",)
    assert [line for line in section.splitlines() if line.startswith("| cold-start ")] == expected, HINT
