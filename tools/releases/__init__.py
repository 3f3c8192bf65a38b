"""Differences between Kafka releases, and those that the project does not know: `python -m tools.releases --help`."""
