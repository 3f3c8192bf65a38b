"""Task assignors of Kafka Streams, one strategy in each file, and their shared parts."""
