"""Parse data into a document in spite of mistakes: report invalid values, remove them, and parse the rest.

One pass therefore reports the mistakes in single values and those in how the valid values fit together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from scenarios.language.client_configs import (
    MISPLACED_CONFIGS,
    UNRELEASED_CONFIGS,
    AssignorConfigs,
    ConsumerConfigs,
    StreamsConfigs,
)
from scenarios.language.cluster_entries import BROKER_LIST, BROKER_POOL, BrokerConfigs, GroupOverrides
from scenarios.language.consumer_entries import ConsumerClientConfigs, ConsumerClientEntry
from scenarios.language.errors import Mistake, Mistakes, did_you_mean, format_value
from scenarios.language.fields import (
    FLAT_LIST,
    PER_PARTITION,
    PER_THREAD,
    WHOLE_TOPIC,
    InvalidEntry,
    ScenarioSection,
    config_keys,
)
from scenarios.language.paths import ScenarioPath, format_path
from scenarios.language.unmodeled_configs import (
    BROKER_CONFIGS_OUTSIDE_THE_MODEL,
    CONSUMER_CONFIGS_OUTSIDE_THE_MODEL,
    GROUP_CONFIGS_OUTSIDE_THE_MODEL,
    STREAMS_CONFIGS_OUTSIDE_THE_MODEL,
    ConfigsOutsideTheModel,
)

Model = TypeVar("Model", bound=BaseModel)

_MAX_PASSES = 40
_UNION_TAGS: Final = frozenset([WHOLE_TOPIC, PER_PARTITION, FLAT_LIST, PER_THREAD, BROKER_POOL, BROKER_LIST])
"""Union tags that pydantic adds to error locations and that are not part of the data."""
_CONFIG_SECTIONS: tuple[tuple[type[ScenarioSection], str, ConfigsOutsideTheModel], ...] = (
    (StreamsConfigs, "application.configs", STREAMS_CONFIGS_OUTSIDE_THE_MODEL),
    (BrokerConfigs, "cluster.configs", BROKER_CONFIGS_OUTSIDE_THE_MODEL),
    (GroupOverrides, "application.group_configs", GROUP_CONFIGS_OUTSIDE_THE_MODEL),
    (ConsumerConfigs, "the configs of a group in consumers", CONSUMER_CONFIGS_OUTSIDE_THE_MODEL),
)
_CONFIGS = (AssignorConfigs, BrokerConfigs, ConsumerConfigs, ConsumerClientConfigs, GroupOverrides)
_OF_GROUPS = ("assignors",)
"""Keys of consumer groups that decide how members behave, and that clients do not have."""


class SourceMap:
    """The source and line of every path of a scenario, and which paths are invalid.

    `source`: the file name of the scenario.
    """

    def __init__(
        self, source: str, lines: Mapping[ScenarioPath, int], overrides: Mapping[ScenarioPath, str], mistakes: Mistakes
    ) -> None:
        self.source = source
        self._lines = lines
        self._overrides = overrides
        self._mistakes = mistakes
        self._invalid: set[ScenarioPath] = set()
        self._above_invalid: set[ScenarioPath] = set()
        self._warnings: dict[Mistake, None] = {}

    def add_mistake(self, path: ScenarioPath, message: str) -> None:
        """Report a mistake at a path."""
        source, line = self._locate(path)
        self._mistakes.add(Mistake(source, line, format_path(path), message))

    @property
    def has_mistakes(self) -> bool:
        """Whether any mistake was reported: what depends on other entries may then be wrong because of them."""
        return bool(self._mistakes)

    def add_warning(self, path: ScenarioPath, message: str) -> None:
        """Report a valid but probably unintended value at a path."""
        source, line = self._locate(path)
        self._warnings[Mistake(source, line, format_path(path), message)] = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return the warnings with their locations, sorted by line."""
        return tuple(
            map(str, sorted(self._warnings, key=lambda warning: (warning.source != self.source, warning.line or 0)))
        )

    def line(self, path: ScenarioPath) -> int | None:
        """Return the line of a path, or of the closest path above it; None if an override set it."""
        return self._locate(self._resolved(path))[1]

    def place(self, path: ScenarioPath) -> str:
        """Return the source, line and path as messages name them."""
        path = self._resolved(path)
        source, line = self._locate(path)
        return str(Mistake(source, line, format_path(path), ""))

    def mark_invalid(self, path: ScenarioPath) -> None:
        """Mark a path as invalid, so that nothing below it is checked."""
        path = self._resolved(path)
        self._invalid.add(path)
        self._above_invalid.update(path[:length] for length in range(len(path)))

    def is_valid(self, *path: str | int) -> bool:
        """Return whether a path and all paths below and above it are valid."""
        return self._resolved(path) not in self._above_invalid and self.is_present(*path)

    def is_present(self, *path: str | int) -> bool:
        """Return whether a path is valid, though paths below it may be invalid."""
        path = self._resolved(path)
        return not any(path[:length] in self._invalid for length in range(len(path) + 1))

    def _resolved(self, path: ScenarioPath) -> ScenarioPath:
        """Return the path in the file."""
        return path

    def _locate(self, path: ScenarioPath) -> tuple[str, int | None]:
        if path not in self._lines:  # An override has created it on the way to its own path.
            below = (source for set_path, source in self._overrides.items() if set_path[: len(path)] == path)
            if source := next(below, None):
                return source, None
        for length in range(len(path), -1, -1):
            ancestor = path[:length]
            if ancestor in self._overrides:
                return self._overrides[ancestor], None
            if ancestor in self._lines:
                return self.source, self._lines[ancestor]
        return self.source, None


