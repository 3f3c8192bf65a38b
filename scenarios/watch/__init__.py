"""Watching a running group: what it should do next, and whether it does; pure functions and state machines."""
