"""An SVG of matplotlib made fit to stand inside a page, perhaps next to others and on a dark ground."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from reports.render.drawing.style import EVENT, FAINT, INK, PAPER

_ON_PAGE = {INK: "currentColor", FAINT: "var(--faint)", PAPER: "var(--paper)", EVENT: "var(--quiet)"}
"""Colours that the page decides on."""

_REFERENCE = re.compile(r"url\(#([^)]*)\)")


def inline_svg(svg: bytes, prefix: str, title: str) -> str:
    """Turn a file into an element: no declaration, no metadata, as wide as there is room for.

    Args:
        svg: as `reports.render.figures.run_figures.rendered` makes it.
        prefix: goes before all ids, which must be unique in a page.
        title: what those hear who do not see it.
    """
    root = ElementTree.fromstring(svg)
    for element in root.iter():
        _make_local(element, prefix)
    for parent in list(root.iter()):
        for child in [child for child in parent if child.tag in ("metadata", "style")]:
            parent.remove(child)
    for size in ("width", "height", "version"):
        root.attrib.pop(size, None)
    root.set("role", "img")
    root.set("aria-label", title)
    return ElementTree.tostring(root, encoding="unicode")


def _make_local(element: ElementTree.Element, prefix: str) -> None:
    """Names without namespaces, as in HTML; ids with the prefix, and what refers to them."""
    element.tag = _name(element.tag)
    attributes = {_name(name): value for name, value in element.attrib.items()}
    element.attrib.clear()
    for name, value in attributes.items():
        if name == "id":
            value = prefix + value
        elif name == "href":
            value = f"#{prefix}{value.removeprefix('#')}"
        elif name == "style":
            # The policy of the page allows no style of an element's own; as attributes these mean the same.
            for declaration in filter(None, value.split(";")):
                key, _, said = declaration.partition(":")
                element.set(key.strip(), _on_page(said.strip(), prefix))
            continue
        elif name in ("clip-path", "fill", "stroke"):
            value = _on_page(value, prefix)
        element.set(name, value)


def _on_page(value: str, prefix: str) -> str:
    value = _REFERENCE.sub(rf"url(#{prefix}\1)", value)
    for color, on_page in _ON_PAGE.items():
        value = value.replace(color, on_page)
    return value


def _name(qualified: str) -> str:
    return qualified.rpartition("}")[2]
