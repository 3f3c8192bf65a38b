"""Which replica assignors there are, by name.

Those of this project are imported when one is made. Those of other people come from the entry-point group
`assignor_sim.replica_assignors`, or as `package.module:Class`; only a person who calls one by name has them imported.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any

from assignors.errors import UnknownAssignorError
from assignors.replicas.plan import Capabilities, ReplicaAssignor

ENTRY_POINT_GROUP = "assignor_sim.replica_assignors"


@dataclass(frozen=True, slots=True)
class StrategyInfo:
    """A strategy as it is listed.

    Attributes:
        name: what it is called.
        place: where its class is, as `package.module:Class`.
        tool: the tool whose way it is; empty if it is this project's.
        summary: one line on what it does.
        parameters: what the class is built with where this name means a variant of it.
    """

    name: str
    place: str
    tool: str
    summary: str
    parameters: tuple[tuple[str, Any], ...] = ()

    def find_class(self) -> type[ReplicaAssignor]:
        """Import its class.

        Raises:
            UnknownAssignorError: there is none there, or it is no replica assignor.
        """
        module, _, attribute = self.place.partition(":")
        try:
            found = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise UnknownAssignorError(f"'{self.name}' cannot be imported: {error}") from error
        if not isinstance(getattr(found, "capabilities", None), Capabilities) or not callable(
            getattr(found, "plan", None)
        ):
            raise UnknownAssignorError(
                f"'{self.name}' is not a replica assignor (it needs abilities and plan(state, request))"
            )
        strategy: type[ReplicaAssignor] = found
        return strategy


def _of(name: str, class_name: str, tool: str, summary: str, module: str = "", **parameters: Any) -> StrategyInfo:
    place = f"assignors.replicas.{module or name}:{class_name}"
    return StrategyInfo(name, place, tool, summary, tuple(parameters.items()))


_BUILT_IN = (
    _of(
        "kafka_generate",
        "KafkaGenerate",
        "kafka-reassign-partitions.sh --generate (to 4.1)",
        "places every topic anew, whatever is where",
    ),
    _of(
        "kafka_generate_striped",
        "KafkaGenerate",
        "kafka-reassign-partitions.sh --generate (StripedReplicaPlacer)",
        "the same, placed as KRaft controllers place new topics",
        module="kafka_generate",
        placer="striped",
    ),
    _of("greedy_per_topic", "GreedyPerTopic", "dimas/kafka-reassign-tool", "sets replication factors with few moves"),
    _of(
        "kafka_assigner",
        "KafkaAssigner",
        "SiftScience/kafka-assigner",
        "keeps what may stay, and fills gaps greedily; never goes back on a choice",
    ),
    _of("topicmappr_count", "TopicmapprCount", "DataDog/kafka-kit topicmappr rebuild", "replaces by replica count"),
    _of(
        "topicmappr_storage",
        "TopicmapprStorage",
        "DataDog/kafka-kit topicmappr rebuild --placement storage",
        "largest partitions first, onto the freest broker",
    ),
    _of(
        "topicmappr_rebalance",
        "TopicmapprStorage",
        "DataDog/kafka-kit topicmappr rebalance",
        "moves large partitions off brokers that are short of storage",
        module="topicmappr_storage",
        mode="rebalance",
    ),
    _of(
        "movement_mip",
        "MovementMip",
        "everpeace/kafka-reassign-optimizer",
        "fewest weighted moves to even loads, as a mixed integer programme",
    ),
    _of(
        "preferred_leader_ilp",
        "PreferredLeaderIlp",
        "killerwhile/kafka-assignment-optimizer",
        "keeps as much weight of leaders and followers as limits per broker and rack allow",
    ),
    _of(
        "permutation_matching",
        "PermutationMatching",
        "Appier's permutations",
        "every ordered choice of brokers equally often, matched to what is there",
    ),
    _of(
        "leader_max_flow",
        "LeaderMaxFlow",
        "Pinterest, part 2",
        "evens out leaders per topic by maximum flow, then cost, then pruning",
    ),
    _of(
        "leader_chain_swap",
        "LeaderChainSwap",
        "Pinterest, part 1",
        "hands leaders along chains from the fullest broker to the emptiest",
    ),
    _of(
        "three_phase_flow",
        "ThreePhaseFlow",
        "Appier's flows",
        "evens out replicas, then leaders, then first followers",
    ),
    _of(
        "capacity_packing",
        "CapacityPacking",
        "bin packing of disk and network",
        "fits replicas into the fewest brokers whose disks and network take them",
    ),
    _of(
        "goal_chain",
        "GoalChain",
        "LinkedIn Cruise Control, its goals of racks, replicas, leaders and disk",
        "goals in order of priority, none of which undoes an earlier one",
    ),
    _of(
        "exact_flow",
        "ExactFlow",
        "",
        "fewest moves to even replicas and leaders under racks, with its proven bound",
    ),
)


def built_in() -> tuple[StrategyInfo, ...]:
    """The strategies of this project, in the order in which they are listed."""
    return _BUILT_IN


def find_strategy(name: str) -> StrategyInfo:
    """Look a built-in strategy up; imports nothing.

    Raises:
        UnknownAssignorError: there is none; says which there are.
    """
    for info in _BUILT_IN:
        if name == info.name:
            return info
    known = ", ".join(info.name for info in _BUILT_IN)
    hint = f"; to run code of your own, say so on the command line: --strategy {name}" if ":" in name else ""
    raise UnknownAssignorError(f"'{name}' is not a replica assignor (built in: {known}){hint}")


def load(name: str) -> StrategyInfo:
    """Look a strategy up by built-in name, installed entry point or `package.module:Class`; may import code.

    Raises:
        UnknownAssignorError: nothing of that name.
    """
    if ":" in name:
        return StrategyInfo(name, name, "", "")
    entries = entry_points(group=ENTRY_POINT_GROUP, name=name)
    if entries and all(name != info.name for info in _BUILT_IN):
        return StrategyInfo(name, next(iter(entries)).value, "", "")
    return find_strategy(name)


def make(info: StrategyInfo, parameters: Mapping[str, Any] | None = None) -> ReplicaAssignor:
    """Build a strategy with its parameters.

    Raises:
        UnknownAssignorError: it has no such parameter, or does not take that value.
    """
    try:
        return info.find_class()(**{**dict(info.parameters), **(parameters or {})})
    except (TypeError, ValueError) as error:
        raise UnknownAssignorError(f"strategy '{info.name}' cannot be built: {error}") from error
