"""Decoders of images, videos, audio and PDFs, for the front: a memory budget, a deadline and fair turns.

The processes that do the work are those of `service/workers`. What they cannot read is `media_undecodable`.
"""
