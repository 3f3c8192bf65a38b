"""Random streams groups whose clients and tasks come and go; one seed rebuilds a whole life."""

from __future__ import annotations

import random
import uuid
from dataclasses import dataclass, field

from tools.kafka_group_oracle.oracle import Json

ASSIGNOR = "streams_group_sticky"
SIZES = ((3, 4, 3), (3, 8, 6), (5, 16, 12), (13, 12, 12), (4, 40, 40), (2, 150, 8))
"""Most subtopologies, partitions of each, and clients."""


@dataclass
class RandomGroup:
    """A streams group at one point of its life.

    Attributes:
        seed: what rebuilds it.
        chance: its source of chance.
        round: how often it has been assigned.
        partitions: of each subtopology, by its number.
        stateful: the subtopologies with state.
        clients: by process id, in the order of joining.
        gone: clients that have left, with what they had.
    """

    seed: int
    rng: random.Random
    round: int = 0
    standbys: int = 0
    partitions: dict[int, int] = field(default_factory=dict)
    stateful: set[int] = field(default_factory=set)
    clients: dict[str, Json] = field(default_factory=dict)
    gone: list[Json] = field(default_factory=list)
    most_threads: int = 1

    @classmethod
    def from_seed(cls, seed: int) -> RandomGroup:
        rng = random.Random(seed)
        life = cls(seed, rng)
        life.standbys, life.most_threads = rng.choice((0, 0, 1, 1, 2, 3)), rng.choice((1, 1, 2, 4, 9))
        subtopologies, partitions, clients = rng.choice(SIZES)
        even = rng.random() < 0.5
        for number in sorted(rng.sample(range(subtopologies + 2), rng.randint(1, subtopologies))):
            life.partitions[number] = partitions if even else rng.randint(1, partitions)
            if rng.random() < 0.7:
                life.stateful.add(number)
        for _ in range(rng.randint(1, clients)):
            life.join()
        if rng.random() < 0.6:
            life.invent_the_past()
        return life

    def problem(self) -> Json:
        """The next problem, tasks and clients listed in any order."""
        tasks = [{"id": task, "stateful": int(task.split("_")[0]) in self.stateful} for task in self.tasks()]
        clients = [dict(client) for client in self.clients.values()]
        self.rng.shuffle(tasks)
        if self.rng.random() < 0.5:
            self.rng.shuffle(clients)
        return {
            "id": f"group{self.seed}/r{self.round}",
            "assignor": ASSIGNOR,
            "configs": {"num_standby_replicas": self.standbys},
            "tasks": tasks,
            "clients": clients,
        }

    def tasks(self) -> list[str]:
        return [f"{number}_{partition}" for number, n in sorted(self.partitions.items()) for partition in range(n)]

    def join(self) -> None:
        if self.gone and self.rng.random() < 0.4:
            client = self.gone.pop(self.rng.randrange(len(self.gone)))
        else:
            bits = self.rng.getrandbits(128) if self.seed % 3 else len(self.clients) + len(self.gone) + 1
            client = {"process_id": str(uuid.UUID(int=bits)), "previous_active": [], "previous_standby": []}
            client["threads"] = self.rng.randint(1, self.most_threads)
        self.clients.setdefault(client["process_id"], client)

    def invent_the_past(self) -> None:
        """Former owners at random: none, one or several, in one role or in both, some of tasks that are gone."""
        tasks = [*self.tasks(), "0_997", "77_0"]
        claims = self.rng.choice((1, 1, 2, 4))
        for role in ("previous_active", "previous_standby"):
            for task in tasks:
                for client in self.rng.choices(list(self.clients.values()), k=self.rng.randint(0, claims)):
                    client[role] = list(dict.fromkeys([*client[role], task]))

    def settle(self, assignment: Json | None) -> None:
        """Take an answer, None for a refusal, for what everybody has now, and let something happen."""
        for process_id, given in (assignment or {}).items():
            client = self.clients[process_id]
            client["previous_active"], client["previous_standby"] = given["active"], given["standby"]
        self.round += 1
        for _ in range(self.rng.choice((0, 1, 1, 2, 4))):
            self._something_happens()

    def _something_happens(self) -> None:
        what = self.rng.random()
        if what < 0.35:
            self.join()
        elif what < 0.7 and (len(self.clients) > 1 or (self.clients and self.rng.random() < 0.2)):
            self.gone.append(self.clients.pop(self.rng.choice(list(self.clients))))
        elif what < 0.8 and self.clients:
            self.rng.choice(list(self.clients.values()))["threads"] = self.rng.randint(1, self.most_threads)
        elif what < 0.88:
            self.standbys = self.rng.randint(0, 3)
        elif what < 0.95:
            self.partitions[self.rng.choice(list(self.partitions))] += self.rng.randint(1, 4)
        elif len(self.partitions) > 1:
            self.partitions.pop(self.rng.choice(list(self.partitions)))
