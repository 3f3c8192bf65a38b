"""The errors of the pipeline."""

from __future__ import annotations

from typing import Final

MAX_CHARS: Final = 2_000
"""Maximum length of what an error quotes from Spark."""


class IngestError(Exception):
    """The sources, the mapping or the target folder cannot be used; single bad rows go to quarantine instead."""


class SparkError(Exception):
    """Spark does not start, or a job fails."""


def without_stack_frames(text: str) -> str:
    """Return an error message without Java stack frames, shortened."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith(("at ", "..."))]
    message = "\n".join(lines)
    return message if len(message) <= MAX_CHARS else f"{message[:MAX_CHARS]} …"
