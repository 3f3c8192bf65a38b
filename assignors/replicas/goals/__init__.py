"""Cruise Control's goals, and the cluster as they move it."""
