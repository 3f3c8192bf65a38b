"""The optimal task assignor's parts: costs, capacity bounds, and the search for the cheapest placement."""
