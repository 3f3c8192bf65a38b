"""Stored results of scenarios, and their differences from current results."""
