"""Cruise Control's goals, and the cluster model that they change."""
