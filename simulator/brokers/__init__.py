"""TODO simulator/brokers."""
