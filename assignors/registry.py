"""Look up task assignors by name, import path, class, instance or function.

`name@release` is an assignor of Kafka in one release, as in `streams_group_sticky@4.3`; the name alone is that of the
newest. If the answers of an assignor never changed, all its names give the same answers.

`find` knows the built-in assignors and imports nothing, so it is safe for names from files. `load` also imports code:
assignors that other distributions register in the entry-point group `assignor_sim.assignors`,
`package.module:attribute`, and classes in Java, `java:…` (see `assignors.jvm`). Use it only for names that the user
typed. `resolve` also accepts classes, instances and functions. An assignor of the user has the vocabulary of KIP-924 if
its `assign` takes one argument, the state, and that of KIP-1357 if it takes two: the group and the topology.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Any, TypeAlias

from assignors.built_in_assignors import BUILT_IN, NOT_PASSED_TO_BROKERS, PREVIEWS, AssignorInfo, OfGroupSpec
from assignors.containment.contained import Recipe, contain
from assignors.containment.guarded_call import guarded_call
from assignors.containment.limits import DEFAULT_LIMITS, CallLimits
from assignors.errors import AssignorError, UnknownAssignorError
from assignors.functions import AssignGroup, FunctionAssignor, StreamsGroupFunction
from assignors.jvm.reference import PREFIX as JAVA_PREFIX
from assignors.model.assignment import TaskAssignment, TaskAssignor
from assignors.model.group_spec import StreamsGroupAssignor
from assignors.model.state import ApplicationState
from assignors.model.traffic_rates import RATES

__all__ = [
    "ENTRY_POINT_GROUP",
    "AssignorInfo",
    "AssignorLike",
    "ResolvedAssignor",
    "built_in",
    "find",
    "installed",
    "load",
    "make",
    "make_contained",
    "resolve",
]

ENTRY_POINT_GROUP = "assignor_sim.assignors"


@dataclass(frozen=True, slots=True)
class ResolvedAssignor:
    """An assignor that `resolve` found, with its parameters.

    Attributes:
        parameters: parameters that differ from their defaults.
        label: name for tables and figures, such as `optimal (slack=1)`.
    """

    info: AssignorInfo
    parameters: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""

    def make(self) -> TaskAssignor:
        """Build the assignor.

        Returns a new instance, or the instance that was passed to `resolve`. Raises UnknownAssignorError if the class
        rejects the parameters.
        """
        return make(self.info, self.parameters)


AssignorLike: TypeAlias = (
    str
    | AssignorInfo
    | ResolvedAssignor
    | TaskAssignor
    | type[TaskAssignor]
    | Callable[[ApplicationState], TaskAssignment]
    | StreamsGroupAssignor
    | type[StreamsGroupAssignor]
    | AssignGroup
)
"""All types that `resolve` accepts as an assignor."""


def built_in() -> tuple[AssignorInfo, ...]:
    """Return the assignors of this project, in the order of listings."""
    return BUILT_IN


def installed() -> tuple[str, ...]:
    """Return the names in the entry-point group, sorted; import none of them."""
    return tuple(sorted(entry.name for entry in entry_points(group=ENTRY_POINT_GROUP)))


def find(name: str) -> AssignorInfo:
    """Return a built-in assignor by name or alias, or by `name@release`; import nothing.

    Raises UnknownAssignorError if no built-in assignor has the name, or it has no such release.

    Examples:
        >>> find("streams_group_sticky@4.3").kafka_version
        '4.3'
    """
    info = _find_built_in(name)
    if info is not None:
        return info
    names = [name for info in BUILT_IN for name in (info.name, *info.aliases, info.kafka_class) if name]
    plain, _, release = name.partition("@")
    close = difflib.get_close_matches(plain.rpartition(".")[2], names, n=1)
    close = [f"{match}@{release}" if release else match for match in close]
    known = f"did you mean '{close[0]}'?" if close else f"built in: {', '.join(info.name for info in BUILT_IN)}"
    hint = ""
    if ":" in name or name in installed():
        hint = f"; to run installed code, name it on the command line: --assignor {name}"
    raise UnknownAssignorError(f"unknown assignor '{name}' ({known}){hint}")


def load(name: str) -> AssignorInfo:
    """Return an assignor by built-in name, entry point, `package.module:attribute` or `java:…`; may import code.

    Returns the description; its name is the argument, so that another process can load the assignor again. Raises
    UnknownAssignorError if nothing has the name, the import fails, or the imported object is not an assignor.
    """
    info = _find_built_in(name)
    if info is not None:
        return info
    if name.startswith(JAVA_PREFIX):
        from assignors.jvm.loading import load_java

        return load_java(name)
    if ":" in name:
        module, _, attribute = name.partition(":")
        return _describe(_import(name, lambda: getattr(importlib.import_module(module), attribute)), name)
    entries = entry_points(group=ENTRY_POINT_GROUP, name=name)
    return _describe(_import(name, next(iter(entries)).load), name) if entries else find(name)


def _import(name: str, importing: Callable[[], Any]) -> Any:
    """Return what code of the user defines; raise UnknownAssignorError if the import fails, in any way."""

    def import_or_reject() -> Any:
        try:
            return importing()
        except (ImportError, AttributeError) as error:
            raise UnknownAssignorError(str(error)) from error

    try:
        return guarded_call(import_or_reject, DEFAULT_LIMITS.timeout_s)
    except AssignorError as error:
        raise UnknownAssignorError(f"cannot import assignor '{name}': {error}") from error


def make(info: AssignorInfo, parameters: Mapping[str, Any] | None = None) -> TaskAssignor:
    """Build an assignor with parameters.

    Raises UnknownAssignorError if the assignor has no such parameter, or rejects the value.
    """
    given = dict(parameters or {})
    if info.releases and "release" in given:
        name = info.name.partition("@")[0]
        raise UnknownAssignorError(
            f"cannot build assignor '{info.name}': the release is part of the name, as in {name}@{info.releases[0]}"
        )
    try:
        return info.make(**given)
    except (TypeError, ValueError) as error:
        raise UnknownAssignorError(f"cannot build assignor '{info.name}': {error}") from error


def make_contained(
    info: AssignorInfo, parameters: Mapping[str, Any] | None = None, limits: CallLimits = DEFAULT_LIMITS
) -> TaskAssignor:
    """Build an assignor for a run; a custom one is contained (see `assignors.containment`).

    A custom one that cannot be built fails at its first call. Raises UnknownAssignorError if a built-in assignor has no
    such parameter, or rejects the value.
    """
    if is_built_in(info):
        return make(info, parameters)
    return contain(Recipe(info.name, info.make, dict(parameters or {})), limits)


def resolve(assignor: AssignorLike, *, may_import: bool = True) -> ResolvedAssignor:
    """Return the description and the parameters of an assignor, however the caller names it.

    `assignor`: a registered name or alias; an import path `package.module:attribute`; a class in Java, `java:…`; a
    class or an instance with a method `assign(state)` or `assign(group_spec, topology_describer)`; a function with
    these arguments; or an earlier result. `may_import`: whether names may import code; False restricts names to
    built-in assignors. Returns the assignor. An instance of a built-in dataclass resolves to the registered name and
    its changed parameters. A class or function that can be imported gets its import path as name; the name of any other
    is its own name. Raises UnknownAssignorError if no assignor has the name, or the value is not an assignor.

    Examples:
        >>> resolve("ha").info.name
        'high_availability'
        >>> from assignors.tasks.optimal import Optimal
        >>> resolve(Optimal(slack=1)).label
        'optimal (slack=1)'
        >>> resolve(lambda state: TaskAssignment(())).make().assign(ApplicationState.of([], []))
        TaskAssignment(())
    """
    if isinstance(assignor, ResolvedAssignor):
        return assignor
    if isinstance(assignor, AssignorInfo):
        return ResolvedAssignor(assignor, label=assignor.name)
    if isinstance(assignor, str):
        info = load(assignor) if may_import else find(assignor)
        return ResolvedAssignor(info, label=info.name)
    if not isinstance(assignor, type) and callable(getattr(assignor, "assign", None)):
        return _resolve_instance(assignor)
    info = _describe(assignor, "")
    return ResolvedAssignor(info, label=info.name.rpartition(":")[2])


def _resolve_instance(assignor: Any) -> ResolvedAssignor:
    info = _describe(type(assignor), "")
    parameters = _changed_fields(assignor)
    if info.releases and "release" in parameters:
        info = info.at(parameters.pop("release"))
    settings = ", ".join(f"{name}={value}" for name, value in parameters.items() if name not in (RATES, "preview"))
    label = info.name.rpartition(":")[2] + (f" ({settings})" if settings else "")
    if is_built_in(info):
        return ResolvedAssignor(info, MappingProxyType(parameters), label)
    made = _built_from(_Instance(assignor), takes_group_spec(assignor))
    return ResolvedAssignor(replace(info, make=made), label=label)


@dataclass(frozen=True, slots=True)
class _Instance:
    assignor: Any

    def __call__(self) -> Any:
        return self.assignor


def _built_from(make: Callable[..., Any], for_group_spec: bool) -> Callable[..., TaskAssignor]:
    return OfGroupSpec(make) if for_group_spec else make


def takes_group_spec(candidate: Any) -> bool:
    """Return whether an assignor, or a function, takes a group and a topology (KIP-1357) instead of a state."""
    if isinstance(candidate, type):
        method = inspect.getattr_static(candidate, "assign")
        bound_later = not isinstance(method, staticmethod | classmethod)
        return _num_arguments(candidate.assign) - bound_later == 2  # type: ignore[attr-defined]
    return _num_arguments(getattr(candidate, "assign", candidate)) == 2


def _num_arguments(function: Callable[..., Any]) -> int:
    """Return the number of positional arguments without a default; 1 if Python does not know the signature."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(one.kind in positional and one.default is inspect.Parameter.empty for one in parameters)


