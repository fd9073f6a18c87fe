"""`cenote ingest`: embeds a folder or a file of items into a file or a vector store.

A client program: it speaks HTTP with the server and imports nothing of it. Only `service.cli` imports this package.
"""
