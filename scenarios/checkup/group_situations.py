"""The standard situations of a consumer group: it has no state, so no disk is lost and nothing is restored."""

from __future__ import annotations

from collections.abc import Iterator

from scenarios.checkup.base import Document, group_document
from scenarios.checkup.situations import SLOWDOWN, LeftOut, Situation, SituationBuilder, slower_processing
from scenarios.load import Scenario


def group_situations(scenario: Scenario, *, has_leader: bool) -> tuple[list[Situation], list[LeftOut]]:
    """Build the standard situations of a consumer group.

    `scenario`: the scenario about the group; its own events do not take part, except that the first rolling update or
    restart of the group says how it is deployed. `has_leader` says whether a member of the group computes the
    assignments. Returns the situations, and those that are left out.
    """
    return _GroupSituations(scenario, group_document(scenario), has_leader).build()


class _GroupSituations(SituationBuilder):
    """Builds the situations of one consumer group."""

    without_leader = "the group coordinator assigns the partitions of the consumer protocol"

    def clients_of(self, document: Document) -> list[Document]:
        [group] = document["consumers"]
        clients: list[Document] = group["clients"]
        return clients

    def situations(self) -> Iterator[Situation]:
        yield self.steady()
        yield self.deploy()
        yield self.crash("crash", "One instance crashes")
        yield from self.leader()
        yield from self.zone()
        yield from self.broker()
        yield from self._slow()
        yield self.scale()
        yield from self.traffic()

    def _slow(self) -> Iterator[Situation]:
        title = f"An instance processes {SLOWDOWN} times slower"
        if self.clients_of(self.base)[-1].get("records_per_s") is None:
            self.leave_out(title, "records_per_s of its client is not set")
            return
        situation = self.situation("slow", title, [], "2h")
        client = self.clients_of(situation.document)[-1]
        client["records_per_s"] = slower_processing(client["records_per_s"])
        yield situation