def _changed_fields(assignor: Any) -> dict[str, Any]:
    if not is_dataclass(assignor):
        return {}
    values = {parameter.name: getattr(assignor, parameter.name) for parameter in fields(assignor) if parameter.init}
    return {
        parameter.name: values[parameter.name]
        for parameter in fields(assignor)
        if parameter.init and values[parameter.name] != _default(parameter)
    }


def _default(parameter: Field[Any]) -> object:
    return parameter.default_factory() if parameter.default_factory is not MISSING else parameter.default


def is_built_in(info: AssignorInfo) -> bool:
    """Return whether an assignor is one of this project, of any release."""
    return info in BUILT_IN or bool(info.release)


def _find_built_in(name: str) -> AssignorInfo | None:
    preview = next((info for info in PREVIEWS if info.name == name), None)
    if preview is not None:
        return preview
    plain, at, release = name.partition("@")
    info = next((info for info in BUILT_IN if plain == info.name or plain in info.aliases), None)
    if info is None:
        classes = [info for info in BUILT_IN if plain in info.class_names]
        if len(classes) > 1:
            known = ", ".join(f"{info.name} ({info.qualified_class})" for info in classes)
            raise UnknownAssignorError(
                f"ambiguous assignor '{name}': several classes of Kafka have that name; use one of {known}"
            )
        info = classes[0] if classes else None
    return info.at(release) if at and info is not None else info


