"""What is seen of a running cluster and application, by Kafka's API or in what its tools printed, as a scenario."""
