"""Processes that read files of strangers and can be killed: images, videos, audio and PDFs.

`*_worker.py` are their programs, which alone load codecs; other modules hold them from outside. Below the server and
`cenote ingest`: knows neither, and no queue, setting or metric. Readers of what is damaged raise `UnreadableFileError`,
or the error of their codec.
"""
