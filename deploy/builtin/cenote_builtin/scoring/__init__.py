"""Scores of the built-in model on scenes outside its training."""
