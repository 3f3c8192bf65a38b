"""Lives of random streams groups: rounds of problems in which each answer is the previous assignment of the next."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field

from assignors import registry
from scenarios.problems import Problem
from tools.kafka_group_oracle.oracle import CustomClass, Json, run_assignor

ASSIGNOR = "streams_group_sticky"
SIZES = ((3, 4, 3), (3, 8, 6), (5, 16, 12), (13, 12, 12), (4, 40, 40), (2, 150, 8))
"""Maximum numbers of subtopologies, of partitions per subtopology, and of clients."""


@dataclass
class RandomGroup:
    """A streams group at one point in time.

    Attributes:
        partitions: Number of partitions by subtopology.
        clients: Clients by process id, in the order of joining.
        departed: Clients that have left, with their previous tasks.
        max_threads: Maximum number of threads of a client.
        reports: Random number generator of what only newer coordinators read: offsets, tags, racks, instance ids.
        share_reported: Share of the stateful tasks whose offsets a client reports.
    """

    seed: int
    rng: random.Random
    round: int = 0
    standbys: int = 0
    partitions: dict[int, int] = field(default_factory=dict)
    stateful: set[int] = field(default_factory=set)
    clients: dict[str, Json] = field(default_factory=dict)
    departed: list[Json] = field(default_factory=list)
    max_threads: int = 1
    reports: random.Random = field(default_factory=random.Random)
    share_reported: float = 0.0

    @classmethod
    def from_seed(cls, seed: int) -> RandomGroup:
        """Return the group of a seed before its first assignment."""
        rng = random.Random(seed)
        group = cls(seed, rng)
        group.standbys, group.max_threads = rng.choice((0, 0, 1, 1, 2, 3)), rng.choice((1, 1, 2, 4, 9))
        subtopologies, partitions, clients = rng.choice(SIZES)
        even = rng.random() < 0.5
        for number in sorted(rng.sample(range(subtopologies + 2), rng.randint(1, subtopologies))):
            group.partitions[number] = partitions if even else rng.randint(1, partitions)
            if rng.random() < 0.7:
                group.stateful.add(number)
        for _ in range(rng.randint(1, clients)):
            group.join()
        if rng.random() < 0.6:
            group.randomize_previous_tasks()
        group.reports = random.Random(f"reports of {seed}")
        group.share_reported = group.reports.choice((0.0, 0.0, 0.1, 0.5, 1.0))
        return group

    def problem(self) -> Json:
        """Return the next problem, with tasks and clients in random order."""
        tasks = [{"id": task, "stateful": int(task.split("_")[0]) in self.stateful} for task in self.tasks()]
        clients = [dict(client) for client in self.clients.values()]
        for client in clients:
            client.update(self.reported_by())
        self.rng.shuffle(tasks)
        if self.rng.random() < 0.5:
            self.rng.shuffle(clients)
        return {
            "id": f"group{self.seed}/r{self.round}",
            "assignor": ASSIGNOR,
            "configs": {"num_standby_replicas": self.standbys, "rack_aware_assignment_tags": ["zone"]},
            "tasks": tasks,
            "clients": clients,
        }

    def reported_by(self) -> Json:
        """Return the random reports of a client: few distinct offsets, of any copies, also of tasks that are gone."""
        if not self.share_reported:
            return {}
        draw = self.reports
        stateful = [task for task in self.tasks() if int(task.split("_")[0]) in self.stateful]
        reported = [task for task in [*stateful, "0_997", "77_0"] if draw.random() < self.share_reported]
        offsets = {task: draw.choice((0, 1, 1, 500, 10_000, draw.getrandbits(40), 2**63 - 1)) for task in reported}
        return {
            "task_offsets": offsets,
            "task_end_offsets": {
                task: min(offset + draw.randint(0, 20_000), 2**63 - 1) for task, offset in offsets.items()
            },
            "rack": draw.choice((None, "az1", "az2")),
            "tags": {"zone": draw.choice(("z1", "z2"))},
            "instance_id": draw.choice((None, str(draw.getrandbits(16)))),
        }

    def tasks(self) -> list[str]:
        """Return the ids of all tasks, sorted by subtopology and partition."""
        return [f"{number}_{partition}" for number, n in sorted(self.partitions.items()) for partition in range(n)]

    def join(self) -> None:
        """Add a new client, or one that has left before, with its previous tasks."""
        if self.departed and self.rng.random() < 0.4:
            client = self.departed.pop(self.rng.randrange(len(self.departed)))
        else:
            bits = self.rng.getrandbits(128) if self.seed % 3 else len(self.clients) + len(self.departed) + 1
            client = {"process_id": str(uuid.UUID(int=bits)), "previous_active": [], "previous_standby": []}
            client["threads"] = self.rng.randint(1, self.max_threads)
        self.clients.setdefault(client["process_id"], client)

    def randomize_previous_tasks(self) -> None:
        """Set random previous owners: none, one or several, in one or both roles, also of tasks that do not exist."""
        tasks = [*self.tasks(), "0_997", "77_0"]
        claims = self.rng.choice((1, 1, 2, 4))
        for role in ("previous_active", "previous_standby"):
            for task in tasks:
                for client in self.rng.choices(list(self.clients.values()), k=self.rng.randint(0, claims)):
                    client[role] = list(dict.fromkeys([*client[role], task]))

    def apply_assignment(self, assignment: Json | None) -> None:
        """Apply an assignment (None for an error) as the clients' previous tasks, then change the group randomly."""
        for process_id, given in (assignment or {}).items():
            client = self.clients[process_id]
            client["previous_active"], client["previous_standby"] = given["active"], given["standby"]
        self.round += 1
        for _ in range(self.rng.choice((0, 1, 1, 2, 4))):
            self._change_randomly()

    def _change_randomly(self) -> None:
        draw = self.rng.random()
        if draw < 0.35:
            self.join()
        elif draw < 0.7 and (len(self.clients) > 1 or (self.clients and self.rng.random() < 0.2)):
            self.departed.append(self.clients.pop(self.rng.choice(list(self.clients))))
        elif draw < 0.8 and self.clients:
            self.rng.choice(list(self.clients.values()))["threads"] = self.rng.randint(1, self.max_threads)
        elif draw < 0.88:
            self.standbys = self.rng.randint(0, 3)
        elif draw < 0.95:
            self.partitions[self.rng.choice(list(self.partitions))] += self.rng.randint(1, 4)
        elif len(self.partitions) > 1:
            self.partitions.pop(self.rng.choice(list(self.partitions)))


