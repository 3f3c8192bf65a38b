"""The assignor of an observed consumer group: the one that Kafka reports, and the configs that name assignors.

Under the classic protocol, Kafka reports the assignor that the group coordinator picked, and not what members list.

Source: `org.apache.kafka.coordinator.group.classic.ClassicGroup.selectProtocol` (of the assignors that all members
list, the one that most members prefer).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from assignors.consumers.selection import BROKER_RANGE, COOPERATIVE_STICKY, UNIFORM
from scenarios.kafka.observation.yaml_text import YamlValue
from scenarios.language.consumer_configs import DEFAULT_STRATEGY, strategy_name

_CLASSIC_ASSIGNORS: Final = ("range", "roundrobin", "sticky", COOPERATIVE_STICKY)
_COORDINATOR_ASSIGNORS: Final[Mapping[str, str]] = {"uniform": UNIFORM, "range": BROKER_RANGE}
_PROTOCOL: Final = "group.protocol"
_REMOTE: Final = "group.remote.assignor"
_STRATEGY: Final = "partition.assignment.strategy"


def migration_warnings(classic: int, members: int) -> Iterator[str]:
    """Yield a warning if some members of a group of the consumer protocol still use the classic one."""
    if classic:
        yield (
            f"The group is being migrated: {classic} of {members} members still use the classic protocol, but are "
            "simulated with the consumer protocol."
        )


@dataclass(frozen=True, slots=True)
class ReportedAssignor:
    """The assignor of a group.

    Attributes:
        protocol: `classic` or `consumer`.
        reported: Name of the assignor that Kafka reports.
        configs: Stated configs of the consumers, by Kafka's keys.
    """

    protocol: str
    reported: str
    configs: Mapping[str, str]

    @property
    def is_kafkas(self) -> bool:
        """Whether it is one of Kafka's, and not a custom one."""
        return self.reported in (_COORDINATOR_ASSIGNORS if self.protocol == "consumer" else _CLASSIC_ASSIGNORS)

    @property
    def name(self) -> str:
        """Name of the assignor in a scenario; Kafka's default in place of one that is not Kafka's."""
        if self.protocol == "consumer":
            return _COORDINATOR_ASSIGNORS.get(self.reported, UNIFORM)
        return self.reported if self.reported in _CLASSIC_ASSIGNORS else DEFAULT_STRATEGY[0]

    @property
    def follows_from_configs(self) -> bool:
        """Whether only the configs choose it: `cooperative-sticky` rebalances eagerly beside another assignor."""
        return (
            self.protocol == "classic" and self.name == COOPERATIVE_STICKY == self._listed[0] and len(self._listed) > 1
        )

    def scenario_configs(self) -> Mapping[str, YamlValue]:
        """Return the configs of the group that choose its protocol and its assignor."""
        if self.protocol == "consumer":
            return {_PROTOCOL: "consumer", _REMOTE: "range" if self.name == BROKER_RANGE else "uniform"}
        chosen = {_PROTOCOL: "classic"} if _PROTOCOL in self.configs else {}
        return {**chosen, _STRATEGY: ",".join(self._listed)}

    def warnings(self) -> Iterator[str]:
        """Yield what is not simulated."""
        if not self.is_kafkas:
            yield (
                f"The assignor {self.reported} is not Kafka's: the group is simulated with {self.name}, whose "
                "assignments differ."
            )
        stated_protocol = self.configs.get(_PROTOCOL, self.protocol).strip().lower()
        if stated_protocol != self.protocol:
            yield f"{_PROTOCOL}={stated_protocol} is ignored: the group has the {self.protocol} protocol."
        if self.protocol == "consumer" or not self.is_kafkas:
            return
        if unknown := [text for text in self._stated if text not in self._of_kafka]:
            yield f"{_STRATEGY} lists assignors that are not Kafka's, which are omitted: {', '.join(unknown)}."
        if self._stated and self.name not in self._of_kafka.values():
            yield (
                f"{_STRATEGY} is ignored: the group has the assignor {self.name}, which all members must list, but "
                f"{_STRATEGY} does not."
            )

    def assumptions(self) -> Iterator[str]:
        """Yield what is assumed about the lists of the members."""
        if self.protocol == "consumer":
            return
        if self.name != self._listed[0]:
            yield (
                f"The group has the assignor {self.name}, although {_STRATEGY} lists {self._listed[0]} first: members "
                "list different assignors, and Kafka picked one that all of them list. The group is simulated with "
                "it throughout. If joins and departures can change it, state the list of each client in its configs, "
                "and remove assignors."
            )
        if self.name == COOPERATIVE_STICKY and not self._stated:
            yield (
                f"All members are assumed to list only {COOPERATIVE_STICKY} in {_STRATEGY}; with another assignor "
                "beside it, the group would rebalance eagerly."
            )

    @property
    def _stated(self) -> list[str]:
        """The stated assignors of the client."""
        return [text.strip() for text in self.configs.get(_STRATEGY, "").split(",") if text.strip()]

    @property
    def _of_kafka(self) -> Mapping[str, str]:
        """The name of each stated assignor that is Kafka's."""
        names = {}
        for text in self._stated:
            try:
                names[text] = strategy_name(text)
            except ValueError:
                continue
        return names

    @property
    def _listed(self) -> list[str]:
        """The assignors that members list in the scenario, which include that of the group."""
        names = list(self._of_kafka.values())
        return names if self.name in names else [self.name]
