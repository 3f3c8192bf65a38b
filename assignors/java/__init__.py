"""Java collections and random numbers whose behavior Kafka's assignments depend on."""
