"""Observation of a running cluster through Kafka's Admin API; read-only, without joining a group."""
