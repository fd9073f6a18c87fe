"""The wire and nothing else: what clients send and what they get back, as msgspec types."""
