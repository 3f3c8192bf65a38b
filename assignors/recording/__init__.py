"""Records of how assignors compute an assignment, and how long Kafka's leader takes for it."""
