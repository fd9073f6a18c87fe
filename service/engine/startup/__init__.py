"""What the engine decides and checks once, before it serves."""
