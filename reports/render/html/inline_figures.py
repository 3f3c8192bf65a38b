"""Figures as inline SVG for light and dark mode, once for wide and once for narrow screens."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from reports.analysis.comparison import Tables
from reports.render.drawing.style import EVENT, FAINT, INK, PAPER

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.figure import Figure


_ON_PAGE = {INK: "currentColor", FAINT: "var(--faint)", PAPER: "var(--paper)", EVENT: "var(--quiet)"}
"""Colors that the style sheet of the page defines."""

_REFERENCE = re.compile(r"url\(#([^)]*)\)")
_REFERRED = re.compile(r"^(?:url\()?#([^)]*)\)?$")
_DECIMALS = re.compile(r"-?\d+\.\d{3,}")
_NO_ROTATION = re.compile(r"rotate\(-?0(?:\.0*)?( [-\d.]+)*\)")
_COORDINATES = frozenset(("d", "x", "y", "width", "height", "points"))


def inline_svg(svg: bytes, prefix: str, title: str) -> str:
    """Convert an SVG file into an element without declaration and metadata that fills the available width.

    `svg`: as from `reports.render.figures.run_figures.figure_bytes`; `prefix`: prefix of all ids, unique in the page;
    `title`: description for screen readers. Returns the element as text.
    """
    root = ElementTree.fromstring(svg)
    for element in root.iter():
        _make_local(element, prefix)
    for parent in list(root.iter()):
        for child in [child for child in parent if child.tag in ("metadata", "style")]:
            parent.remove(child)
    _compact(root)
    for size in ("width", "height", "version"):
        root.attrib.pop(size, None)
    root.set("role", "img")
    root.set("aria-label", title)
    return ElementTree.tostring(root, encoding="unicode")


def _make_local(element: ElementTree.Element, prefix: str) -> None:
    """Remove namespaces, add the prefix to ids and references, and convert styles to attributes."""
    element.tag = _name(element.tag)
    attributes = {_name(name): value for name, value in element.attrib.items()}
    element.attrib.clear()
    for name, value in attributes.items():
        if name == "id":
            value = prefix + value
        elif name == "href":
            value = f"#{prefix}{value.removeprefix('#')}"
        elif name == "style":
            # The policy of the page forbids inline styles; attributes have the same meaning.
            for declaration in filter(None, value.split(";")):
                key, _, declared = declaration.partition(":")
                element.set(key.strip(), _page_color(declared.strip(), prefix))
            continue
        elif name in ("clip-path", "fill", "stroke"):
            value = _page_color(value, prefix)
        element.set(name, value)


def _compact(root: ElementTree.Element) -> None:
    """Remove what is not drawn: decimals beyond 1/100 px, ids without references, empty groups, and indentation."""
    values = [value for element in root.iter() for value in element.attrib.values()]
    referred = {match[1] for value in values if (match := _REFERRED.match(value))}
    for element in root.iter():
        if element.get("id", "") not in referred:
            element.attrib.pop("id", None)
        if _NO_ROTATION.fullmatch(element.get("transform", "")):
            del element.attrib["transform"]
        for name in _COORDINATES & element.attrib.keys():
            element.set(name, " ".join(_DECIMALS.sub(_rounded, element.attrib[name]).split()))
        for part in ("text", "tail"):
            if not (getattr(element, part) or "").strip():
                setattr(element, part, None)
    _merge_groups(root)


def _merge_groups(element: ElementTree.Element) -> None:
    """Replace groups without attributes by their content."""
    children: list[ElementTree.Element] = []
    for child in element:
        _merge_groups(child)
        children += child if child.tag == "g" and not child.attrib else [child]
    element[:] = children


def _rounded(match: re.Match[str]) -> str:
    return f"{float(match[0]):.2f}".rstrip("0").rstrip(".")


def _page_color(value: str, prefix: str) -> str:
    value = _REFERENCE.sub(rf"url(#{prefix}\1)", value)
    for color, on_page in _ON_PAGE.items():
        value = value.replace(color, on_page)
    return value


def _name(qualified: str) -> str:
    return qualified.rpartition("}")[2]


@dataclass(frozen=True, slots=True)
class InlineFigure:
    """A figure of a page.

    Attributes:
        wide: SVG for wide screens.
        narrow: SVG for narrow screens.
    """

    wide: Markup
    narrow: Markup


def inline_figures(tables: Tables) -> dict[str, InlineFigure]:
    """Return the bar charts of runs by the names of their functions."""
    from reports.render.figures.run_figures import BAR_CHARTS

    return {draw.__name__: _figure(draw, tables) for draw in BAR_CHARTS}


def _figure(draw: Callable[..., Figure], tables: Tables) -> InlineFigure:
    description = f"{draw.__name__.replace('_', ' ').capitalize()} of each assignor; tables hold the numbers"
    return inline_figure(draw, tables, draw.__name__, description)


def inline_figure(draw: Callable[..., Figure], content: object, prefix: str, description: str) -> InlineFigure:
    """Return a figure as inline SVG for wide and narrow screens.

    `draw`: draws the figure; accepts `narrow`. `content`: argument of `draw`. `prefix`: prefix of the ids in the SVG,
    unique in the page.
    """
    from markupsafe import Markup

    from reports.render.figures.run_figures import figure_bytes

    # Generated here with escaped names, so the templates may include it as markup.
    wide, narrow = (
        Markup(
            inline_svg(
                figure_bytes(draw(content, narrow=is_narrow), "svg", text_as_text=True),
                f"{prefix}-{'narrow' if is_narrow else 'wide'}-",
                description,
            )
        )
        for is_narrow in (False, True)
    )
    return InlineFigure(wide, narrow)
