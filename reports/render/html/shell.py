"""Shell of every page: renders sections into one self-contained HTML file.

Text from scenarios, labels and manifests is never interpreted as markup: templates escape it, characters that change
the writing direction are shown as escapes, data cannot leave its element, and the policy forbids injected code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from reports.analysis.text import name_parts, printable
from reports.render.html.embedded import embedded_data, policy, script, style

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


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
