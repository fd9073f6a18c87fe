"""`POST /v1/embeddings/stream`: lines in, lines out as they are done, within one bound however many there are."""
