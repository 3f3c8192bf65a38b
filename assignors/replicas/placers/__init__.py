"""Kafka's own ways to place a new topic."""
