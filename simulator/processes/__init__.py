"""The processes of a run: the only place that knows SimPy. They hold no rules of their own."""
