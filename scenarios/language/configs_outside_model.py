"""What is known about configs that a scenario may set, but that the simulator does not read.

The configs themselves are in `scenarios.language.unmodeled_configs`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

_MILLISECONDS: Final = re.compile(r"(\d+)(ms|s|m|h|d)")
_PROVIDERS: Final = "config.providers."
"""The prefix of the parameters of config providers, whose names are free."""

_MS_OF: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


@dataclass(frozen=True, slots=True)
class UnmodeledConfig:
    """A config whose effect is not simulated.

    Attributes:
        effect: What differs from Kafka, or what to set instead.
        default: Kafka's default, with which there is no warning; None if every value has the effect.
    """

    effect: str
    default: str | None = None

    def applies(self, value: object) -> bool:
        """Return whether a value differs from Kafka's default."""
        return self.default is None or _normalized(value) != _normalized(self.default)


@dataclass(frozen=True, slots=True)
class ConfigsOutsideTheModel:
    """The configs of applications, or of brokers, that the simulator does not read.

    Attributes:
        unmodeled: Configs with an effect that is not simulated, by key.
        without_effect: Reasons why configs have no effect on what is simulated, by key; `*` ends a prefix.
        unprefixed: Keys of the scenario that Kafka also accepts with a prefix, which the simulator does not read.
        prefixes: Those prefixes.
        released: Names of released configs by prefix, among them those without one; any other key is unknown. Empty if
            they are not listed.
    """

    unmodeled: Mapping[str, UnmodeledConfig]
    without_effect: Mapping[str, str]
    unprefixed: frozenset[str] = field(default_factory=frozenset)
    prefixes: tuple[str, ...] = ()
    released: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def find(self, key: str) -> UnmodeledConfig | None:
        """Return what is not simulated of a config; None for other configs."""
        if key in self.unmodeled:
            return self.unmodeled[key]
        if not self.is_released(key):
            return None
        for prefix in self.prefixes:
            name = key.removeprefix(prefix)
            if name != key and name in self.unprefixed:
                return UnmodeledConfig(f"the simulator reads {name} without a prefix; set that")
            if name != key and name in self.unmodeled:
                return self.unmodeled[name]
        return None

    def has_no_effect(self, key: str) -> bool:
        """Return whether a config has no effect on what is simulated."""
        if self.find(key) is not None or not self.is_released(key):
            return False
        return any(_matches(key, pattern) for pattern in self.without_effect) or any(
            key.startswith(prefix) and self.has_no_effect(key.removeprefix(prefix)) for prefix in self.prefixes
        )

    def is_released(self, key: str) -> bool:
        """Return whether a released class of Kafka has a config, after its prefix; true if they are not listed."""
        if not self.released or key.startswith(_PROVIDERS):
            return True
        prefix = max((prefix for prefix in self.released if key.startswith(prefix)), key=len)
        return key.removeprefix(prefix) in self.released[prefix]

    def contains(self, key: str) -> bool:
        """Return whether the simulator knows a config without reading it."""
        return self.find(key) is not None or self.has_no_effect(key)

    def keys_like(self, key: str) -> list[str]:
        """Return the keys without wildcards, with the prefix of a key if it has one, for hints."""
        if self.released:
            prefix = max((prefix for prefix in self.released if key.startswith(prefix)), key=len)
            return sorted(name for name in (f"{prefix}{name}" for name in self.released[prefix]) if self.contains(name))
        prefix = next((prefix for prefix in self.prefixes if key.startswith(prefix)), "")
        keys = [*self.unmodeled, *(pattern for pattern in self.without_effect if not pattern.endswith("*"))]
        return [f"{prefix}{name}" for name in keys]

    def without(self, section: Any, modeled: frozenset[str]) -> Any:
        """Return a section without these configs, except for those that the simulator reads."""
        if not isinstance(section, dict):
            return section
        return {key: value for key, value in section.items() if key in modeled or not self.contains(str(key))}

    def add_to_schema(self, schema: dict[str, Any]) -> None:
        """Add patterns of the keys to the JSON schema of the section."""
        if self.released:
            schema["patternProperties"] = {
                pattern: {"description": "Accepted, but not simulated."} for pattern in self._released_patterns()
            }
            return
        names = sorted({*self.unmodeled, *self.without_effect})
        alternatives = "|".join(re.escape(name).replace(r"\*", ".*") for name in names)
        prefixed = "|".join(map(re.escape, self.prefixes))
        own = "|".join(map(re.escape, sorted(self.unprefixed)))
        patterns = [f"({prefixed})?({alternatives})", f"({prefixed})({own})"] if self.prefixes else [alternatives]
        schema["patternProperties"] = {
            f"^({pattern})$": {"description": "Accepted, but not simulated."} for pattern in patterns
        }

    def _released_patterns(self) -> Iterator[str]:
        """Yield a pattern of the accepted names for each set of prefixes that share them."""
        prefixes_of: dict[tuple[str, ...], list[str]] = {}
        for prefix, names in self.released.items():
            accepted = tuple(sorted(name for name in names if self.contains(f"{prefix}{name}")))
            prefixes_of.setdefault(accepted, []).append(prefix)
        for accepted, prefixes in prefixes_of.items():
            yield f"^({'|'.join(map(re.escape, prefixes))})({'|'.join(map(re.escape, accepted))})$"
        unreleased = sorted(name for name in self.unmodeled if not self.is_released(name))
        yield f"^{re.escape(_PROVIDERS)}.*$"
        if unreleased:
            yield f"^({'|'.join(map(re.escape, unreleased))})$"


def _matches(key: str, pattern: str) -> bool:
    return key.startswith(pattern[:-1]) if pattern.endswith("*") else key == pattern


def _normalized(value: object) -> str:
    """Return a value as Kafka's text, without case; durations of scenarios in ms."""
    text = str(value).strip().lower()
    if re.fullmatch(rf"({_MILLISECONDS.pattern})+", text):
        return str(sum(int(number) * _MS_OF[unit] for number, unit in _MILLISECONDS.findall(text)))
    return text
