"""Several front processes: the main process, which serves nothing, and each front's way to the engine of all."""
