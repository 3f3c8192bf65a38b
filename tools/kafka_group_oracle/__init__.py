"""Execution of the broker-side task assignor of a released Kafka: `python -m tools.kafka_group_oracle --help`."""