GROUPS_PER_BATCH = 1000
COMPARED = ("assignment", "probing_rebalance", "error")


def assignor_of(kafka_version: str) -> str:
    """Return the name of the assignor of a release."""
    return registry.find(f"{ASSIGNOR}@{kafka_version}").name


def answered_problems(
    kafka_version: str, seeds: range, rounds: int, custom: CustomClass | None = None
) -> Iterator[tuple[Problem, Json]]:
    """Run Kafka on random groups, round by round: each answer is the previous assignment of the next round.

    `custom`: a custom assignor; None for Kafka's. Yields the problem with its answers, and the same as a line of a
    problem file.
    """
    for start in range(0, len(seeds), GROUPS_PER_BATCH):
        groups = [RandomGroup.from_seed(seed) for seed in seeds[start : start + GROUPS_PER_BATCH]]
        for _ in range(rounds):
            problems = [group.problem() for group in groups]
            answered = run_assignor(problems, kafka_version, custom)
            for group, problem, answers in zip(groups, problems, answered, strict=True):
                in_order, in_production = (
                    {key: answers[order][key] for key in COMPARED} for order in ("sorted", "production")
                )
                problem["assignor"] = assignor_of(kafka_version) if custom is None else custom.name
                line = {"problem": problem, "expected": in_order}
                if in_production != in_order:
                    line["expected_hash_order"] = in_production
                yield Problem(group.seed, problem, in_order, line.get("expected_hash_order")), line
                group.apply_assignment(in_production["assignment"])
