"""Audio: what a file says of itself, and its samples."""
