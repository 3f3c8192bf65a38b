"""One assignment: the group leader calls the assignor, and validates, measures and explains the assignment."""
