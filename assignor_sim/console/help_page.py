"""What all commands share: help in which no name or value is cut at any width, and the options of the program."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from typer.core import TyperArgument, TyperCommand, TyperGroup

from assignor_sim.console.messages import VERBOSITY

if TYPE_CHECKING:
    from rich.console import RenderableType

_MAX_NAME_CHARS: Final = 30


class CommandWithHelp(TyperCommand):
    """A command that prints its help in two columns: names with their values, and what they mean.

    `-q` and `-v` may follow its name, too.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the arguments and options of the command, and those of the program that may follow its name."""
        *own, help_option = super().get_params(ctx)
        root = ctx.find_root().command
        return [*own, *(_as_own(option) for option in root.params if option.name in ("quiet", "verbose")), help_option]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        from reports.render.terminal.console import lines

        print(lines(_parts(self, ctx)), end="")


class GroupWithHelp(TyperGroup):
    """A group of commands that prints its help in the same form; commands are grouped by their panels."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        from reports.render.terminal.console import lines

        print(lines(_group_parts(self, ctx)), end="")


def _group_parts(group: Any, context: Any) -> Iterator[RenderableType]:
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    yield Text(f"Usage: {context.command_path} [options] COMMAND [arguments]")
    yield from _paragraphs(group.help)
    panels: dict[str, list[tuple[str, str]]] = {}
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if not command.hidden:
            title = getattr(command, "rich_help_panel", None)
            summary = str(command.help or "").split("\n\n")[0]
            panels.setdefault(title if isinstance(title, str) else "Commands", []).append((name, summary))
    # One width for all panels, so that the second columns are aligned.
    width = max(len(name) for rows in panels.values() for name, _ in rows)
    for title, rows in panels.items():
        yield Text()
        yield Text(title, "bold")
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(min_width=width, no_wrap=True)
        table.add_column(overflow="fold", ratio=1)
        for name, summary in rows:
            table.add_row(Text(name), Text.from_markup(" ".join(summary.split())))
        yield Padding(table, (0, 0, 0, 2))
    yield from _titled(
        "Options", [parameter for parameter in group.get_params(context) if not parameter.hidden], context
    )


def _paragraphs(text: str | None) -> Iterator[RenderableType]:
    from rich.text import Text

    for paragraph in (text or "").split("\n\n"):
        yield Text()
        yield Text.from_markup(" ".join(paragraph.split()))


def _titled(title: str, parameters: list[Any], context: Any) -> Iterator[RenderableType]:
    from rich.text import Text

    if parameters:
        yield Text()
        yield Text(title, "bold")
        yield _table(parameters, context)


def _as_own(option: Any) -> Any:
    """Return an option of the program as one of a command, which adds to what precedes the name of the command."""
    own = copy.copy(option)
    own.expose_value, own.callback = False, _add_verbosity
    return own


def _add_verbosity(_context: Any, option: Any, is_given: bool) -> None:
    if is_given:
        setattr(VERBOSITY, option.name, True)


def _parts(command: Any, context: Any) -> Iterator[RenderableType]:
    from rich.text import Text

    parameters = [parameter for parameter in command.get_params(context) if not getattr(parameter, "hidden", False)]
    arguments = [parameter for parameter in parameters if isinstance(parameter, TyperArgument)]
    options = [parameter for parameter in parameters if not isinstance(parameter, TyperArgument)]
    usage = [
        name if argument.required else f"[{name}]" for argument in arguments for name in [_value(argument, context)]
    ]
    yield Text(" ".join(["Usage:", context.command_path, *usage, "[options]"]))
    yield from _paragraphs(command.help)
    yield from _titled("Arguments", arguments, context)
    yield from _titled("Options", options, context)


def _table(parameters: list[Any], context: Any) -> RenderableType:
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(max_width=_MAX_NAME_CHARS, overflow="fold")
    table.add_column(overflow="fold", ratio=1)
    for parameter in parameters:
        about = Text.from_markup(parameter.help or "")
        remarks = []
        if parameter.required and not isinstance(parameter, TyperArgument):
            remarks.append("required")
        if (default := _default(parameter)) is not None:
            remarks.append(f"default: {default}")
        if remarks:
            about.append(f" [{', '.join(remarks)}]", "dim")
        table.add_row(Text(_name(parameter, context)), about)
    return Padding(table, (0, 0, 0, 2))


def _name(parameter: Any, context: Any) -> str:
    """Return an argument, or the names of an option with its value, the short one first."""
    if isinstance(parameter, TyperArgument):
        return _value(parameter, context)
    names = ", ".join(sorted(parameter.opts, key=len))
    if parameter.is_flag:
        return names
    value = _value(parameter, context)
    return f"{names} {value}" if len(names) + len(value) < _MAX_NAME_CHARS else f"{names}\n  {value}"


def _value(parameter: Any, context: Any) -> str:
    """Return the placeholder of a value, or its choices."""
    if parameter.metavar:
        return str(parameter.metavar)
    if isinstance(parameter, TyperArgument):
        return str(parameter.name).strip("_").upper()
    shown = (
        parameter.display_type_rich(ctx=context)
        if hasattr(parameter, "display_type_rich")
        else parameter.make_metavar(context)
    )
    kind = str(shown or "").strip("<>[]").removeprefix("list[")
    if "|" in kind:
        return kind
    return "N" if "int" in kind.lower() else str(parameter.name).strip("_").upper()


def _default(parameter: Any) -> str | None:
    """Return the default value as text; None for a flag, or without one."""
    default = parameter.default
    if default is None or isinstance(default, bool) or callable(default) or not parameter.show_default:
        return None
    return str(default.value if isinstance(default, Enum) else default) or None
