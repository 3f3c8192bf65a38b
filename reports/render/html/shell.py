"""Shell of every page: renders sections into one self-contained HTML file.

Text from scenarios, labels and manifests is never interpreted as markup: templates escape it, characters that change
the writing direction are shown as escapes, data cannot leave its element. The Content-Security-Policy, a meta tag,
lists allowed scripts and styles by SHA-256; injected code does not run.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from reports.analysis.text import name_parts, printable

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


STYLES = ("page.css", "player.css", "sweep.css", "plan.css")
SCRIPTS = (
    "dom.js",
    "theme.js",
    "tables.js",
    "matrix.js",
    "trade_off.js",
    "run_state.js",
    "task_history.js",
    "timeline.js",
    "panel.js",
    "player.js",
    "sweep.js",
    "sweep_cell.js",
    "sweep_front.js",
    "sweep_heat.js",
    "sweep_forest.js",
    "folded.js",
)
"""The scripts, in order of dependency."""

COMPRESSED_FROM = 20_000
"""Size in bytes from which data are compressed."""

_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def as_json(data: Any) -> str:
    """Return data as JSON that is safe inside a `script` element: ASCII without markup characters."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    for char, escape in _UNSAFE.items():
        text = text.replace(char, escape)
    return text


@dataclass(frozen=True, slots=True)
class EmbeddedData:
    """Data for scripts as the content of a `script` element.

    Attributes:
        type: media type of the element: JSON, or compressed JSON as base64.
        text: its content, without markup characters.
    """

    type: str
    text: str


def embedded_data(data: Any) -> EmbeddedData:
    """Return data for scripts, compressed if they are large; the same data give the same text."""
    text = as_json(data)
    if len(text) < COMPRESSED_FROM:
        return EmbeddedData("application/json", text)
    return EmbeddedData("application/gzip", base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode())


@cache
def style() -> str:
    """Return the style sheet of all pages."""
    return "\n".join(_asset(name) for name in STYLES)


@cache
def script() -> str:
    """Return the script of all pages, wrapped as CDATA so that XML parsers accept it."""
    program = "\n".join(_asset(name) for name in SCRIPTS)
    return f"//<![CDATA[\n(() => {{\n'use strict';\n{program}}})();\n//]]>\n"


def policy(scripts: Sequence[str], styles: Sequence[str]) -> str:
    """Return the Content-Security-Policy that allows only the given scripts and styles and no network access.

    `scripts`: exact content of each script element; `styles`: exact content of each style element.
    """
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {' '.join(map(_hash, scripts))}",
            f"style-src {' '.join(map(_hash, styles))}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _asset(name: str) -> str:
    return (files("reports.render.html") / "assets" / name).read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a page.

    Attributes:
        id: id for links, unique in a page.
        title: the heading.
        template: file name in `templates`.
        context: variables of the template.
        data: data for scripts, by the id of its element.
        sentence: what to see in the section, from its figures; may be empty.
        leads: whether it is shown before the links to the sections.
    """

    id: str
    title: str
    template: str
    context: Mapping[str, Any]
    data: Mapping[str, Any] | None = None
    sentence: str = ""
    leads: bool = False


@dataclass(frozen=True, slots=True)
class _RenderedSection:
    """A section with its rendered body."""

    id: str
    title: str
    body: Markup
    sentence: str
    leads: bool


def render_page(title: str, names: Sequence[str], no_names: str, subtitle: str, sections: Sequence[Section]) -> str:
    """Render a page; the same sections give the same text.

    `no_names`: the heading if there are no names. `subtitle`: a sentence below the heading; may be empty. `sections`:
    in the order of the page. Returns the HTML file.
    """
    from markupsafe import Markup

    environment = _environment()
    rendered_sections = [
        _RenderedSection(
            section.id,
            section.title,
            Markup(environment.get_template(section.template).render(**section.context)),
            section.sentence,
            section.leads,
        )
        for section in sections
    ]
    # Script, style and data are inserted unescaped: our own code, and JSON or base64 without markup characters.
    program, sheet = script(), style()
    data = {id: embedded_data(value) for section in sections for id, value in (section.data or {}).items()}
    return environment.get_template("page.html.j2").render(
        policy=policy([program], [sheet]),
        title=title,
        names=names,
        no_names=no_names,
        subtitle=subtitle,
        sections=rendered_sections,
        data={id: (content.type, Markup(content.text)) for id, content in data.items()},
        style=Markup(sheet),
        script=Markup(program),
    )


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("reports.render.html"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )
    environment.filters["printable"] = lambda value: printable(str(value))
    environment.filters["breakable"] = _breakable
    return environment


def _breakable(text: str) -> Markup:
    """Return a label as markup that may break at word separators."""
    from markupsafe import Markup, escape

    return Markup("<wbr />").join(escape(part) for part in name_parts(text))
