"""The shell of every page: sections one below the other in one sealed file.

Whatever comes from a scenario, a label or a manifest is text: the templates escape everything, what turns the direction
of writing is made visible, data cannot leave its element, and the policy forbids whatever might still slip through.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from reports.analysis.text import name_parts, printable
from reports.render.html.embedded import as_json, policy, script, style

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page.

    Attributes:
        id: where links lead; unique in a page.
        title: the heading.
        template: what makes the body, a file of `templates`.
        context: what the template is given.
        data: what scripts read, by the id of its element.
    """

    id: str
    title: str
    template: str
    context: Mapping[str, Any]
    data: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class _RenderedSection:
    """A section as it goes into the page."""

    id: str
    title: str
    body: Markup


def render_page(title: str, names: Sequence[str], nothing: str, subtitle: str, sections: Sequence[Section]) -> str:
    """Put a page together; the same sections give the same text.

    Args:
        title: of the window; any text.
        names: what the page is about, its heading.
        nothing: the heading where there are no names.
        subtitle: a sentence below; may be empty.
        sections: in order.
    """
    from markupsafe import Markup

    environment = _environment()
    made = [
        _RenderedSection(each.id, each.title, Markup(environment.get_template(each.template).render(**each.context)))
        for each in sections
    ]
    # The three go in as they are: ours to the letter, or JSON in which markup cannot occur.
    program, sheet = script(), style()
    data = {id: Markup(as_json(value)) for each in sections for id, value in (each.data or {}).items()}
    return environment.get_template("page.html.j2").render(
        policy=policy([program], [sheet]),
        title=title,
        names=names,
        nothing=nothing,
        subtitle=subtitle,
        sections=made,
        data=data,
        style=Markup(sheet),
        script=Markup(program),
    )


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("reports"),
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
    """A label as markup that may go on in the next line behind what separates words in names."""
    from markupsafe import Markup, escape

    return Markup("<wbr />").join(escape(part) for part in name_parts(text))
