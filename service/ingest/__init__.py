"""`cenote ingest`: embeds a folder or a file of items into a file or a vector store.

A client program: it speaks HTTP with the server and imports nothing of it. Only `service.cli` imports this package.

A file of the source that is gone, damaged, or not taken by the model is a `FileError`, by which its items have no
vector. What ends the run is an `IngestError`: a server, sink, ledger or extra that is not there, fails, or does not go
with what was written before; where nothing was started, a `CommandLineError`.
"""
