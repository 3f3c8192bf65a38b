"""The standard suite: scenarios and assignment problems on which assignors are reviewed."""
