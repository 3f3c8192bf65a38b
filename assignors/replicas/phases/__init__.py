"""Flows that balance one quantity at a time: leaders, replicas, or first followers."""
