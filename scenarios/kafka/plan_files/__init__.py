"""Writers of what Kafka's own tools take."""
