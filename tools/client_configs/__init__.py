"""The configs that released clients know, read from their classes."""
