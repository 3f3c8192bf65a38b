"""The sampling of a scenario: everything that a seed decides about events, placements and process ids."""
