"""Sections of the report page about runs."""
