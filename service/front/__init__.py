"""The part of the front process between HTTP and the engine: prompts, pixels, the queue, the supervisor."""
