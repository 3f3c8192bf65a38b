"""Analysis of the recorded rebalances of a past night."""
