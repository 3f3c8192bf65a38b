"""Sections of the report page about sweeps."""
