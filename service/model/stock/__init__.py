"""Models that run on transformers' own classes, over packed sequences."""
