"""From raw measurements and dumps of Kafka's tools to the tables that a scenario can point at."""
