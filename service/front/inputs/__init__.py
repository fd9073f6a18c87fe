"""From a decoded request to prompts: its texts, images, videos, audio and PDFs, fetched and opened.

An input at fault is a `ServiceError` with its place; of a file, a `MediaError`.
"""
