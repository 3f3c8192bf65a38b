"""The registry of replica assignors.

Built-in strategies are imported only when an instance is created. Other strategies come from the entry-point group
`assignor_sim.replica_assignors`, or as `package.module:Class`; they are imported only if requested by name.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any

from assignors.errors import UnknownAssignorError
from assignors.process_exits import ProcessExit, no_process_exit
from assignors.replicas.plan import Capabilities, ReplicaAssignor

ENTRY_POINT_GROUP = "assignor_sim.replica_assignors"


@dataclass(frozen=True, slots=True)
class StrategyInfo:
    """A registered strategy.

    Attributes:
        path: its class, as `package.module:Class`.
        tool: the tool that it reimplements; empty for this project's own strategies.
        parameters: default parameters of this name, if it is a variant of the class.
    """

    name: str
    path: str
    tool: str
    summary: str
    parameters: tuple[tuple[str, Any], ...] = ()

    def find_class(self) -> type[ReplicaAssignor]:
        """Import the class of the strategy.

        Raises UnknownAssignorError if the class cannot be imported, or is not a replica assignor.
        """
        module, _, attribute = self.path.partition(":")
        try:
            with no_process_exit():
                strategy_class = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError, ProcessExit) as error:
            raise UnknownAssignorError(f"'{self.name}' cannot be imported: {error}") from error
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise UnknownAssignorError(f"'{self.name}' cannot be imported: {reason}") from error
        if not isinstance(getattr(strategy_class, "capabilities", None), Capabilities) or not callable(
            getattr(strategy_class, "plan", None)
        ):
            raise UnknownAssignorError(
                f"'{self.name}' is not a replica assignor (requires capabilities and plan(state, request))"
            )
        checked_class: type[ReplicaAssignor] = strategy_class
        return checked_class


def _info(name: str, class_name: str, tool: str, summary: str, module: str = "", **parameters: Any) -> StrategyInfo:
    path = f"{__package__}.{module or name}:{class_name}"
    return StrategyInfo(name, path, tool, summary, tuple(parameters.items()))


_BUILT_IN = (
    _info(
        "kafka_generate",
        "KafkaGenerate",
        "kafka-reassign-partitions.sh --generate (to 4.1)",
        "places every topic anew, regardless of its current replicas",
    ),
    _info(
        "kafka_generate_striped",
        "KafkaGenerate",
        "kafka-reassign-partitions.sh --generate (StripedReplicaPlacer)",
        "places every topic anew, as KRaft controllers place new topics",
        module="kafka_generate",
        placer="striped",
    ),
    _info("greedy_per_topic", "GreedyPerTopic", "dimas/kafka-reassign-tool", "sets replication factors with few moves"),
    _info(
        "kafka_assigner",
        "KafkaAssigner",
        "SiftScience/kafka-assigner",
        "keeps allowed replicas and fills gaps greedily, without backtracking",
    ),
    _info(
        "topicmappr_count",
        "TopicmapprCount",
        "DataDog/kafka-kit topicmappr rebuild",
        "places missing replicas by replica count",
        module="topicmappr",
    ),
    _info(
        "topicmappr_storage",
        "TopicmapprStorage",
        "DataDog/kafka-kit topicmappr rebuild --placement storage",
        "places largest partitions first, on the broker with most free storage",
        module="topicmappr",
    ),
    _info(
        "topicmappr_rebalance",
        "TopicmapprStorage",
        "DataDog/kafka-kit topicmappr rebalance",
        "moves large partitions off brokers with little free storage",
        module="topicmappr",
        mode="rebalance",
    ),
    _info(
        "movement_mip",
        "MovementMip",
        "everpeace/kafka-reassign-optimizer",
        "fewest weighted moves to balanced loads, by a mixed integer program",
    ),
    _info(
        "preferred_leader_ilp",
        "PreferredLeaderIlp",
        "killerwhile/kafka-assignment-optimizer",
        "keeps the highest weight of leaders and followers within limits per broker and rack",
    ),
    _info(
        "permutation_matching",
        "PermutationMatching",
        "Appier's permutations",
        "uses every permutation of brokers equally often, matched to the current replicas",
    ),
    _info(
        "leader_max_flow",
        "LeaderMaxFlow",
        "Pinterest, part 2",
        "balances leaders per topic by maximum flow, then cost, then pruning",
    ),
    _info(
        "leader_chain_swap",
        "LeaderChainSwap",
        "Pinterest, part 1",
        "shifts leaders along chains from the broker with most to the one with fewest",
    ),
    _info(
        "three_phase_flow",
        "ThreePhaseFlow",
        "Appier's flows",
        "balances replicas, then leaders, then first followers",
    ),
    _info(
        "capacity_packing",
        "CapacityPacking",
        "bin packing of disk and network",
        "packs replicas into the fewest brokers within disk and network capacities",
    ),
    _info(
        "goal_chain",
        "GoalChain",
        "LinkedIn Cruise Control, its goals for racks, replicas, leaders and disk",
        "goals in order of priority; no goal undoes an earlier one",
    ),
    _info(
        "exact_flow",
        "ExactFlow",
        "",
        "fewest moves to even replicas and leaders under rack constraints, with a proven bound",
    ),
)


def built_in() -> tuple[StrategyInfo, ...]:
    """Return the built-in strategies, in listing order."""
    return _BUILT_IN


def find_strategy(name: str) -> StrategyInfo:
    """Return a built-in strategy by name, without importing it.

    Raises UnknownAssignorError if there is no such strategy.
    """
    for info in _BUILT_IN:
        if name == info.name:
            return info
    names = [info.name for info in _BUILT_IN]
    close = difflib.get_close_matches(name, names, n=1)
    known = f"did you mean '{close[0]}'?" if close else f"built in: {', '.join(names)}"
    hint = f"; to run your own code, pass --strategy {name} on the command line" if ":" in name else ""
    raise UnknownAssignorError(f"'{name}' is not a replica assignor ({known}){hint}")


def load(name: str) -> StrategyInfo:
    """Return a strategy by built-in name, installed entry point or `package.module:Class`; may import code.

    Raises UnknownAssignorError if there is no such strategy.
    """
    if ":" in name:
        return StrategyInfo(name, name, "", "")
    entries = entry_points(group=ENTRY_POINT_GROUP, name=name)
    if entries and all(name != info.name for info in _BUILT_IN):
        return StrategyInfo(name, next(iter(entries)).value, "", "")
    return find_strategy(name)


def make(info: StrategyInfo, parameters: Mapping[str, Any] | None = None) -> ReplicaAssignor:
    """Create a strategy with its parameters.

    Raises UnknownAssignorError if the strategy has no such parameter, rejects its value, or cannot be built.
    """
    try:
        with no_process_exit():
            return info.find_class()(**{**dict(info.parameters), **(parameters or {})})
    except UnknownAssignorError:
        raise
    except (TypeError, ValueError, ProcessExit) as error:
        raise UnknownAssignorError(f"strategy '{info.name}' cannot be built: {error}") from error
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise UnknownAssignorError(f"strategy '{info.name}' cannot be built: {reason}") from error
