"""The objects of manifests, with typed access to their fields and the line of each of them.

Manifests are read as data: nothing is executed, and fields that have no effect on a simulation are not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from scenarios.language.errors import format_value
from scenarios.language.fields import INT_MAX
from scenarios.language.paths import ScenarioPath, format_path
from scenarios.language.yaml_reader import YamlReadError, read_yaml_documents

_TEMPLATE: Final = re.compile(
    r"^[^#\n]*\{\{-?\s*(\.|include\b|template\b|if\b|else\b|range\b|with\b|end\b|toYaml\b)", re.M
)
_RENDER: Final = "render it first with `helm template`, and name its output"
_QUANTITY: Final = re.compile(r"([+-]?[0-9.]{1,40})([eE][+-]?[0-9]{1,2}|[KMGTPE]i|[numkMGTPE])?")
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_PERCENTAGE: Final = re.compile(r"([0-9]{1,4})%")


class ManifestError(ValueError):
    """A mistake in a manifest.

    Attributes:
        source: the file.
        line: the line, from 1; None if no single line is wrong.
    """

    def __init__(self, source: str, line: int | None, message: str) -> None:
        super().__init__(message)
        self.source = source
        self.line = line


@dataclass(frozen=True, slots=True)
class ManifestNode:
    """A mapping of a manifest; one that is absent has no entries.

    Attributes:
        source: the file.
        path: its path in the document.
        lines: the line of each path of the document.
    """

    source: str
    value: Mapping[str, Any]
    path: ScenarioPath = ()
    lines: Mapping[ScenarioPath, int] = field(default_factory=dict)

    def __contains__(self, key: str) -> bool:
        return self.value.get(key) is not None

    def line(self, *keys: str | int) -> int | None:
        """Return the line of a field, or of the closest field above it."""
        path = (*self.path, *keys)
        return next((self.lines[path[:n]] for n in range(len(path), -1, -1) if path[:n] in self.lines), None)

    def place(self, *keys: str | int) -> str:
        """Return the file, the line and the path of a field, as notes name them."""
        line = self.line(*keys)
        return f"{self.source}{'' if line is None else f':{line}'}: {format_path((*self.path, *keys))}"

    def error(self, message: str, *keys: str | int) -> ManifestError:
        """Return an error at a field."""
        path = format_path((*self.path, *keys))
        return ManifestError(self.source, self.line(*keys), f"{path}: {message}" if path else message)

    def node(self, *keys: str) -> ManifestNode:
        """Return a mapping below this one; empty if it is absent; raise ManifestError if it is not a mapping."""
        found = self
        for key in keys:
            value = found.value.get(key)
            if not isinstance(value, Mapping | None):
                raise found.error(f"expected a mapping, found {format_value(value)}", key)
            found = ManifestNode(self.source, value or {}, (*found.path, key), self.lines)
        return found

    def nodes(self, key: str) -> Iterator[ManifestNode]:
        """Yield the mappings of a list; none if it is absent; raise ManifestError if it is not a list of mappings."""
        values = self.value.get(key)
        if not isinstance(values, list | None):
            raise self.error(f"expected a list, found {format_value(values)}", key)
        for number, value in enumerate(values or []):
            if not isinstance(value, Mapping):
                raise self.error(f"expected a mapping, found {format_value(value)}", key, number)
            yield ManifestNode(self.source, value, (*self.path, key, number), self.lines)

    def text(self, key: str, default: str = "") -> str:
        """Return a text; raise ManifestError if it is not a text."""
        value = self.value.get(key)
        if not isinstance(value, str | None):
            raise self.error(f"expected text, found {format_value(value)}", key)
        return default if value is None else value

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts; none if it is absent; raise ManifestError if it is not a list of texts."""
        values = self.value.get(key)
        if not isinstance(values, list | None) or not all(isinstance(value, str) for value in values or []):
            raise self.error("expected a list of texts", key)
        return tuple(values or ())

    def integer(self, key: str, default: int | None = None, *, minimum: int = 0, maximum: int = INT_MAX) -> int:
        """Return a whole number; texts of digits count, as in metadata of KEDA; raise ManifestError if it is none."""
        value = self.value.get(key)
        if value is None and default is not None:
            return default
        if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,18}", value):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.error(f"expected a whole number, found {format_value(value)}", key)
        if not minimum <= value <= maximum:
            raise self.error(f"{format_value(value)} is not between {minimum} and {maximum:,}", key)
        return value

    def seconds_ms(self, key: str, default: int | None = None, *, minimum: int = 0) -> int:
        """Return a number of seconds in milliseconds."""
        return 1_000 * self.integer(key, default, minimum=minimum)

    def boolean(self, key: str, default: bool = False) -> bool:
        """Return a boolean; its texts count, as in metadata of KEDA; raise ManifestError if it is none."""
        value = self.value.get(key)
        if isinstance(value, str) and value.lower() in ("true", "false"):
            return value.lower() == "true"
        if not isinstance(value, bool | None):
            raise self.error(f"expected true or false, found {format_value(value)}", key)
        return default if value is None else value

    def choice(self, key: str, choices: tuple[str, ...]) -> str:
        """Return one of some texts; the first one by default; raise ManifestError if it is another text."""
        value = self.text(key, choices[0])
        if value not in choices:
            raise self.error(f"{format_value(value)} is not one of: {', '.join(choices)}", key)
        return value

    def pods(self, key: str) -> str | None:
        """Return a number of pods or a percentage, None if it is absent; raise ManifestError if it is neither."""
        value = self.value.get(key)
        if value is None:
            return None
        if isinstance(value, str) and (match := _PERCENTAGE.fullmatch(value)) and int(match[1]) <= 100:
            return value
        if isinstance(value, str):
            raise self.error(f"{format_value(value)} is neither a number of pods nor a percentage, such as 25%", key)
        return str(self.integer(key, maximum=1_000_000))

    def records(self, key: str) -> int:
        """Return a positive whole quantity, such as `100`, `1k` or `2e3`; raise ManifestError if it is none."""
        value = self.value.get(key)
        number = parse_quantity(value)
        if number is None or number <= 0 or number != int(number) or number > INT_MAX:
            what = "expected a positive whole number of records, such as 1000 or 1k"
            raise self.error(f"{what}, found {format_value(value)}", key)
        return int(number)


