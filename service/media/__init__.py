"""Images, videos, audio and precomputed features: from what a client sends to the pixels or samples of the model.

What cannot be used is a `MediaError`, whose code says why: `media_source_refused`, `media_fetch_failed`,
`media_too_large`, `media_undecodable`, `invalid_image_embeds`, or `invalid_request` for a number that was asked for.

Imports no torch; asyncio only in `fetch/`.
"""
