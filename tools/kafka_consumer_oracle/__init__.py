"""Compare Kafka's consumer partition assignors with released jars, on the lives of random groups."""
