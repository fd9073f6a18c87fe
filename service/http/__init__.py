"""One file per route family, and what they share at the edge."""
