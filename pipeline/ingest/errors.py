"""What stops an ingest as a whole; single bad rows never do, they go to quarantine."""

from __future__ import annotations


class IngestError(Exception):
    """The sources, the mapping or the target folder cannot be used; says why and what would be right."""
