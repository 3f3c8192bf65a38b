"""Synthetic cluster measurements of any size, for tests and benchmarks of ingest."""
