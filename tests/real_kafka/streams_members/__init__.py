"""Members of streams groups that speak the protocol of Kafka 4.4 with a real broker, without Kafka Streams."""
