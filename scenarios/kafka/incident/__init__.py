"""Rebalances of a past night, rebuilt from the records of `__consumer_offsets` and from logs of group leaders."""
