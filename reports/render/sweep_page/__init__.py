"""What a page says of a sweep: what is best, the Pareto front, two factors at a time, differences, what matters."""
