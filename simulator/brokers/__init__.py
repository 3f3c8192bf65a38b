"""Brokers and replicas: live brokers, replicas, leaders, in-sync replicas, availability and reassignments."""
