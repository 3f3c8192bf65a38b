"""Assignors against each other over many scenarios and seeds."""
