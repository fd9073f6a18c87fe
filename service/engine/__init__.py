"""The engine process: loop, scheduler, encoder cache, runner."""
