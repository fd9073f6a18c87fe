"""Training of the built-in model."""
