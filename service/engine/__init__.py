"""Front and engine: what they say to each other, and the two sides that say it."""
