"""A real Kafka cluster on loopback with real Kafka Streams applications."""
