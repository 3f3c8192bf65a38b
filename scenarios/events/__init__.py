"""The kinds of events: one file for each, with all that a scenario and its resolution know about it."""
