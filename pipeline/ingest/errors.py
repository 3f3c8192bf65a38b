"""Error that stops an ingest; single bad rows go to quarantine instead."""

from __future__ import annotations


class IngestError(Exception):
    """The sources, the mapping or the target folder cannot be used."""
