"""The section `problem` of scenarios."""

from __future__ import annotations

import pytest

from scenarios.load import ScenarioError, loads

BASE = """
cluster:
  brokers: {count: 1}
  topics: [{name: a, partitions: 2}]
application:
  id: app
  subtopologies: [{sources: [a]}]
clients: [{name: c, count: 2}]
assignors: [high_availability, {label: sticky, assignor: legacy_sticky}]
"""
PROBLEM = """
problem:
  title: Too slow
  symptom: >
    It takes
    hours.
  cause: Two clients.
  tickets: [KAFKA-1]
  metrics: [time_to_converge_ms]
  fixes:
    - {change: More clients, set: {"clients[0].count": 4, application.configs.session.timeout.ms: 1m}}
    - {change: The other one, assignor: sticky}
"""


def test_problem_is_part_of_the_scenario_and_its_fixes_are_overrides() -> None:
    problem = loads(BASE + PROBLEM).problem
    assert problem is not None
    assert problem.symptom == "It takes hours."
    assert problem.shown_by == "high_availability"
    assert problem.fixes[0].overrides == (("clients[0].count", "4"), ("application.configs.session.timeout.ms", "1m"))
    assert loads(BASE, overrides=problem.fixes[0].overrides).blueprint.clients[-1].name == "c-3"
    assert loads(BASE).problem is None


def test_text_that_looks_like_another_type_stays_text_in_an_override() -> None:
    text = BASE + PROBLEM.replace('"clients[0].count": 4', 'application.id: "8"')
    problem = loads(text).problem
    assert problem is not None
    assert problem.fixes[0].overrides[0] == ("application.id", '"8"')


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("assignor: sticky}", "assignor: sticki}", "problem.fixes[1].assignor: 'sticki' is not the label"),
        ("clients[0]", "clients[3]", "problem.fixes[0].set.clients[3].count: clients has no [3]"),
        ("KAFKA-1", "JIRA-1", "problem.tickets[0]: 'JIRA-1' does not match"),
        ("title: Too slow", "titel: Too slow", "problem.titel: unknown key (did you mean 'title'?)"),
        ("cause:", "shown_by: nobody\n  cause:", "problem.shown_by: 'nobody' is not the label"),
    ],
)
def test_mistake_in_a_problem_has_a_line_and_a_path(old: str, new: str, message: str) -> None:
    with pytest.raises(ScenarioError) as error:
        loads(BASE + PROBLEM.replace(old, new), "s.yaml")
    assert message in str(error.value)
    assert str(error.value).startswith("s.yaml:1") or str(error.value).startswith("s.yaml:2")
