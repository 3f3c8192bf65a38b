"""One assignment: the group leader builds the input, calls the assignor, measures and explains the answer."""