class OtherPaths(SourceMap):
    """The source map of a file for a document of which some parts have other paths in the file.

    Its warnings are those of the file.
    """

    def __init__(self, file: SourceMap, mistakes: Mistakes) -> None:
        super().__init__(file.source, file._lines, file._overrides, mistakes)
        self._file = file
        self._invalid, self._above_invalid = file._invalid, file._above_invalid

    def in_file(self, path: ScenarioPath) -> ScenarioPath:
        """Return the path in the file."""
        raise NotImplementedError

    def _resolved(self, path: ScenarioPath) -> ScenarioPath:
        return self._file._resolved(self.in_file(path))

    def add_mistake(self, path: ScenarioPath, message: str) -> None:
        """Report a mistake at a path."""
        self._file.add_mistake(self.in_file(path), message)

    def add_warning(self, path: ScenarioPath, message: str) -> None:
        """Report a valid but probably unintended value at a path."""
        self._file.add_warning(self.in_file(path), message)


def parse_document(root: Any, source_map: SourceMap, model: type[Model]) -> Model | None:
    """Parse data into a document, and remove invalid values from the data.

    `root`: the data; invalid values are removed in place. `source_map`: collects the mistakes and the invalid paths.
    Returns the document, with an `InvalidEntry` in place of each invalid list entry; None if a required part is
    invalid.
    """
    for _ in range(_MAX_PASSES):
        try:
            return model.model_validate(root)
        except ValidationError as error:
            details = error.errors(include_url=False)
        if not _remove_invalid(root, details, source_map, model):
            return None
    return None


def _remove_invalid(root: Any, details: list[ErrorDetails], source_map: SourceMap, model: type[BaseModel]) -> bool:
    """Report each mistake and remove its value; return whether the rest can be validated again."""
    invalid_paths: dict[ScenarioPath, None] = {}
    for detail in details:
        path = _path(root, detail["loc"])
        if detail["type"] == "missing":
            path = (*path, detail["loc"][-1])
        if source_map.is_valid(*path) or detail["type"] == "extra_forbidden":
            source_map.add_mistake(path, _describe(detail, path, model))
        invalid_paths[path[:-1] if detail["type"] == "missing" or _is_invalid_entry(root, path) else path] = None
    for path in invalid_paths:
        source_map.mark_invalid(path)
    if () in invalid_paths:
        return False
    for path in invalid_paths:
        _remove_path(root, path)
    return True


def _path(root: Any, location: ScenarioPath) -> ScenarioPath:
    """Return the part of a pydantic location that exists in the data, without union tags and keys of short forms."""
    path: ScenarioPath = ()
    value = root
    part: Any
    for part in location:
        if (isinstance(value, dict) and part in value) or (isinstance(value, list) and isinstance(part, int)):
            value = value[part]
        elif part in _UNION_TAGS:
            continue
        else:
            break
        path = (*path, part)
    return path


def _is_invalid_entry(root: Any, path: ScenarioPath) -> bool:
    """Return whether the path holds an invalid entry of a list that does not allow one."""
    value = root
    for part in path:
        value = value[part]
    return isinstance(value, InvalidEntry)


def _remove_path(root: Any, path: ScenarioPath) -> None:
    parent = root
    for part in path[:-1]:
        if isinstance(parent, dict):
            parent = parent.get(str(part))
        elif isinstance(parent, list) and isinstance(part, int):
            parent = parent[part]
    last = path[-1]
    if isinstance(parent, list) and isinstance(last, int):
        parent[last] = InvalidEntry(parent[last])
    elif isinstance(parent, dict):
        parent.pop(str(last), None)


