"""What stands between HTTP and the engine, in the front process: prompts, pixels, the queue, the supervisor."""
