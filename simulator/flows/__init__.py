"""The fluid models between rebalances: processing, restoration and network traffic of the tasks."""