def parse_quantity(value: object) -> Decimal | None:
    """Return a quantity in Kubernetes' notation as a number; None if it is none.

    Source: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/.
    """
    match = _QUANTITY.fullmatch(str(value)) if isinstance(value, int | float | str) else None
    if match is None or isinstance(value, bool):
        return None
    try:
        number, suffix = Decimal(match[1]), match[2] or ""
    except InvalidOperation:
        return None
    if suffix in _BINARY:
        return number * Decimal(1024) ** _BINARY[suffix]
    if suffix in _DECIMAL:
        return number.scaleb(_DECIMAL[suffix])
    exponent = int(suffix[1:]) if suffix else 0
    return number.scaleb(exponent)


def read_objects(source: str, text: str) -> list[ManifestNode]:
    """Return the objects of a manifest; those of a `List` one by one.

    `source`: the file, for messages; `text`: YAML with any number of documents. Raises ManifestError if it is a Helm
    template, not YAML, or something else than objects of Kubernetes.
    """
    template = _TEMPLATE.search(text)
    if template is not None:
        line = text.count("\n", 0, template.end()) + 1
        raise ManifestError(source, line, f"is a Helm template; {_RENDER}")
    try:
        documents = read_yaml_documents(text)
    except YamlReadError as error:
        # Not every action of a template is recognizable as one: `{{ default 3 .Values.replicas }}` is also YAML.
        hint = f"; if it is a Helm template, {_RENDER}" if "{{" in text else ""
        raise ManifestError(source, error.line, f"{error}{hint}") from None
    objects: list[ManifestNode] = []
    for document in documents:
        if not isinstance(document.value, dict) or not isinstance(document.value.get("kind"), str):
            found = format_value(document.value)
            line = document.lines[()]
            raise ManifestError(
                source, line, f"expected an object of Kubernetes with apiVersion and kind, found {found}"
            )
        node = ManifestNode(source, document.value, (), document.lines)
        objects += list(node.nodes("items")) if node.text("kind").endswith("List") else [node]
    if not objects:
        raise ManifestError(source, None, "has no object of Kubernetes")
    return objects
