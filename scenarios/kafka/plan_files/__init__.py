"""A replica plan as files and scripts for Kafka's own tools."""