def _describe(detail: ErrorDetails, path: ScenarioPath, model: type[BaseModel]) -> str:
    """Return what is wrong with a value and which values are valid."""
    value, context = detail["input"], detail.get("ctx", {})
    kind = detail["type"]
    if kind == "extra_forbidden":
        return _describe_unknown(path, value, model)
    if kind == "missing":
        return "missing"
    if kind == "value_error":
        return str(context["error"])
    if kind in _EXPECTED_TYPES:
        hint = ": put it in quotes" if kind == "string_type" and isinstance(value, int | float) else ""
        return f"expected {_EXPECTED_TYPES[kind]}, found {_kind(value)}{hint}"
    if kind in _BOUND_MESSAGES:
        return _BOUND_MESSAGES[kind](value, context)
    if kind == "string_pattern_mismatch":
        return f"{format_value(value)} does not match {context['pattern']}"
    if kind == "literal_error":
        return f"{format_value(value)} is not one of: {context['expected']}"
    if kind.startswith("union_tag"):
        return f"expected a mapping or a list, found {_kind(value)}"
    return f"{format_value(value)}: {detail['msg']}"


_EXPECTED_TYPES = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "string_type": "text",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}

_BOUND_MESSAGES: Mapping[str, Callable[[Any, Mapping[str, Any]], str]] = {
    "greater_than_equal": lambda value, context: (
        f"{format_value(value)} is too small (at least {_bound(context['ge'])})"
    ),
    "less_than_equal": lambda value, context: f"{format_value(value)} is too large (at most {_bound(context['le'])})",
    "too_short": lambda value, context: f"has too few entries: {len(value)} (at least {context['min_length']})",
    "too_long": lambda value, context: f"has too many entries: {len(value)} (at most {context['max_length']})",
    "string_too_long": lambda value, context: (
        f"{format_value(value)} is too long (at most {context['max_length']} characters)"
    ),
    "string_too_short": lambda value, context: f"{format_value(value)} is too short",
    "int_parsing_size": lambda value, context: f"{format_value(value)} is too large",
}


def _bound(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _kind(value: Any) -> str:
    match value:
        case bool():
            return format_value(value)
        case int() | float():
            return f"the number {format_value(value)}"
        case str():
            return f"the text {format_value(value)}"
    return format_value(value)


def _describe_unknown(path: ScenarioPath, value: Any, document: type[BaseModel]) -> str:
    key = str(path[-1])
    models = list(_models_at(path[:-1], document))
    known = sorted({_key(name, field) for model in models for name, field in model.model_fields.items()})
    if any(issubclass(model, _CONFIGS) for model in models):
        for model, _, outside in _CONFIG_SECTIONS:
            known += outside.keys_like(key) if model in models else ()
        proper_place = _proper_place(key, models)
        return f"unknown or misplaced config ({proper_place or did_you_mean(key, known)})"
    if ConsumerClientEntry in models and (key in _OF_GROUPS or key in config_keys(ConsumerConfigs)):
        return (
            "unknown key (it belongs to the group and applies to all members; only partition.assignment.strategy may "
            "differ, in configs of the client)"
        )
    while isinstance(value, dict) and len(value) == 1:  # As `--set session.timeout.ms=6s` sets it.
        [(part, value)] = value.items()
        key = f"{key}.{part}"
    return f"unknown key ({_proper_place(key, models) or did_you_mean(str(path[-1]), known)})"


def _proper_place(key: str, models: list[type[BaseModel]]) -> str | None:
    """Return where a misplaced config key belongs, or None if unknown."""
    if key in UNRELEASED_CONFIGS:
        return UNRELEASED_CONFIGS[key]
    key = key.removeprefix("main.").removeprefix("consumer.")
    for prefix, advice in MISPLACED_CONFIGS.items():
        if key == prefix or (prefix.endswith(".") and key.startswith(prefix)):
            return advice
    if ConsumerClientConfigs in models and key in config_keys(ConsumerConfigs):
        return "it belongs in configs of the group"
    for model, section, outside in _CONFIG_SECTIONS:
        if model not in models and (key in config_keys(model) or key in outside.unmodeled):
            return f"it belongs in {section}"
    return None


def _models_at(path: ScenarioPath, document: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """Yield the models that are allowed at a path."""
    models = [document]
    for part in path:
        if isinstance(part, str):
            fields = [
                field for model in models for name, field in model.model_fields.items() if _key(name, field) == part
            ]
            models = [model for field in fields for model in _models_in(field.annotation)]
    yield from models


def _key(name: str, field: FieldInfo) -> str:
    return field.alias or name


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)
