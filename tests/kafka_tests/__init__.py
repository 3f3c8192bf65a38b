"""Kafka's own unit tests of assignment, with the answers of this project instead of Kafka's."""
