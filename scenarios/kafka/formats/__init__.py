"""Readers of what Kafka's own tools print: text in, small frozen dataclasses out, errors that name the line."""
