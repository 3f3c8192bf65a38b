"""Read the text of a scenario: YAML to data with lines, overrides, and data to the models of `schema`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from scenarios.language.errors import Mistake, Mistakes, ScenarioError, format_value
from scenarios.language.overrides import NameOverride, apply_overrides
from scenarios.language.validation import SourceMap, parse_document
from scenarios.language.workload_entries import list_clients
from scenarios.language.yaml_reader import YamlReadError, read_yaml
from scenarios.schema import ScenarioFileDocument


@dataclass(frozen=True, slots=True)
class ParsedScenario:
    """The parsed text of a scenario; not yet checked is how its values fit together.

    Attributes:
        document: the document, with an `InvalidEntry` in place of each invalid list entry.
        data: its data, without invalid values.
        as_written: the data with `clients` in the form of the text.
        source_map: the line of each value, and which are invalid.
        mistakes: the mistakes so far; the source map adds to them.
    """

    document: ScenarioFileDocument
    data: dict[str, Any]
    as_written: dict[str, Any]
    source_map: SourceMap
    mistakes: Mistakes


def read_scenario(
    text: str, source: str, overrides: Sequence[tuple[str, str]], name_override: NameOverride
) -> ParsedScenario:
    """Parse the text of a scenario in spite of mistakes.

    `source`: the name of the text in messages; `overrides`: paths and new values. Returns the parsed scenario, with the
    mistakes in single values. Raises ScenarioError if the text is not YAML, or a required part is invalid; the message
    holds all mistakes so far.
    """
    try:
        tree = read_yaml(text)
    except YamlReadError as error:
        raise ScenarioError([Mistake(source, error.line, "", str(error))]) from None
    if not isinstance(tree.value, dict):
        expected = "expected a mapping with cluster, application and clients"
        raise ScenarioError([Mistake(source, tree.lines[()], "", f"{expected}, found {format_value(tree.value)}")])
    mistakes = Mistakes(source)
    sources, override_mistakes = apply_overrides(tree.value, overrides, name_override)
    for mistake in override_mistakes:
        mistakes.add(mistake)
    source_map = SourceMap(source, tree.lines, sources, mistakes)
    as_written = list_clients(tree.value, tree.lines, sources)
    present = {name for name in ("application", "clients", "consumers") if tree.value.get(name) is not None}
    document = parse_document(tree.value, source_map, ScenarioFileDocument)
    _report_missing_parts(present, source_map)
    if document is None:
        raise ScenarioError(mistakes)
    return ParsedScenario(document, tree.value, as_written, source_map, mistakes)


def _report_missing_parts(present: Collection[str], source_map: SourceMap) -> None:
    """Report that a scenario has neither an application with clients nor consumer groups.

    `present`: the keys of the scenario, also of sections with mistakes.
    """
    if "consumers" not in present:
        for name in ("application", "clients"):
            if name not in present:
                source_map.add_mistake((name,), "missing")
