"""Who holds the replicas of a partition, and who leads it: the tools that operators use, on one contract."""
