"""Who goes next, wherever requests share something before the engine: threads, processes, bytes, shared memory.

Knows what no work is. The engine has an order of its own, since it packs many requests into one step.
"""
