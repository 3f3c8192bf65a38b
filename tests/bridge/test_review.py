"""A failure in Java is a located finding of its case in a review and in a search; the other cases run."""

from __future__ import annotations

from pathlib import Path

import pytest

import assignor_sim as sim
from assignors.containment.limits import DEFAULT_LIMITS, CallLimits
from reports.analysis.stored.verification import VerificationStatus
from tests.assignor_sim.conftest import SMALL

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

LIMITS_OF = {"Endless": CallLimits(timeout_s=3)}
"""Short where a call never ends; elsewhere, a busy machine may take seconds to find out that a process was killed."""
FAILURES = {
    "Throwing": "raised java.lang.IllegalStateException: no [31msuch key (Misbehaving.java:",
    "Killing": "its process was killed by SIGKILL",
    "Endless": "took longer than 3 s",
}


def reference(jar: Path, name: str) -> str:
    return f"java:org.example.Misbehaving${name}@{jar}"


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_is_a_finding_of_its_case_only(jar: Path, name: str, tmp_path: Path) -> None:
    group = SMALL.replace("duration: 6h", "duration: 1h")
    alone = group.replace("count: 3, racks: [az1, az2, az3], threads", "count: 1, racks: [az1], threads")
    texts = {"group": group, "alone": alone.replace("scale_out: {clients: late}", "traffic: {factor: 2}")}
    for stem, text in texts.items():
        (tmp_path / f"{stem}.yaml").write_text(text, encoding="utf-8")
    files = [tmp_path / "group.yaml", tmp_path / "alone.yaml"]
    limits = LIMITS_OF.get(name, DEFAULT_LIMITS)
    reviewed = sim.review(reference(jar, name), scenarios=files, metrics=["load_skew"], limits=limits, workers=1)
    several, single = reviewed.outcomes
    assert several.head is not None
    assert FAILURES[name] in str(several.head.failure)
    assert [item.invariant for item in several.head.violations] == ["valid"]
    assert single.head is not None
    assert single.head.failure is None
    assert single.head.metrics
    [shrunk] = [item for item in reviewed.report.shrunk if item.invariant == "valid"]
    assert shrunk.clients <= 3
    assert FAILURES[name] in shrunk.message


def test_a_search_finds_it_and_verify_replays_it(jar: Path, tmp_path: Path) -> None:
    fuzzing = sim.fuzz(reference(jar, "Throwing"), cases=2, corpus=tmp_path, workers=1)
    assert [item.invariant for item in fuzzing.report.violations] == ["valid"]
    expected = {reference(jar, "Throwing"): VerificationStatus.UNMET, "high_availability": VerificationStatus.MET}
    for assignor, status in expected.items():
        [verification] = sim.verify(tmp_path / "valid.yaml", [assignor])
        assert verification.status is status
