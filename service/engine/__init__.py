"""What runs in the engine process, and nowhere else: loop, scheduler, encoder cache, runner."""
