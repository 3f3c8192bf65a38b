"""Why tasks moved: rows of the tables `reasons` and `cycles`, and their words."""
