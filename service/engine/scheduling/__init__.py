"""The queue, and the choice of what runs next. Plain Python: no torch, no asyncio, no clock of its own."""
