"""Comparison of the simulator's predictions with the behavior of a real Kafka: `python -m tests.fidelity`."""
