"""A consumer group that its coordinator converts from the classic to the consumer protocol, and back.

The first member that joins with `group.protocol=consumer` converts the group (`group.consumer.migration.policy`, whose
default is `bidirectional`). When the last member that has it leaves or is replaced, and others remain, the group is
converted back.

Source: `GroupMetadataManager.convertToConsumerGroup`, `.convertToClassicGroup`,
`.validateOnlineDowngradeWithFencedMembers`, `.validateOnlineDowngradeWithReplacedMember`, Kafka 4.3.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assignors.model.configs import AssignmentConfigs
from simulator.errors import IllegalTransitionError
from simulator.group.member import Member
from simulator.group.rebalance_causes import Cause
from simulator.processes.classic_protocol import ClassicProtocol
from simulator.processes.simulation_context import GroupProtocolProcess, Process, SimulationContext
from simulator.processes.streams_protocol import StreamsProtocol
from simulator.world.group_configs import GroupConfigs, GroupProtocol


def group_process(context: SimulationContext) -> GroupProtocolProcess:
    """Return the process of the group of a world."""
    application = context.world.application
    if application.group_configs.protocol is not GroupProtocol.CLASSIC:
        return StreamsProtocol(context)
    return ConvertibleGroup(context) if application.is_consumer_group else ClassicProtocol(context)


class ConvertibleGroup:
    """The process of the protocol that a consumer group has at the moment."""

    def __init__(self, context: SimulationContext) -> None:
        self._context = context
        self._converted = context.world.application.group_configs.converted
        self._current: ClassicProtocol | StreamsProtocol = ClassicProtocol(context)

    @property
    def is_stable(self) -> bool:
        """Return whether no rebalance is in progress or pending."""
        return self._current.is_stable

    @property
    def current_round(self) -> int:
        """Return the number of the round that is being computed, or of the last one."""
        return self._current.current_round

    def resume(self, members: Sequence[Member]) -> None:
        """Continue with members that are in the group already and have their tasks."""
        if isinstance(self._current, ClassicProtocol) and not all(map(self._context.is_classic, members)):
            self._to_consumer(self._current)
        self._current.resume(members)

    def join(self, members: Sequence[Member], cause: Cause) -> None:
        """Let consumers join; the first one with the consumer protocol converts the group.

        A static consumer with the classic protocol that replaces the last one with the other converts it back.
        """
        is_classic = all(map(self._context.is_classic, members))
        match self._current:
            case ClassicProtocol() as current if not is_classic:
                self._to_consumer(current)
            case StreamsProtocol() as current if is_classic and current.is_classic_with(members):
                self._to_classic(current)
        self._current.join(members, cause)

    def stop(self, members: Sequence[Member], cause: Cause, *, leaves_group: bool, closes: bool) -> None:
        """Process the end of consumers, which left the group or not, and which closed or were killed."""
        self._current.stop(members, cause, leaves_group=leaves_group, closes=closes)

    def record_change(self) -> None:
        """Record what the group must know of a change of the execution."""
        self._current.record_change()

    def move_coordinator(self, configs: GroupConfigs) -> None:
        """Let another broker coordinate the group, with the group configs of its release."""
        self._converted = configs.converted
        is_classic = isinstance(self._current, ClassicProtocol)
        self._current.move_coordinator(configs if is_classic else self._configs())

    def set_configs(self, configs: AssignmentConfigs, cause: Cause) -> None:
        """Learn of new assignment configs."""
        self._current.set_configs(configs, cause)

    def note_partitions(self, reason: str, cause: Cause) -> None:
        """Note that a topic that the group reads got more partitions."""
        self._current.note_partitions(reason, cause)

    def request_rebalance(self, reason: str, cause: Cause) -> None:
        """Request a rebalance because of a change that the members notice."""
        self._current.request_rebalance(reason, cause)

    def _configs(self) -> GroupConfigs:
        """Return the configs of the group under the consumer protocol."""
        if self._converted is None:
            raise IllegalTransitionError("brokers older than Kafka 4.0 cannot convert a group to the consumer protocol")
        return self._converted

    def _to_consumer(self, current: ClassicProtocol) -> None:
        group = current.hand_over()
        self._current = StreamsProtocol(self._context, self._configs(), self._convert_back)
        self._current.take_over(group)
        self._context.leader.convert(GroupProtocol.CONSUMER)
        self._let_join(group.joining)

    def _to_classic(self, current: StreamsProtocol) -> ClassicProtocol:
        group = current.hand_over()
        classic = self._current = ClassicProtocol(self._context)
        classic.take_over(group)
        self._context.leader.convert(GroupProtocol.CLASSIC)
        self._let_join(group.joining)
        return classic

    def _let_join(self, joining: Mapping[Member, Cause]) -> None:
        """Let members join that had started before the group was converted."""
        if joining:
            self._context.env.process(self._join_all(joining))

    def _join_all(self, joining: Mapping[Member, Cause]) -> Process:
        yield self._context.env.timeout(0)
        for member, cause in joining.items():
            if self._context.fleet.is_up(member):
                self.join([member], cause)

    def _convert_back(self, member: Member, reason: str) -> None:
        """Convert the group to the classic protocol as its last member of the consumer protocol leaves."""
        assert isinstance(self._current, StreamsProtocol)
        self._to_classic(self._current).remove(member, reason)
