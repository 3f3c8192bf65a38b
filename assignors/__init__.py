"""Who gets what: pure functions from the state of an application or cluster to an assignment."""
