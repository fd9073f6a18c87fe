"""The line between front and engine: messages, frames, shared memory. Both processes import it; it imports neither."""
