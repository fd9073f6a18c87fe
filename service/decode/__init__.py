"""Decoders of images, videos and audio: a memory budget, a deadline, and processes that can be killed.

`*_worker.py` are the processes' programs; the front imports the other modules. Neither imports torch.
"""
