"""The broker-side task assignor of released Kafka, asked directly: `python -m tools.kafka_group_oracle --help`."""
