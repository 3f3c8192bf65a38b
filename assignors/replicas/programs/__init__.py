"""Integer programmes over who holds what: their limits, ways to solve them, and what comes of it."""
