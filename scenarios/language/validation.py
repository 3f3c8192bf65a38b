"""Data to a document, in spite of mistakes: what cannot be understood is noted, cut out, and the rest understood.

So one look finds the mistakes in single values and, afterwards, those in how the remaining values fit together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from scenarios.language.broker_configs import BrokerConfigs
from scenarios.language.configs import MISPLACED_CONFIGS, UNRELEASED_CONFIGS, AssignorConfigs, StreamsConfigs
from scenarios.language.errors import Mistake, Mistakes, did_you_mean, format_value
from scenarios.language.fields import InvalidEntry
from scenarios.language.paths import ScenarioPath, format_path
from scenarios.language.schema import UNION_TAGS

Model = TypeVar("Model", bound=BaseModel)

_MAX_PASSES = 40


class SourceMap:
    """Where each part of a scenario stands, and which parts could not be understood.

    Args:
        source: the name of the scenario's file.
        lines: the line of each place in it.
        overrides: what was set from outside, by place.
        mistakes: takes what is wrong.
    """

    def __init__(
        self, source: str, lines: Mapping[ScenarioPath, int], overrides: Mapping[ScenarioPath, str], mistakes: Mistakes
    ) -> None:
        self.source = source
        self._lines = lines
        self._overrides = overrides
        self._mistakes = mistakes
        self._cut: set[ScenarioPath] = set()
        self._above_cut: set[ScenarioPath] = set()
        self._warnings: dict[Mistake, None] = {}

    def add_mistake(self, path: ScenarioPath, message: str) -> None:
        """Note a mistake at a place."""
        source, line = self._locate(path)
        self._mistakes.add(Mistake(source, line, format_path(path), message))

    def add_warning(self, path: ScenarioPath, message: str) -> None:
        """Note something at a place that can be run, but is hardly meant."""
        source, line = self._locate(path)
        self._warnings[Mistake(source, line, format_path(path), message)] = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was warned about, each with its place, in the order of the lines."""
        return tuple(map(str, sorted(self._warnings, key=lambda each: (each.source != self.source, each.line or 0))))

    def mark_invalid(self, path: ScenarioPath) -> None:
        """Note that a place could not be understood, so that nothing is known about it."""
        self._cut.add(path)
        self._above_cut.update(path[:length] for length in range(len(path)))

    def is_valid(self, *path: str | int) -> bool:
        """Whether a place, and all below and above it, was understood."""
        return path not in self._above_cut and self.is_present(*path)

    def is_present(self, *path: str | int) -> bool:
        """Whether a place was understood, though perhaps not all below it."""
        return not any(path[:length] in self._cut for length in range(len(path) + 1))

    def _locate(self, path: ScenarioPath) -> tuple[str, int | None]:
        for length in range(len(path), -1, -1):
            place = path[:length]
            if place in self._overrides:
                return self._overrides[place], None
            if place in self._lines:
                return self.source, self._lines[place]
        return self.source, None


def parse_document(root: Any, source_map: SourceMap, model: type[Model]) -> Model | None:
    """Build a document of this model from data, which is cut down to what can be understood.

    Returns:
        The document, with a hole in a list where an entry was cut out; None if too little is left.
    """
    for _ in range(_MAX_PASSES):
        try:
            return model.model_validate(root)
        except ValidationError as error:
            details = error.errors(include_url=False)
        if not _cut_out(root, details, source_map, model):
            return None
    return None


def _cut_out(root: Any, details: list[ErrorDetails], source_map: SourceMap, model: type[BaseModel]) -> bool:
    """Note each mistake and remove what it is about; whether enough is left to try again."""
    doomed: dict[ScenarioPath, None] = {}
    for detail in details:
        path = _path(root, detail["loc"])
        if detail["type"] == "missing":
            path = (*path, detail["loc"][-1])
        if source_map.is_valid(*path) or detail["type"] == "extra_forbidden":
            source_map.add_mistake(path, _describe(detail, path, model))
        doomed[path[:-1] if detail["type"] == "missing" or _is_hole(root, path) else path] = None
    for path in doomed:
        source_map.mark_invalid(path)
    if () in doomed:
        return False
    for path in doomed:
        _remove(root, path)
    return True


def _path(root: Any, location: ScenarioPath) -> ScenarioPath:
    """As much of a location as there is in the data: pydantic's tags are not, nor is what a short form leaves out."""
    path: ScenarioPath = ()
    value = root
    part: Any
    for part in location:
        if (isinstance(value, dict) and part in value) or (isinstance(value, list) and isinstance(part, int)):
            value = value[part]
        elif part in UNION_TAGS:
            continue
        else:
            break
        path = (*path, part)
    return path


def _is_hole(root: Any, path: ScenarioPath) -> bool:
    """Whether an entry has been cut out of a list that cannot do without it."""
    value = root
    for part in path:
        value = value[part]
    return isinstance(value, InvalidEntry)


def _remove(root: Any, path: ScenarioPath) -> None:
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
    """Say what is wrong with a value, and what would be right."""
    value, context = detail["input"], detail.get("ctx", {})
    kind = detail["type"]
    if kind == "extra_forbidden":
        return _describe_unknown(path, model)
    if kind == "missing":
        return "missing"
    if kind == "value_error":
        return str(context["error"])
    if kind in _WANTED:
        hint = ": put it in quotes" if kind == "string_type" and isinstance(value, int | float) else ""
        return f"expected {_WANTED[kind]}, found {_kind(value)}{hint}"
    if kind in _BOUNDS:
        return _BOUNDS[kind](value, context)
    if kind == "string_pattern_mismatch":
        return f"{format_value(value)} does not match {context['pattern']}"
    if kind == "literal_error":
        return f"{format_value(value)} is not one of: {context['expected']}"
    if kind.startswith("union_tag"):
        return f"expected a mapping or a list, found {_kind(value)}"
    return f"{format_value(value)}: {detail['msg']}"


_WANTED = {
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

_BOUNDS: Mapping[str, Callable[[Any, Mapping[str, Any]], str]] = {
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


def _describe_unknown(path: ScenarioPath, document: type[BaseModel]) -> str:
    key = str(path[-1])
    models = list(_models_at(path[:-1], document))
    known = sorted({_key(name, field) for model in models for name, field in model.model_fields.items()})
    if any(issubclass(model, AssignorConfigs | BrokerConfigs) for model in models):
        where = _other_home(key, models)
        return f"not a config that is known here ({where or did_you_mean(key, known)})"
    return f"unknown key ({did_you_mean(key, known)})"


def _other_home(key: str, models: list[type[BaseModel]]) -> str | None:
    """Where a config key belongs that stands in the wrong place."""
    if key in UNRELEASED_CONFIGS:
        return UNRELEASED_CONFIGS[key]
    for start, advice in MISPLACED_CONFIGS.items():
        if key == start or (start.endswith(".") and key.startswith(start)):
            return advice
    for model, home in ((StreamsConfigs, "application.configs"), (BrokerConfigs, "cluster.configs")):
        if model not in models and any(field.alias == key for field in model.model_fields.values()):
            return f"it belongs in {home}"
    return None


def _models_at(path: ScenarioPath, document: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """The models that may stand at a path."""
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
