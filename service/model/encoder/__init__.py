"""Our own forward of encoders whose architecture is exactly known."""
