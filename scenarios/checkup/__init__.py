"""What happens to every application: standard situations, as scenarios."""
