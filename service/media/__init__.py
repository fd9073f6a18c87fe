"""Images, videos, audio and precomputed features: from what a client sends to the pixels or samples of the model.

Imports no torch; asyncio only in `fetch/`.
"""
