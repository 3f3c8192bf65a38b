"""The scenarios of AssignorBench: a fixed part of the standard suite."""

from __future__ import annotations

import hashlib
import json
from collections import Counter

from scenarios.suite.documents import FAMILIES, PLACEMENTS
from scenarios.suite.standard import KNOWN_PROBLEMS, SCENARIOS_PER_FAMILY, benchmark_cases, standard_suite


def test_every_random_family_has_its_first_scenarios() -> None:
    counts = Counter(case.family for case in benchmark_cases())
    assert counts.pop(KNOWN_PROBLEMS) == 18
    assert counts == dict.fromkeys((family.name for family in (*FAMILIES, PLACEMENTS)), SCENARIOS_PER_FAMILY)


def test_cases_are_those_of_the_standard_suite_with_the_first_seed() -> None:
    standard = {(case.family, case.name): case for case in standard_suite()}
    for case in benchmark_cases():
        assert json.dumps(case.document) == json.dumps(standard[case.family, case.name].document)
    scenarios = [case.name.partition(",")[0] for case in benchmark_cases()]
    assert len(set(scenarios)) == len(scenarios)


def test_random_cases_of_version_1_never_change() -> None:
    drawn = [(case.name, case.seed, case.document) for case in benchmark_cases() if case.family != KNOWN_PROBLEMS]
    digest = hashlib.sha256(json.dumps(drawn).encode()).hexdigest()
    assert digest == "8361e81ca835890aaa127d81951716f6186de6d02a29e88d061900d038c2c26a"
