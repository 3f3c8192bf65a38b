"""Sections of the report page about plans."""
