"""TODO scenarios/kafka."""
