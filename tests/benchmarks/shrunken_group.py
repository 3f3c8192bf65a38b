"""A group of uneven clients with tags, which one of them has left."""

from __future__ import annotations

import random

from assignors.model.configs import AssignmentConfigs
from assignors.model.state import ApplicationState
from assignors.tasks.high_availability import HighAvailability
from scenarios.problems import parse_problem
from tests.benchmarks.shapes import rack_problem
from tests.contract.random_applications import RandomApplication


def shrunken_group(standbys: int) -> ApplicationState:
    """Return 200 tasks on 19 uneven clients with two tags each, which had 20 clients in the previous assignment."""
    tasks = list(parse_problem(rack_problem("min_traffic", 200, 20)).all_tasks.values())
    tags = ("zone", "cluster")
    application = RandomApplication(
        random.Random(4), tasks, AssignmentConfigs(num_standby_replicas=standbys, rack_aware_assignment_tags=tags)
    )
    for _ in range(20):
        application.join()
    application.apply(HighAvailability().assign(application.state()))
    application.leave()
    return application.state()
