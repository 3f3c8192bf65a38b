"""Kafka's own formats: tool output, group protocol bytes, plan files, and observations of a cluster as scenarios."""
