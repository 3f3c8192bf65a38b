"""TODO scenarios/clusters."""
