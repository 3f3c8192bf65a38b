"""The standard suite: the same by seed, valid, and with the features that its families promise."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import asdict
from functools import cache

import pytest

from assignors.containment.contained import fingerprint
from scenarios.load import loads
from scenarios.suite.documents import FAMILIES, PLACEMENTS, document_text
from scenarios.suite.scale_shapes import SHAPES, ScaleShape, scale_state, without_some_clients
from scenarios.suite.standard import FAMILY_DESCRIPTIONS, KNOWN_PROBLEMS, SCALE, VERSION, SuiteCase, standard_suite
from simulator.random_streams import random_stream

CASES_OF_STANDARD_1 = "9b53a8fed346f9b79dc263af6580124d5385b5132fa834e82884a3acb98d5f06"
"""SHA-256 of names, seeds and contents of all cases but the shipped scenarios, which may change."""
STATES_OF_STANDARD_1: dict[str, list[int]] = {
    "200x20": [1727889245, 2467874534],
    "1000x100": [741415711, 824297597],
    "many-standbys": [667740957, 1639975656],
    "many-threads-per-client": [1549420689, 498200931],
}
"""Checksums of the states of the shapes that are built fast, with seed 1."""


@cache
def full_suite() -> list[SuiteCase]:
    return standard_suite(1)


def test_the_quick_suite_is_part_of_the_full_one_and_seeds_draw_others() -> None:
    full = {(case.family, case.name): json.dumps(case.document) for case in full_suite()}
    for case in standard_suite(1, quick=True):
        assert full[case.family, case.name] == json.dumps(case.document)
    drawn = [case for case in full_suite() if case.family in [family.name for family in (*FAMILIES, PLACEMENTS)]]
    assert len({case.seed for case in drawn}) == len(drawn)
    family = FAMILIES[0]
    drawn_by_seed = [family.document(random_stream(seed, "standard 1", family.name, "1"), 1) for seed in (1, 1, 2)]
    assert drawn_by_seed[0] == drawn_by_seed[1] != drawn_by_seed[2]


def test_version_is_a_new_one_if_a_random_case_changes() -> None:
    assert VERSION == "standard 1"
    fixed = [case for case in full_suite() if case.family != KNOWN_PROBLEMS]
    content = [[case.family, case.name, case.seed, case.document, case.shape and asdict(case.shape)] for case in fixed]
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    assert digest == CASES_OF_STANDARD_1, "a case changed: give the suite a new version, and update the digests"


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape.name in STATES_OF_STANDARD_1], ids=str)
def test_version_is_a_new_one_if_a_shape_changes(shape: ScaleShape) -> None:
    states = [scale_state(shape, 1), without_some_clients(scale_state(shape, 1))]
    checksums = [fingerprint(state) for state in states]
    assert checksums == STATES_OF_STANDARD_1[shape.name], "a shape changed: give the suite a new version"


def test_names_are_unique_and_families_described() -> None:
    cases = full_suite()
    assert max(Counter(case.name for case in cases).values()) == 1
    assert {case.family for case in cases} <= FAMILY_DESCRIPTIONS.keys()


@pytest.mark.parametrize("family", [*FAMILIES, PLACEMENTS], ids=lambda family: family.name)
def test_scenarios_of_a_family_are_valid(family: object) -> None:
    for number in range(1, 3):
        content = family.document(random_stream(1, "standard 1", family.name, str(number)), number)  # type: ignore[attr-defined]
        text = document_text(content)
        scenario = loads(text, content["name"])
        assert scenario.blueprint.events or family.name == "cold"  # type: ignore[attr-defined]
        assert loads(json.dumps(content), content["name"]).blueprint == scenario.blueprint


def test_families_have_what_their_names_say() -> None:
    documents: dict[str, list[dict]] = {}
    for case in full_suite():
        if case.document is not None:
            documents.setdefault(case.family, []).append(case.document)
    assert {len(d["cluster"]["brokers"]["racks"]) for d in documents["racks"]} == {1, 2, 3, 4, 5}
    assert {d["application"]["configs"]["num.standby.replicas"] for d in documents["standbys"]} == {0, 1, 2}
    assert all(len({c["threads"] for c in d["clients"]}) == 1 for d in documents["uniform"])
    assert any(len({c["threads"] for c in d["clients"]}) > 2 for d in documents["threads"])
    assert all("zone" in c["tags"] for d in documents["tags"] for c in d["clients"])


def test_scale_shapes_have_their_sizes() -> None:
    shape = SHAPES[0]
    state = scale_state(shape, 1)
    assert (len(state.tasks), len(state.clients)) == (shape.tasks, shape.clients)
    assert len(without_some_clients(state).clients) == shape.clients * 9 // 10
    assert any(case.family == SCALE for case in standard_suite(1, quick=True))
    assert max(shape.tasks * shape.clients for shape in SHAPES) == 5_000 * 500
