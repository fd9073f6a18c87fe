"""Fair shares of what requests have in common: threads, decoders, shared memory, fetches, steps of the engine."""
