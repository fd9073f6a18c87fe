"""Weights, vision and language halves, and the built-in model. Only the engine process imports its torch parts."""
