"""A real Kafka cluster on loopback, and real Kafka Streams applications on it."""
