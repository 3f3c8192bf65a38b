"""Observation from the saved output of Kafka's tools and from the leader's log."""
