"""Predictions put to the test: what a real Kafka does, beside what was said before: `python -m tools.fidelity`."""
