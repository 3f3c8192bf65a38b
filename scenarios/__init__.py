"""YAML to world and back: schema, located errors, importers of what Kafka's own tools print, shipped scenarios."""
