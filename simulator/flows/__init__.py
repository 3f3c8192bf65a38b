"""What flows between rebalances, as fluids: processing, restoration and network traffic of the tasks."""
