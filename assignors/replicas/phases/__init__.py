"""Flows over one thing at a time: leaders, replicas, first followers."""
