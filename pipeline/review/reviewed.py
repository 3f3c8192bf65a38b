"""An assignor under review, with its configs and limits."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pydantic import ValidationError

from assignors import registry
from assignors.containment.limits import DEFAULT_LIMITS, CallLimits
from assignors.model.assignment import TaskAssignor
from assignors.model.state import ApplicationState
from assignors.registry import AssignorLike, ResolvedAssignor
from scenarios.language.client_configs import AssignorConfigs, AssignorEntryConfigs
from scenarios.load import AssignorSpec, Scenario
from scenarios.suite.documents import Document

PROTOCOL: Final = "group.protocol"
_LABEL: Final = "reviewed"


@dataclass(frozen=True, slots=True)
class Reviewed:
    """An assignor under review, in a form that other processes can build.

    Attributes:
        assignor: its name, or what `registry.resolve` found.
        configs: Streams configs with which it runs, by Kafka's keys.
    """

    assignor: str | ResolvedAssignor
    configs: Mapping[str, Any] = field(default_factory=dict)
    limits: CallLimits = DEFAULT_LIMITS

    @classmethod
    def of(cls, assignor: AssignorLike, configs: Mapping[str, Any], limits: CallLimits) -> Reviewed:
        """Return an assignor under review; a broker's assignor runs in a streams group.

        Raises UnknownAssignorError if it is unknown, or is not an assignor; and ValueError if it cannot be sent to
        other processes, or Kafka has no such config.
        """
        resolved = registry.resolve(assignor)
        if not isinstance(assignor, str):
            try:
                pickle.dumps(resolved)
            except (pickle.PicklingError, AttributeError, TypeError) as error:
                raise ValueError(
                    f"assignor '{resolved.label}' cannot be sent to other processes ({error}): define it in a module "
                    "that they can import, not in a notebook cell or inside a function"
                ) from error
        own = {PROTOCOL: "streams"} if resolved.info.in_streams_groups else {}
        reviewed = cls(assignor if isinstance(assignor, str) else resolved, {**own, **configs}, limits)
        try:
            AssignorEntryConfigs.model_validate(dict(reviewed.configs))
        except ValidationError as error:
            first = error.errors()[0]
            raise ValueError(f"config {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
        return reviewed

    @property
    def label(self) -> str:
        """Its name with its configs."""
        settings = ", ".join(f"{key}={value}" for key, value in self.configs.items() if key != PROTOCOL)
        return f"{self.name} ({settings})" if settings else self.name

    @property
    def name(self) -> str:
        """Its name."""
        return self.assignor if isinstance(self.assignor, str) else self.assignor.label

    def entry(self) -> Document:
        """Return the entry `assignors[]` of a scenario that has its configs; the assignor itself is set afterwards."""
        return {"assignor": "high_availability", "label": _LABEL, "configs": dict(self.configs)}

    def spec(self, scenario: Scenario) -> AssignorSpec:
        """Return the assignor with the configs of the scenario's only entry."""
        entry = scenario.assignors[0]
        found = scenario.assignor_spec(self.assignor)
        return replace(
            found,
            label=self.label,
            configs=entry.configs,
            changed=entry.changed,
            protocol=entry.protocol,
            limits=self.limits,
        )

    def make(self) -> TaskAssignor:
        """Build the assignor without a scenario."""
        resolved = registry.resolve(self.assignor)
        return registry.make_contained(resolved.info, resolved.parameters, self.limits)

    def configured(self, state: ApplicationState) -> ApplicationState:
        """Return a state with the configs of the assignor."""
        changes: dict[str, Any] = AssignorConfigs.model_validate(
            {key: value for key, value in self.configs.items() if key != PROTOCOL}
        ).changes()
        return replace(state, assignment_configs=replace(state.assignment_configs, **changes))
