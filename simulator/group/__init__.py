"""The group protocols as pure state machines, without a clock: classic and streams groups, and reconciliation."""
