"""Task assignors of Kafka Streams, one strategy a file, and the parts that they share."""