def _describe(candidate: Any, name: str) -> AssignorInfo:
    """Return the description of a class, an instance or a function; an empty name means the candidate's own.

    Raises UnknownAssignorError if the candidate is not an assignor.
    """
    for info in (*BUILT_IN, *PREVIEWS):
        if candidate is info.make and not name:
            return info
    is_class = isinstance(candidate, type)
    if not callable(getattr(candidate, "assign", None)) and (is_class or not callable(candidate)):
        shown = f"'{name}'" if name else repr(candidate)
        raise UnknownAssignorError(
            f"{shown} is not an assignor (expected: a registered name, package.module:attribute, a class or an instance"
            " with a method assign(state) or assign(group_spec, topology_describer), or such a function)"
        )
    doc = (candidate.__doc__ or "").strip().splitlines()
    summary = doc[0] if doc else ""
    for_group_spec = takes_group_spec(candidate)
    maker: Callable[..., Any]
    if is_class:
        maker = candidate
    elif callable(getattr(candidate, "assign", None)):
        maker = _Instance(candidate)
    else:
        maker = _Instance((StreamsGroupFunction if for_group_spec else FunctionAssignor)(candidate))
    return AssignorInfo(
        name or _own_name(candidate),
        _built_from(maker, for_group_spec),
        summary=summary,
        in_streams_groups=for_group_spec,
        ignored_configs=NOT_PASSED_TO_BROKERS if for_group_spec else (),
    )


def _own_name(candidate: Any) -> str:
    """Return the import path of a class or function if it can be imported again, else its name."""
    name = getattr(candidate, "__qualname__", type(candidate).__qualname__)
    module = getattr(candidate, "__module__", "__main__")
    is_importable = getattr(sys.modules.get(module), name, None) is candidate and module != "__main__"
    return f"{module}:{name}" if is_importable else str(getattr(candidate, "__name__", name))
