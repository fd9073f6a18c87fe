"""`cenote ingest`: a folder or a file of items in, their vectors in a file or a store; a client program of the service.

Speaks HTTP with the server like any client, and imports nothing of it. `service.cli` alone imports this package.
"""
