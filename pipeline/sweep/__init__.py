"""A sweep: a scenario in many settings, with every assignor and every seed, made by Spark."""
