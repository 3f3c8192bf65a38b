"""The cost of assignments by KIP-925, lower bounds, and the trade-off between traffic and moves."""
