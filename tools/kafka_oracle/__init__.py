"""The assignors of released Kafka versions, asked directly: `python -m tools.kafka_oracle --help`."""
