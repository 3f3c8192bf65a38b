"""Execution of the assignors of released Kafka versions: `python -m tools.kafka_oracle --help`."""
