"""The page docs/reference/api.md: what mkdocstrings renders for each public name."""

from __future__ import annotations

import inspect
from collections import defaultdict

import assignor_sim as sim

HEAD = """# API reference

Every public name of `import assignor_sim as sim`, from its docstring: signature, parameters, result and errors.
[The Python API](python-api.md) has an overview with examples; [Python and
notebooks](../how-to/use-python-and-notebooks.md) a complete session.

<!-- Made by `python -m tools.reference_pages` from `assignor_sim.__all__`. -->
"""
GROUPS = {
    "Functions": "Simulate, compare, explain, plan and import.",
    "Results": "What the functions return.",
    "Task assignors": "Kafka's assignors and others, with their parameters; functions take instances or names.",
    "Interface of an assignor": "The state that an assignor gets, and the assignment that it returns (KIP-924).",
    "Errors": "What the functions raise for an invalid input.",
}


def api_page() -> str:
    """Return the page."""
    names: dict[str, list[str]] = defaultdict(list)
    for name in sorted(sim.__all__, key=str.lower):
        names[_group(getattr(sim, name))].append(name)
    sections = []
    for group, about in GROUPS.items():
        listed = [f"::: {getattr(sim, name).__module__}.{getattr(sim, name).__qualname__}\n" for name in names[group]]
        sections.append(f"\n## {group}\n\n{about}\n\n" + "\n".join(listed))
    return HEAD + "".join(sections)


def _group(item: object) -> str:
    module = getattr(item, "__module__", "")
    if inspect.isclass(item) and issubclass(item, Exception):
        return "Errors"
    if inspect.isfunction(item) and not module.startswith("assignors."):
        return "Functions"
    if module.startswith("assignors.tasks."):
        return "Task assignors"
    return "Interface of an assignor" if module.startswith("assignors.") else "Results"
