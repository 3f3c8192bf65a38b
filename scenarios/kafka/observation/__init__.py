"""The observed state of a cluster and a Kafka Streams application, and the scenario written from it."""
