"""Fair queueing of what requests share before the engine: threads, decoder processes, bytes, shared memory.

The engine has an order of its own, since it packs many requests into one step.
"""
