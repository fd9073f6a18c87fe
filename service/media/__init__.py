"""Pictures: from what a client sends to pixels of the size that the model sees.

Imports no torch; asyncio only in `fetch/`.
"""
