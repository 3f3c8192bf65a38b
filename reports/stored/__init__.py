"""Stored results, and what has changed since they were stored."""
