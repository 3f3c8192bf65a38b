"""What verifying stored results came to, as text for people, and in formats for CI."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any, Final

from reports.analysis.stored.changes import InputChanges, ResultChange
from reports.analysis.text import printable
from reports.render.markdown import markdown_table, markdown_text

SAME, CHANGED, UNREADABLE, NOT_STORED = "same", "changed", "error", "not stored"

_MOST_LINES: Final = 12
"""Of a run's rounds; whoever needs them all takes JSON."""


@dataclass(frozen=True, slots=True)
class Verification:
    """What verifying one scenario came to.

    Attributes:
        file: of the scenario.
        status: same, changed, error (it could not be run or read) or `not stored`.
        changes: what is not as stored.
        causes: what else has changed since; None unless there are stored results.
        error: why it could not be verified, else empty.
        runs: the runs that were compared, by assignor and seed.
        seconds: how long that took.
    """

    file: str
    status: str
    changes: Sequence[ResultChange] = ()
    causes: InputChanges | None = None
    error: str = ""
    runs: Sequence[tuple[str, int]] = ()
    seconds: float = 0.0

    @property
    def headline(self) -> str:
        """What it came to, in a line."""
        match self.status:
            case "same":
                moved = self.causes is not None and self.causes.kind != "other"
                return "as stored" + (f", though {self.causes}" if moved else "")
            case "changed":
                count = len(self.changes)
                return f"{count} difference{'s' if count > 1 else ''}; {self.causes}"
            case "not stored":
                return f"nothing is stored; assignor-sim record {printable(self.file)}"
        return self.error


def lines_of_runs(changes: Iterable[ResultChange]) -> Iterator[tuple[str, list[str]]]:
    """For each run its title and what has changed in it: every figure, and the rounds until it is clear."""
    for (assignor, seed), of_run in groupby(changes, key=lambda each: (each.assignor, each.seed)):
        every = list(of_run)
        lines = [str(each) for each in every if each.kind in ("run", "metric")]
        of_rounds = [each for each in every if each.kind in ("round", "task")]
        lines += [str(each) for each in of_rounds[:_MOST_LINES]]
        if left := of_rounds[_MOST_LINES:]:
            last = max(each.round or 0 for each in left)
            lines.append(f"… and {len(left)} more up to round {last}; --format json lists them all")
        yield f"{printable(assignor)}, seed {seed}", lines


def render(every: Sequence[Verification], format: str) -> str:
    """Write verifications as text that ends in a line end.

    Args:
        every: what to write.
        format: one of `FORMATS`. `github` has a line for each scenario that GitHub Actions shows beside its file.

    Raises:
        ValueError: an unknown format.
    """
    if format not in _WRITERS:
        raise ValueError(f"{format!r} is not a format (formats: {', '.join(FORMATS)})")
    return _WRITERS[format](every)


def as_text(each: Verification) -> str:
    """One verification as people read it: a headline, and what has changed, run by run."""
    # What is wrong with a scenario says itself where it stands.
    if each.status == UNREADABLE:
        return "".join(f"{printable(line)}\n" for line in each.error.split("\n"))
    text = f"{printable(each.file)}: {each.headline}\n"
    for title, lines in lines_of_runs(each.changes):
        text += f"  {title}\n" + "".join(f"    {line}\n" for line in lines)
    return text


def _text(every: Sequence[Verification]) -> str:
    return "".join(map(as_text, every))


def _json(every: Sequence[Verification]) -> str:
    return json.dumps([_record(each) for each in every], indent=2, ensure_ascii=False) + "\n"


def _record(each: Verification) -> dict[str, Any]:
    return {
        "scenario": each.file,
        "status": each.status,
        "error": each.error or None,
        "cause": each.causes.kind if each.causes and each.changes else None,
        "since": asdict(each.causes) if each.causes else None,
        "runs": [{"assignor": assignor, "seed": seed} for assignor, seed in each.runs],
        "changes": [asdict(change) for change in each.changes],
    }


def _markdown(every: Sequence[Verification]) -> str:
    text = markdown_table(("scenario", "result", ""), [(each.file, each.status, each.headline) for each in every])
    for each in every:
        for title, changed in lines_of_runs(each.changes):
            text += f"\n**{markdown_text(f'{each.file}: {title}')}**\n\n"
            text += "".join(f"- {markdown_text(line)}\n" for line in changed)
    return text


def _github(every: Sequence[Verification]) -> str:
    return "".join(_command(each) for each in every if each.status != SAME) or "::notice::all scenarios as stored\n"


def _command(each: Verification) -> str:
    level = "warning" if each.status == NOT_STORED else "error"
    said = each.headline + "".join(
        f"\n{title}\n" + "\n".join(f"  {line}" for line in lines) for title, lines in lines_of_runs(each.changes)
    )
    return f"::{level} file={_property(each.file)},title={_property(f'{each.file}: {each.status}')}::{_data(said)}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


_WRITERS: Final[dict[str, Callable[[Sequence[Verification]], str]]] = {
    "text": _text,
    "json": _json,
    "markdown": _markdown,
    "github": _github,
}

FORMATS: Final = tuple(_WRITERS)
"""What `render` can make."""
